// 14.4.2 and 14.4.3: the whole table of data accesses by explicit offset and individual pointer, blocking, nonblocking,
// collective and split, with their large-count twins: contents, counts, holes, end of file, zero-size ranks, pointers.
#include "access_kinds.h"

enum { kItems = 300 };

static void fill(int *buffer, int n, int seed) {
  for (int i = 0; i < n; i++) buffer[i] = seed * 100000 + i;
}

static void contiguous(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int out[kItems], in[kItems];
  MPI_Status status;
  fill(out, kItems, ck_rank);
  CHECK_OK(MPI_File_set_view(fh, 12, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, (MPI_Offset)ck_rank * kItems, out, kItems, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, kItems);
  CHECK_COUNT(status, MPI_BYTE, 4 * kItems);
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(fh));
  int peer = (ck_rank + 1) % ck_size;
  fill(out, kItems, peer);
  memset(in, 0, sizeof in);
  CHECK_OK(ck_read(kind, fh, (MPI_Offset)peer * kItems, in, kItems, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, kItems);
  CHECK(!memcmp(in, out, sizeof in));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 12 + (long long)peer * sizeof out, out, sizeof out);
  CHECK_INT(ck_disk_size(name), 12 + (long long)ck_size * sizeof out);
}

// Every rank has each size-th block of 3 integers, from memory with holes: both sides noncontiguous.
static void interleaved(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype filetype, memtype;
  enum { kBlocks = 50, kLength = 3 };
  int memory[kBlocks * 5], back[kBlocks * 5];
  MPI_Status status;
  MPI_Type_vector(kBlocks, kLength, kLength * ck_size, MPI_INT, &filetype);
  MPI_Type_commit(&filetype);
  MPI_Type_vector(kBlocks, kLength, 5, MPI_INT, &memtype);
  MPI_Type_commit(&memtype);
  fill(memory, kBlocks * 5, ck_rank);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)ck_rank * kLength * 4, MPI_INT, filetype, "native", MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, 0, memory, 1, memtype, &status));
  CHECK_COUNT(status, MPI_INT, kBlocks * kLength);
  CHECK_COUNT(status, memtype, 1);
  memset(back, 0xff, sizeof back);
  CHECK_OK(ck_read(kind, fh, 0, back, 1, memtype, &status));
  CHECK_COUNT(status, MPI_INT, kBlocks * kLength);
  for (int i = 0; i < (kBlocks - 1) * 5 + 3; i++) CHECK_INT(back[i], i % 5 < kLength ? memory[i] : -1);
  CHECK_OK(MPI_File_close(&fh));
  for (int block = 0; block < kBlocks; block++)
    CHECK_BYTES(name, 4LL * kLength * (block * ck_size + ck_rank), memory + 5 * block, 4 * kLength);
  CHECK_INT(ck_disk_size(name), 4LL * kLength * kBlocks * ck_size);
  MPI_Type_free(&filetype);
  MPI_Type_free(&memtype);
}

