// Writes and reads in all the ways a replay has to know. Every byte is the function of its offset that tools/replay/data.c
// writes, so that a replay of it makes the same files, byte for byte. replay_app FOLDER
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBlock = 40, kBlocks = 50 };

static int rank, ranks;

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "replay_app: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(char* to, int64_t offset, int64_t bytes) {
  for (; bytes > 0; --bytes, ++offset) {
    uint64_t value = ((uint64_t)offset / 8 + 1) * 0x9e3779b97f4a7c15u;
    value ^= value >> 29;
    *to++ = (char)(value >> (8 * (offset % 8)));
  }
}

static MPI_File open_file(MPI_Comm comm, const char* folder, const char* name, int amode) {
  char path[512];
  MPI_File file;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  check(MPI_File_open(comm, path, amode, MPI_INFO_NULL, &file), "open");
  return file;
}

// Blocks of the ranks in turn, from `begin` on, the last not whole; then through another view, a subarray.
static void views(const char* folder) {
  MPI_File file = open_file(MPI_COMM_WORLD, folder, "views", MPI_MODE_RDWR | MPI_MODE_CREATE);
  const int64_t begin = 12;
  char data[kBlock * kBlocks], back[kBlock * kBlocks];
  MPI_Datatype vector, mine, tile;
  const int bytes = kBlock * kBlocks - 5;
  check(MPI_Type_contiguous(kBlock, MPI_BYTE, &vector), "type");
  check(MPI_Type_create_resized(vector, 0, (MPI_Aint)kBlock * ranks, &mine), "type");
  MPI_Type_commit(&mine);
  check(MPI_File_set_view(file, begin + (int64_t)rank * kBlock, MPI_BYTE, mine, "native", MPI_INFO_NULL), "view");
  for (int i = 0; i < kBlocks; ++i) fill(data + i * kBlock, begin + (int64_t)(i * ranks + rank) * kBlock, kBlock);
  check(MPI_File_write_all(file, data, kBlock, MPI_BYTE, MPI_STATUS_IGNORE), "write_all");
  check(MPI_File_write_all(file, data + kBlock, bytes - kBlock, MPI_BYTE, MPI_STATUS_IGNORE), "write_all");
  check(MPI_File_seek(file, 0, MPI_SEEK_SET), "seek");
  check(MPI_File_read_all(file, back, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "read_all");
  if (memcmp(data, back, (size_t)bytes) != 0) check(1, "comparing");
  const int64_t next = begin + (int64_t)kBlock * kBlocks * ranks;
  const int sizes[2] = {8, 4 * ranks}, subsizes[2] = {8, 4}, starts[2] = {0, 4 * rank};
  check(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &tile), "subarray");
  MPI_Type_commit(&tile);
  check(MPI_File_set_view(file, next, MPI_INT, tile, "native", MPI_INFO_NULL), "view");
  for (int row = 0; row < 8; ++row) fill(data + row * 16, next + (row * 4 * ranks + 4 * rank) * 4, 16);
  check(MPI_File_write_at_all_begin(file, 0, data, 32, MPI_INT), "write_at_all_begin");
  check(MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE), "write_at_all_end");
  MPI_Type_free(&vector);
  MPI_Type_free(&mine);
  MPI_Type_free(&tile);
  check(MPI_File_close(&file), "close");
}

// Without waiting, in the order of ranks, and one rank alone.
static void others(const char* folder) {
  MPI_File file = open_file(MPI_COMM_WORLD, folder, "others", MPI_MODE_WRONLY | MPI_MODE_CREATE);
  char data[8][100], mine[64];
  MPI_Request requests[9];
  MPI_Status statuses[9];
  for (int i = 0; i < 8; ++i) {
    const int64_t at = (i * ranks + rank) * 100;
    fill(data[i], at, 100);
    check(MPI_File_iwrite_at(file, at, data[i], 100, MPI_BYTE, &requests[i]), "iwrite_at");
  }
  fill(mine, 10000 + rank * 64, 64);
  check(MPI_File_iwrite_at_all(file, 10000 + rank * 64, mine, 64, MPI_BYTE, &requests[8]), "iwrite_at_all");
  check(MPI_Waitall(9, requests, statuses), "waitall");
  check(MPI_File_seek_shared(file, 20000, MPI_SEEK_SET), "seek_shared");
  char turn[32];
  fill(turn, 20000 + rank * 32, 32);
  check(MPI_File_write_ordered(file, turn, 32, MPI_BYTE, MPI_STATUS_IGNORE), "write_ordered");
  if (rank == 0) {
    fill(mine, 30000, 64);
    check(MPI_File_write_at(file, 30000, mine, 64, MPI_BYTE, MPI_STATUS_IGNORE), "write_at");
  }
  check(MPI_File_sync(file), "sync");
  check(MPI_File_set_size(file, 40000), "set_size");
  check(MPI_File_close(&file), "close");
}

// A file for each rank, and one for each half of the ranks.
static void groups(const char* folder) {
  MPI_Comm half;
  char name[32], data[512];
  int place = 0;
  snprintf(name, sizeof name, "own.%d", rank);
  MPI_File file = open_file(MPI_COMM_SELF, folder, name, MPI_MODE_RDWR | MPI_MODE_CREATE);
  for (int i = 0; i < 16; ++i) {
    fill(data, i * 32, 32);
    check(MPI_File_write(file, data, 32, MPI_BYTE, MPI_STATUS_IGNORE), "write");
  }
  check(MPI_File_close(&file), "close");
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm_rank(half, &place);
  snprintf(name, sizeof name, "half.%d", rank % 2);
  file = open_file(half, folder, name, MPI_MODE_WRONLY | MPI_MODE_CREATE);
  fill(data, place * 512, 512);
  check(MPI_File_write_at_all(file, place * 512, data, 512, MPI_BYTE, MPI_STATUS_IGNORE), "write_at_all");
  check(MPI_File_close(&file), "close");
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 2) check(1, "replay_app FOLDER");
  views(argv[1]);
  others(argv[1]);
  groups(argv[1]);
  MPI_Finalize();
  return 0;
}
