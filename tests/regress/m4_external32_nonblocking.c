// M4: nonblocking accesses convert to and from external32 as blocking ones do: in the file, in the buffers, in the counts.
#include "access_kinds.h"

enum { kWords = 1000, kWide = 300 };

static void reversed(void *to, const void *from, int n, int bytes) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < bytes; j++) ((char *)to)[i * bytes + j] = ((const char *)from)[i * bytes + bytes - 1 - j];
}

static MPI_File external_file(MPI_Datatype etype, int bytes, int count) {
  MPI_File fh = ck_create("f");
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)bytes * count * ck_rank, etype, etype, "external32", MPI_INFO_NULL));
  return fh;
}

static void words(int kind) {
  int data[kWords], kept[kWords], big[kWords], got[kWords + 1];
  MPI_Status status;
  for (int i = 0; i < kWords; i++) kept[i] = data[i] = (int)(0x01020304u * (unsigned)(i + 1)) + ck_rank;
  reversed(big, data, kWords, 4);
  MPI_File fh = external_file(MPI_INT, 4, kWords);
  CHECK_OK(ck_write(kind, fh, 0, data, kWords, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, kWords);
  CHECK(memcmp(data, kept, sizeof data) == 0);
  CHECK_BYTES(ck_path("f"), (long long)sizeof data * ck_rank, big, sizeof big);
  got[kWords] = 77;
  CHECK_OK(ck_read(kind, fh, 0, got, kWords, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, kWords);
  CHECK(memcmp(got, kept, sizeof data) == 0);
  CHECK_INT(got[kWords], 77);
  CHECK_OK(MPI_File_close(&fh));
}

// Several requests of doubles, in a buffer with gaps, at the same time; one behind the end of the file.
static void strided_doubles(int kind) {
  double data[2 * kWide], dense[kWide], big[kWide], got[2 * kWide];
  MPI_Datatype type;
  MPI_Status status;
  MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 2 * kWide; i++) data[i] = 1.5 * i + ck_rank;
  for (int i = 0; i < kWide; i++) dense[i] = data[2 * i];
  reversed(big, dense, kWide, 8);
  MPI_File fh = external_file(MPI_DOUBLE, 8, kWide);
  CHECK_OK(ck_write(kind, fh, 0, data, kWide, type, &status));
  CHECK_COUNT(status, type, kWide);
  CHECK_BYTES(ck_path("f"), (long long)sizeof dense * ck_rank, big, sizeof big);
  for (int i = 0; i < 2 * kWide; i++) got[i] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(ck_read(kind, fh, 0, got, kWide, type, &status));
  CHECK_COUNT(status, type, kWide);
  for (int i = 0; i < 2 * kWide; i++)
    if (!CHECK(got[i] == (i % 2 ? -1 : data[i]))) break;
  MPI_Offset end = (MPI_Offset)kWide * (ck_size - ck_rank) - 10;   // in etypes of this rank's view
  CHECK_OK(ck_read(kind, fh, end, got, kWide, type, &status));
  CHECK_COUNT(status, type, 10);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
}

static void shared(void) {
  int data = 0x01020304 + ck_rank, big, got = 0;
  MPI_Request request;
  MPI_File fh = ck_create("f");
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  for (int turn = 0; turn < ck_size; turn++) {
    if (turn == ck_rank) {
      CHECK_OK(MPI_File_iwrite_shared(fh, &data, 1, MPI_INT, &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  reversed(&big, &data, 1, 4);
  CHECK_BYTES(ck_path("f"), 4 * ck_rank, &big, 4);
  CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  for (int turn = 0; turn < ck_size; turn++) {
    if (turn == ck_rank) {
      CHECK_OK(MPI_File_iread_shared(fh, &got, 1, MPI_INT, &request));
      CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_INT(got, data);
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  for (int kind = 0; kind < kKinds; kind++) {
    if (!ck_kind_is_nonblocking(kind) || !ck_kind_exists(kind)) continue;
    RUN_FOR(words, ck_kind_names[kind], kind);
    RUN_FOR(strided_doubles, ck_kind_names[kind], kind);
  }
  RUN(shared);
  return ck_finish();
}