// What lies between the written blocks stays as it was, and a new file has zeros there.
static void holes(int kind) {
  const long long bytes = 64 * 40;
  const char *name = ck_filled("f", bytes);
  unsigned char want[64 * 40];
  MPI_Datatype filetype, resized;
  MPI_File fh = ck_open(name, MPI_MODE_RDWR);
  char data[40 * 4];
  MPI_Status status;
  memset(data, 'A' + ck_rank, sizeof data);
  MPI_Type_contiguous(4, MPI_BYTE, &filetype);
  MPI_Type_create_resized(filetype, 0, 64, &resized);
  MPI_Type_commit(&resized);
  CHECK_OK(MPI_File_set_view(fh, ck_rank * 8, MPI_BYTE, resized, "native", MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, 0, data, sizeof data, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, sizeof data);
  CHECK_OK(MPI_File_close(&fh));
  for (long long i = 0; i < bytes; i++) {
    long long rank = i % 64 / 8;
    want[i] = rank < ck_size && i % 8 < 4 ? (unsigned char)('A' + rank) : ck_byte_at(i);
  }
  CHECK_BYTES(name, 0, want, (size_t)bytes);
  CHECK_INT(ck_disk_size(name), bytes);
  MPI_Type_free(&filetype);
  MPI_Type_free(&resized);
}

static void holes_of_new_file(int kind) {
  const char *name = ck_fresh("f");
  unsigned char want[64 * 40];
  MPI_Datatype filetype, resized;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  char data[40 * 4];
  memset(data, 'A' + ck_rank, sizeof data);
  MPI_Type_contiguous(4, MPI_BYTE, &filetype);
  MPI_Type_create_resized(filetype, 0, 64, &resized);
  MPI_Type_commit(&resized);
  CHECK_OK(MPI_File_set_view(fh, ck_rank * 8, MPI_BYTE, resized, "native", MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  for (long long i = 0; i < 64 * 40; i++) {
    long long rank = i % 64 / 8;
    want[i] = rank < ck_size && i % 8 < 4 ? (unsigned char)('A' + rank) : 0;
  }
  long long size = 64 * 39 + 8 * (ck_size - 1) + 4;
  CHECK_BYTES(name, 0, want, (size_t)size);
  CHECK_INT(ck_disk_size(name), size);
  MPI_Type_free(&filetype);
  MPI_Type_free(&resized);
}

static void end_of_file(int kind) {
  const char *name = ck_filled("f", 1000);
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  unsigned char in[1200];
  MPI_Status status;
  memset(in, 0xee, sizeof in);
  CHECK_OK(ck_read(kind, fh, 600, in, 1200, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 400);
  CHECK_INT(in[399], ck_byte_at(999));
  CHECK_INT(in[400], 0xee);
  CHECK_OK(ck_read(kind, fh, 1000, in, 100, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 0);
  CHECK_OK(ck_read(kind, fh, 50000, in, 100, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 0);
  CHECK_OK(MPI_File_close(&fh));
}

// A partial item: Get_count is undefined, Get_elements counts the basic elements.
static void end_of_file_in_an_item(int kind) {
  const char *name = ck_filled("f", 100);
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  MPI_Datatype triple;
  int in[60], elements = -1;
  MPI_Status status;
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_commit(&triple);
  CHECK_OK(ck_read(kind, fh, 0, in, 20, triple, &status));
  CHECK_COUNT(status, triple, MPI_UNDEFINED);
  CHECK_OK(MPI_Get_elements(&status, triple, &elements));
  CHECK_INT(elements, 25);
  CHECK_COUNT(status, MPI_BYTE, 100);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&triple);
}

static void end_of_file_in_a_strided_view(int kind) {
  const char *name = ck_filled("f", 1000);
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  MPI_Datatype filetype;
  unsigned char in[800];
  MPI_Status status;
  MPI_Type_vector(100, 10, 20, MPI_BYTE, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(fh, 5, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  memset(in, 0xee, sizeof in);
  CHECK_OK(ck_read(kind, fh, 3, in, 800, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 497);   // 50 blocks of 10 lie before byte 1000, less the first 3 bytes
  CHECK_INT(in[0], ck_byte_at(8));
  CHECK_INT(in[496], ck_byte_at(994));
  CHECK_INT(in[497], 0xee);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&filetype);
}

static void nothing(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  char c = 'x';
  MPI_Status status;
  CHECK_OK(ck_write(kind, fh, 100, &c, 0, MPI_CHAR, &status));
  CHECK_COUNT(status, MPI_CHAR, 0);
  CHECK_OK(ck_write(kind, fh, 100, NULL, 0, MPI_CHAR, &status));
  CHECK_OK(ck_read(kind, fh, 0, &c, 0, MPI_CHAR, &status));
  CHECK_COUNT(status, MPI_CHAR, 0);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 0);
}

static void some_ranks_have_nothing(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int n = ck_rank % 2 ? 0 : kItems, out[kItems], in[kItems];
  MPI_Status status;
  fill(out, kItems, ck_rank);
  CHECK_OK(ck_write(kind, fh, (MPI_Offset)ck_rank / 2 * sizeof out, out, n, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, n);
  CHECK_OK(ck_read(kind, fh, (MPI_Offset)ck_rank / 2 * sizeof out, in, n, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, n);
  if (n) CHECK(!memcmp(in, out, sizeof in));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), (ck_size + 1) / 2 * (long long)sizeof out);
}

// Explicit offsets leave the pointer alone; the others move it by what was moved.
static void moves_the_pointer(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 4000), MPI_MODE_RDWR);
  MPI_Offset at = -1;
  int in[100];
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_seek(fh, 7, MPI_SEEK_SET));
  CHECK_OK(ck_read(kind, fh, 20, in, 11, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, ck_kind_is_explicit(kind) ? 7 : 31);
  CHECK_OK(MPI_File_get_position_shared(fh, &at));
  CHECK_INT(at, 0);
  CHECK_OK(MPI_File_close(&fh));
}

static void bad_arguments(int kind) {
  MPI_File fh = ck_create("f");
  char c = 'x';
  int rc = ck_write(kind, fh, 0, &c, -1, MPI_CHAR, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_COUNT);
  if (ck_kind_is_explicit(kind)) {
    rc = ck_write(kind, fh, -5, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE);
    CHECK_CLASS(rc, MPI_ERR_ARG);
  }
  rc = ck_write(kind, fh, 0, &c, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_TYPE);
  CHECK_OK(ck_write(kind, fh, ck_rank, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));   // and the file is usable
  CHECK_OK(MPI_File_close(&fh));
}

static void type_must_fit_etype(int kind) {
  MPI_File fh = ck_create("f");
  char c[6] = "abcde";
  int rc;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  rc = ck_write(kind, fh, 2 * ck_rank, c, 5, MPI_CHAR, MPI_STATUS_IGNORE);   // no whole number of integers
#ifdef OPEN_MPI   // OMPIO takes them, and programs rely on it
  if (ck_kind_is_explicit(kind)) {
    CHECK_OK(rc);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_BYTES(ck_path("f"), 8 * ck_rank, c, 5);
    return;
  }
#endif
  CHECK_ERROR(rc);
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR_KINDS(contiguous, 0, kKinds);
  RUN_FOR_KINDS(interleaved, 0, kKinds);
  RUN_FOR_KINDS(holes, 0, kKinds);
  RUN_FOR_KINDS(holes_of_new_file, 0, kKinds);
  RUN_FOR_KINDS(end_of_file, 0, kKinds);
  RUN_FOR_KINDS(end_of_file_in_an_item, 0, kPlainKinds);
  RUN_FOR_KINDS(end_of_file_in_a_strided_view, 0, kPlainKinds);
  RUN_FOR_KINDS(nothing, 0, kKinds);
  RUN_FOR_KINDS(some_ranks_have_nothing, 0, kKinds);
  RUN_FOR_KINDS(moves_the_pointer, 0, kKinds);
  RUN_FOR_KINDS(bad_arguments, 0, kKinds);
  RUN_FOR_KINDS(type_must_fit_etype, 0, kPlainKinds);
  return ck_finish();
}
