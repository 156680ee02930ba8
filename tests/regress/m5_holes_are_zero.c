// M5: what a strided independent write leaves out of a new file is zero, sieved or not.
#include "access_kinds.h"

enum { kRecords = 5000, kPeriod = 13 };   // ints of a period of the file

static const char *sieve = "automatic";

static void holes(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_write", sieve);
  MPI_Info_set(info, "ind_wr_buffer_size", "32768");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  MPI_Info_free(&info);
  MPI_Datatype type;
  int data[kRecords], first = ck_rank * kRecords * kPeriod * 4;
  int words = (kRecords - 1) * kPeriod + 1, *got = malloc(4 * (size_t)words);
  MPI_Type_create_resized(MPI_INT, 0, 4 * kPeriod, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < kRecords; i++) data[i] = -1 - i;
  CHECK_OK(MPI_File_set_view(fh, first, MPI_INT, type, "native", MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, 0, data, kRecords, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  int fd = open(name, O_RDONLY);
  CHECK_INT(pread(fd, got, 4 * (size_t)words, first), 4 * (long long)words);
  for (int i = 0; i < words; i++)
    if (!CHECK_INT(got[i], i % kPeriod ? 0 : data[i / kPeriod])) break;
  close(fd);
  CHECK_INT(ck_disk_size(name), 4LL * (kPeriod * (kRecords * (ck_size - 1)) + words));
  free(got);
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  static const char *const sieves[] = {"automatic", "enable", "disable"};
  char name[64];
  ck_init(&argc, &argv);
  for (int i = 0; i < 3; i++) {
    sieve = sieves[i];
    snprintf(name, sizeof name, "at_%s", sieve);
    RUN_FOR(holes, name, kAt);
  }
  sieve = "enable";
  RUN_FOR(holes, "pointer", kPointer);
  RUN_FOR(holes, "iat", kIat);
  RUN_FOR(holes, "at_all", kAtAll);
  return ck_finish();
}
