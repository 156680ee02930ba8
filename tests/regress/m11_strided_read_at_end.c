// M11: a read over the end of the file through a strided view, or into a strided buffer, reports what it read.
#include "access_kinds.h"

enum { kWords = 100, kAsked = 80 };

static void short_read(int kind) {
  const char *name = ck_fresh("f");
  MPI_Datatype every_second, spread;
  MPI_Status status;
  int words[kWords], got[2 * kAsked], elements = -1;
  for (int i = 0; i < kWords; i++) words[i] = 1000 + i;
  if (ck_rank == 0) {
    FILE *f = fopen(name, "wb");
    CHECK(f && fwrite(words, 4, kWords, f) == kWords && fclose(f) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_create_resized(MPI_INT, 0, 8, &every_second);
  MPI_Type_commit(&every_second);
  MPI_Type_create_resized(MPI_INT, 0, 8, &spread);
  MPI_Type_commit(&spread);
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  CHECK_OK(MPI_File_set_view(fh, 4, MPI_INT, every_second, "native", MPI_INFO_NULL));
  for (int strided_buffer = 0; strided_buffer < 2; strided_buffer++) {
    int step = 1 + strided_buffer;
    MPI_Datatype type = strided_buffer ? spread : MPI_INT;
    memset(got, 0xff, sizeof got);
    CHECK_OK(ck_read(kind, fh, 20, got, kAsked, type, &status));
    CHECK_COUNT(status, type, kWords / 2 - 20);
    CHECK_OK(MPI_Get_elements(&status, type, &elements));
    CHECK_INT(elements, kWords / 2 - 20);
    for (int i = 0; i < 2 * kAsked; i++)
      if (!CHECK_INT(got[i], i % step == 0 && i / step < 30 ? 1000 + 2 * (20 + i / step) + 1 : -1)) break;
    CHECK_OK(ck_read(kind, fh, 50, got, kAsked, type, &status));
    CHECK_COUNT(status, type, 0);
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&every_second);
  MPI_Type_free(&spread);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR_KINDS(short_read, 0, kPlainKinds);
  return ck_finish();
}
