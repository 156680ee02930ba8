// O11: the status of an independent write that the file system stops half-way counts what was written before. That of a collective one
// counts nothing: other ranks have written parts of it.
#include "write_limit.h"

enum { kBytes = 100000, kPiece = 500 };

typedef enum { kContiguous, kMemoryHoles, kFileHoles, kShapes } Shape;
static const char *const shape_names[kShapes] = {"contiguous", "memory_holes", "file_holes"};
static Shape shape;

// Every second piece of `piece` bytes.
static MPI_Datatype half(int piece) {
  MPI_Datatype block, type;
  MPI_Type_contiguous(piece, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, 2 * piece, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&block);
  return type;
}

static void independent(int kind) {
  char name[1000];
  char *buffer = malloc(2 * kBytes), *got = malloc(kBytes);
  MPI_Datatype memory = shape == kMemoryHoles ? half(kPiece) : MPI_BYTE, file = shape == kFileHoles ? half(kPiece) : MPI_BYTE;
  MPI_File fh;
  MPI_Status status;
  int want = shape == kFileHoles ? 4 * kPiece + kLimit % (2 * kPiece) : kLimit;
  memset(buffer, 'x', 2 * kBytes);
  snprintf(name, sizeof name, "%s.%d", ck_fresh("f"), ck_rank);
  ck_remove(name);
  if (!CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh))) return;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, file, "native", MPI_INFO_NULL));
  limit_writes(kEveryRank);
  CHECK_CLASS(ck_write(kind, fh, 0, buffer, shape == kMemoryHoles ? kBytes / kPiece : kBytes, memory, &status), MPI_ERR_NO_SPACE);
  lift_limit();
  CHECK_COUNT(status, MPI_BYTE, want);
  CHECK_OK(MPI_File_read_at(fh, 0, got, want, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, want);
  CHECK(memcmp(got, buffer, (size_t)want) == 0);
  CHECK_OK(MPI_File_close(&fh));
  ck_remove(name);
  if (memory != MPI_BYTE) MPI_Type_free(&memory);
  if (file != MPI_BYTE) MPI_Type_free(&file);
  free(buffer);
  free(got);
}

static void together(int kind) {
  char *buffer = calloc(1, kShare);
  MPI_Status status;
  MPI_File fh = open_with(ck_fresh("f"), kDefaultHints);
  interleaved_view(fh);
  limit_writes(kEveryRank);
  CHECK_CLASS(ck_write(kind, fh, 0, buffer, kShare, MPI_BYTE, &status), MPI_ERR_NO_SPACE);
  lift_limit();
  CHECK_COUNT(status, MPI_BYTE, 0);
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

int main(int argc, char **argv) {
  static char names[kShapes][kKinds][64];
  ck_init(&argc, &argv);
  return_errors();
  for (int i = 0; i < kShapes; i++) {
    for (int kind = 0; kind < kKinds; kind++) {
      if (ck_kind_is_collective(kind) || !ck_kind_exists(kind)) continue;
      shape = (Shape)i;
      snprintf(names[i][kind], sizeof names[i][kind], "%s_%s", shape_names[i], ck_kind_names[kind]);
      RUN_FOR(independent, names[i][kind], kind);
    }
  }
  if (ck_size > 1) {
    RUN_FOR(together, "at_all", kAtAll);
    RUN_FOR(together, "iat_all", kIatAll);
  }
  return ck_finish();
}
