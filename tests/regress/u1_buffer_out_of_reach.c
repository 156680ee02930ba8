// U1: a buffer that the processor may not touch is an error of class MPI_ERR_BUFFER, on every rank of a collective access, and
// not the end of the program; so is one that it may only read, for an access that reads the file. The file stays usable.
#include <sys/mman.h>

#include "access_kinds.h"

enum { kBytes = 4096 };

static int protection;

// Never given back: pages that the processor was allowed to touch a moment ago may be taken to be so still.
static char *pages(int prot) {
  char *at = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!CHECK(at != MAP_FAILED)) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(at, 'a' + ck_rank, kBytes);
  CHECK(mprotect(at, kBytes, prot) == 0);
  return at;
}

static MPI_File open_filled(void) {
  MPI_File fh = ck_create("f");
  char *buffer = pages(PROT_READ | PROT_WRITE);
  CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)ck_rank * kBytes, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  return fh;
}

static void access_of_kind(int write, int kind, int large) {
  MPI_File fh = open_filled();
  const int is_bad = ck_rank == (kind % 2 ? ck_size - 1 : 0);
  char *buffer = pages(is_bad ? protection : PROT_READ | PROT_WRITE);
  // Blocks of 8 of each 16 bytes, or all of it.
  MPI_Datatype strided;
  MPI_Type_vector(kBytes / 16, 8, 16, MPI_BYTE, &strided);
  MPI_Type_commit(&strided);
  const CkAccess access = {write, kind, fh, (MPI_Offset)ck_rank * kBytes, buffer, large ? kBytes : 1, large ? MPI_BYTE : strided};
  MPI_Status status;
  const int code = ck_do(&access, &status);
  if (ck_kind_is_collective(kind)) {
    CHECK_CLASS(code, MPI_ERR_BUFFER);
  } else {
    CHECK_CLASS(code, is_bad ? MPI_ERR_BUFFER : MPI_SUCCESS);
  }
  MPI_Type_free(&strided);
  mprotect(buffer, kBytes, PROT_READ | PROT_WRITE);
  memset(buffer, 'A' + ck_rank, kBytes);
  CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)ck_rank * kBytes, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_sync(fh));
  CHECK_BYTES(ck_path("f"), (long long)ck_rank * kBytes, buffer, kBytes);
  CHECK_OK(MPI_File_close(&fh));
}

static void write_contiguous(int kind) { access_of_kind(1, kind, 1); }
static void write_strided(int kind) { access_of_kind(1, kind, 0); }
static void read_contiguous(int kind) { access_of_kind(0, kind, 1); }
static void read_strided(int kind) { access_of_kind(0, kind, 0); }
static void read_into_read_only(int kind) { access_of_kind(0, kind, 1); }

// A rank without data may pass any address.
static void nothing_to_move(void) {
  MPI_File fh = ck_create("f");
  char byte = 'x';
  void *const nowhere = (void *)8;
  CHECK_OK(MPI_File_write_at_all(fh, 0, ck_rank ? nowhere : &byte, ck_rank ? 0 : 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, 0, ck_rank ? NULL : &byte, ck_rank ? 0 : 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);   // for MPI_Wait
  protection = PROT_NONE;
  RUN_FOR_KINDS(write_contiguous, 0, kPlainKinds);
  RUN_FOR_KINDS(write_strided, 0, kPlainKinds);
  RUN_FOR_KINDS(read_contiguous, 0, kPlainKinds);
  RUN_FOR_KINDS(read_strided, 0, kPlainKinds);
  RUN_FOR_KINDS(write_contiguous, kShared, kSharedC);
  protection = PROT_READ;
  RUN_FOR_KINDS(read_into_read_only, 0, kPlainKinds);
  RUN(nothing_to_move);
  return ck_finish();
}
