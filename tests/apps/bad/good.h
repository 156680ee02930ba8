/* Part of bad.c, which has the functions that open, fill and work: programs without a fault. They are large collective writes, each with a view
   of its own, too, a file for each of a few steps, much work with little I/O, large collective reads, large independent writes, and nonblocking writes during the work. */
#ifndef BAD_GOOD_H
#define BAD_GOOD_H

static void good_collective(void) { collective(MPI_INFO_NULL, 256, 65536, 8); }
static void good_steps(void) {
  char* data = filled(16 * MEBI);
  for (int step = 0; step < 5; ++step) {
    MPI_File file = open_step(step);
    MPI_File_write_at_all(file, (MPI_Offset)rank * 16 * MEBI, data, 16 * MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  }
  free(data);
}
/* Each of a few large accesses has its view. */
static void good_views(void) {
  char* data = filled(8 * MEBI);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 16; ++i) {
    interleave(file, 128, 65536, ranks);
    MPI_File_write_at_all(file, (MPI_Offset)i * 8 * MEBI, data, 8 * MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}
static void good_little(void) {
  char record[64];
  memset(record, 'a' + rank, sizeof record);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 2000; ++i) MPI_File_write_at(file, ((MPI_Offset)rank * 2000 + i) * 64, record, 64, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  usleep(4000000);
}
static void good_reads(void) {
  char* data = filled(16 * MEBI);
  MPI_File file = open_all(MPI_INFO_NULL);
  MPI_File_write_at_all(file, (MPI_Offset)rank * 16 * MEBI, data, 16 * MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  interleave(file, 256, 65536, ranks);
  for (int i = 0; i < 8; ++i) {
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all(file, data, 16 * MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}
static void good_shares(void) {
  char* data = filled(8 * MEBI);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 8; ++i) MPI_File_write_at(file, ((MPI_Offset)rank * 8 + i) * 8 * MEBI, data, 8 * MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  free(data);
}
static void good_overlap(void) {
  char* data = filled(4 * MEBI);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 8; ++i) {
    MPI_Request request;
    MPI_File_iwrite_at_all(file, ((MPI_Offset)i * ranks + rank) * 4 * MEBI, data, 4 * MEBI, MPI_BYTE, &request);
    usleep(rank == 1 ? 110000 : 100000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}

/* What the remedy of same_data_read comes to, in each step. */
static void good_handed_on(void) {
  char* data = filled(4 * MEBI);
  MPI_File file = open_all(MPI_INFO_NULL);
  MPI_File_write_at_all(file, (MPI_Offset)rank * MEBI, data, MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  for (int step = 0; step < 40; ++step) {
    if (rank == 0) MPI_File_read_at(file, 0, data, 4 * MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Bcast(data, 4 * MEBI, MPI_BYTE, 0, MPI_COMM_WORLD);
    usleep(5000);
  }
  MPI_File_close(&file);
  free(data);
}
/* Each half of the ranks has a file of its own, and one half takes longer. */
static void good_halves(void) {
  char* data = filled(65536);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
  MPI_File file = open_number(half, rank / 2);
  for (int i = 0; i < 10; ++i) {
    usleep(rank < 2 ? 20000 : 100000);
    MPI_File_write_at_all(file, ((MPI_Offset)i * 2 + rank % 2) * 65536, data, 65536, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  MPI_Comm_free(&half);
  free(data);
}
/* Rank 0 writes while the others compute longer. */
static void good_aside(void) {
  char* data = filled(MEBI);
  MPI_File file = open_all(MPI_INFO_NULL);
  for (int i = 0; i < 50 && rank == 0; ++i) MPI_File_write_at(file, (MPI_Offset)i * MEBI, data, MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  if (rank != 0) usleep(1500000);
  MPI_File_close(&file);
  free(data);
}
/* Mercutio tries other ways meanwhile, some of which merge. */
static void good_columns(void) {
  enum { kPieces = 2048, kBytes = 1024 };
  char* data = filled(kPieces * kBytes);
  MPI_File file = open_all(MPI_INFO_NULL);
  interleave(file, kPieces, kBytes, ranks);
  for (int i = 0; i < 30; ++i) {
    usleep(5000);
    MPI_File_write_at_all(file, (MPI_Offset)(i % 3) * kPieces * kBytes, data, kPieces * kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(data);
}

#endif
