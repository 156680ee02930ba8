/* A global array in blocks and a scalar over two steps, by the methods of ADIOS that use MPI-IO, and back by its reader. What it
   reads is left as *.read: the files themselves hold the time at which they were written. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "adios.h"
#include "adios_read.h"

enum { kRows = 40, kColumns = 300, kSteps = 2 };
static int rank, ranks;

static double value(int row, int column, int step) { return 1000.0 * row + column + 0.5 * step; }

static void write_steps(const char *method, const char *options, const char *name) {
  int64_t group, file;
  char dims[64], all[64], at[64];
  static double block[kRows][kColumns];
  adios_declare_group(&group, method, "", adios_stat_no);
  adios_select_method(group, method, options, "");
  snprintf(dims, sizeof dims, "%d,%d", kRows, kColumns);
  snprintf(all, sizeof all, "%d,%d", kRows * ranks, kColumns);
  snprintf(at, sizeof at, "%d,0", kRows * rank);
  adios_define_var(group, "step", "", adios_integer, "", "", "");
  adios_define_var(group, "field", "", adios_double, dims, all, at);
  for (int step = 0; step < kSteps; ++step) {
    uint64_t total;
    adios_open(&file, method, name, step == 0 ? "w" : "a", MPI_COMM_WORLD);
    adios_group_size(file, sizeof block + sizeof step, &total);
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j) block[i][j] = value(kRows * rank + i, j, step);
    adios_write(file, "step", &step);
    adios_write(file, "field", block);
    adios_close(file);
  }
}

static int read_back(const char *name) {
  char path[64];
  const uint64_t start[2] = {(uint64_t)(kRows * ((rank + 1) % ranks)), 7}, count[2] = {kRows, 100};
  double *part = malloc(sizeof(double) * kSteps * kRows * 100);
  int wrong = 0;
  ADIOS_FILE *file = adios_read_open_file(name, ADIOS_READ_METHOD_BP, MPI_COMM_WORLD);
  if (!file) return 1;
  ADIOS_SELECTION *box = adios_selection_boundingbox(2, start, count);
  adios_schedule_read(file, box, "field", 0, kSteps, part);
  adios_perform_reads(file, 1);
  for (int step = 0; step < kSteps; ++step)
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < 100; ++j) wrong += part[(step * kRows + i) * 100 + j] != value((int)start[0] + i, 7 + j, step);
  snprintf(path, sizeof path, "%s.%d.read", name, rank);
  FILE *copy = fopen(path, "w");
  wrong += fwrite(part, sizeof(double) * 100, kSteps * kRows, copy) != kSteps * kRows;
  wrong += fclose(copy) != 0;
  adios_selection_delete(box);
  adios_read_close(file);
  free(part);
  return wrong;
}

int main(int argc, char **argv) {
  int wrong = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  adios_init_noxml(MPI_COMM_WORLD);
  adios_set_max_buffer_size(16);
  adios_read_init_method(ADIOS_READ_METHOD_BP, MPI_COMM_WORLD, "verbose=1");
  write_steps("MPI", "verbose=1", "mpi.bp");
  write_steps("MPI_LUSTRE", "verbose=1;stripe_count=2;stripe_size=1048576", "lustre.bp");
  write_steps("MPI_AGGREGATE", "verbose=1;num_aggregators=2;num_ost=2", "aggregate.bp");
  MPI_Barrier(MPI_COMM_WORLD);
  wrong += read_back("mpi.bp") + read_back("lustre.bp") + read_back("aggregate.bp");
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d values wrong\n", all);
  adios_read_finalize_method(ADIOS_READ_METHOD_BP);
  adios_finalize(rank);
  MPI_Finalize();
  return all != 0;
}
