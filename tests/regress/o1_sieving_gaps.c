// O1: a collective write of small blocks leaves what lies between them as it was, over more than one sieve buffer; and zeros
// where nothing was.
#include "check.h"

enum { kBlock = 16, kStride = 256, kFileBytes = 96 << 20, kPiece = 1 << 20 };

static int old_word(long long i) { return (int)(i * 2654435761u ^ 0x5a5a5a5a); }
static int new_word(int rank) { return -1 - rank; }

// The words of one period: each rank's block, then the gap.
static int want_word(long long i, int old) {
  int at = (int)(i * 4 % kStride);
  return at < kBlock * ck_size ? new_word(at / kBlock) : old ? old_word(i) : 0;
}

static void fill(const char *name, int old) {
  int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0666), *piece = malloc(kPiece);
  for (long long at = 0; old && at < kFileBytes; at += kPiece) {
    for (int i = 0; i < kPiece / 4; i++) piece[i] = old_word(at / 4 + i);
    if (!CHECK_INT(pwrite(fd, piece, kPiece, at), kPiece)) break;
  }
  close(fd);
  free(piece);
}

static void check_file(const char *name, int old) {
  int fd = open(name, O_RDONLY), *piece = malloc(kPiece);
  long long wrong = 0;
  for (long long at = (long long)kPiece * ck_rank; at < kFileBytes; at += (long long)kPiece * ck_size) {
    ssize_t n = pread(fd, piece, kPiece, at);
    long long last = kFileBytes - kStride + kBlock * ck_size;   // the file of the holes ends here
    CHECK_INT(n, old || at + kPiece <= last ? kPiece : last - at);
    for (int i = 0; i < n / 4; i++) wrong += piece[i] != want_word(at / 4 + i, old);
  }
  CHECK_INT(wrong, 0);
  close(fd);
  free(piece);
}

static void write_blocks(int old) {
  const char *name = ck_fresh("f");
  int count = kFileBytes / kStride, *data = malloc((size_t)count * kBlock);
  if (ck_rank == 0) fill(name, old);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "num_aggregators", "1");
  MPI_File fh = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, info, &fh));
  MPI_Info_free(&info);
  MPI_Datatype contiguous, type;
  MPI_Type_contiguous(kBlock, MPI_BYTE, &contiguous);
  MPI_Type_create_resized(contiguous, 0, kStride, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < count * kBlock / 4; i++) data[i] = new_word(ck_rank);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)ck_rank * kBlock, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Status status;
  CHECK_OK(MPI_File_write_all(fh, data, count * kBlock, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, count * kBlock);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
  MPI_Type_free(&contiguous);
  free(data);
  MPI_Barrier(MPI_COMM_WORLD);
  check_file(name, old);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) unlink(name);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(write_blocks, "old_file", 1);
  RUN_FOR(write_blocks, "new_file", 0);
  return ck_finish();
}
