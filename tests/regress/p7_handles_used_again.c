// P7: a handle that was freed may stand for another datatype, or file, from then on. What was looked up of the former one isn't used.
#include "check.h"

#define ROUNDS 40
#define BYTES 64

// Round i writes every (i mod 3 + 1)-th byte of memory.
static void types(void) {
  const char *name = ck_fresh("f");
  char memory[3 * BYTES], back[BYTES];
  MPI_File fh;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  for (int i = 0; i < ROUNDS; i++) {
    const int stride = i % 3 + 1;
    const MPI_Offset at = (MPI_Offset)(i * ck_size + ck_rank) * BYTES;
    MPI_Datatype type;
    MPI_Type_vector(BYTES, 1, stride, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int k = 0; k < 3 * BYTES; k++) memory[k] = (char)(k + i);
    MPI_Status status;
    CHECK_OK(MPI_File_write_at(fh, at, memory, 1, type, &status));
    MPI_Type_free(&type);
    CHECK_OK(MPI_File_read_at(fh, at, back, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    int wrong = 0;
    for (int k = 0; k < BYTES; k++) wrong += back[k] != (char)(k * stride + i);
    CHECK_INT(wrong, 0);
  }
  CHECK_OK(MPI_File_close(&fh));
}

// Freed while the access that uses it is under way.
static void types_freed_early(void) {
  const char *name = ck_fresh("g");
  char memory[2 * BYTES], back[BYTES];
  MPI_File fh;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Datatype type, other;
    MPI_Request request;
    MPI_Type_vector(BYTES, 1, 2, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int k = 0; k < 2 * BYTES; k++) memory[k] = (char)(k - i);
    const MPI_Offset at = (MPI_Offset)ck_rank * BYTES;
    CHECK_OK(MPI_File_iwrite_at(fh, at, memory, 1, type, &request));
    MPI_Type_free(&type);
    MPI_Type_contiguous(BYTES, MPI_BYTE, &other);
    MPI_Type_commit(&other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_OK(MPI_File_read_at(fh, at, back, 1, other, MPI_STATUS_IGNORE));
    MPI_Type_free(&other);
    int wrong = 0;
    for (int k = 0; k < BYTES; k++) wrong += back[k] != (char)(2 * k - i);
    CHECK_INT(wrong, 0);
  }
  CHECK_OK(MPI_File_close(&fh));
}

static void files(void) {
  char byte = 0, name[2][600];
  snprintf(name[0], sizeof name[0], "%s", ck_fresh("h0"));
  snprintf(name[1], sizeof name[1], "%s", ck_fresh("h1"));
  for (int i = 0; i < ROUNDS; i++) {
    MPI_File fh;
    CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name[i % 2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    byte = (char)(i + ck_rank);
    CHECK_OK(MPI_File_write_at(fh, ck_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    byte = 0;
    CHECK_OK(MPI_File_read_at(fh, ck_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_INT(byte, (char)(i + ck_rank));
    MPI_File closed = fh;
    CHECK_OK(MPI_File_close(&fh));
    CHECK_CLASS(MPI_File_read_at(closed, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_FILE);
  }
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(types);
  RUN(types_freed_early);
  RUN(files);
  return ck_finish();
}
