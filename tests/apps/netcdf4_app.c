/* A small parallel netCDF-4 program: a record variable that grows by collective writes, a fixed one written independently,
 * read back under another decomposition. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSteps = 4, kWidth = 4096 };

static int rank, ranks;

static void need(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, nc_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static float value_at(size_t step, size_t column) { return (float)(step * 100000 + column); }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int file, dims[2], grows, fixed, wrong = 0, all_wrong = 0;
  need(nc_create_par("data.nc", NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "create");
  need(nc_def_dim(file, "time", NC_UNLIMITED, &dims[0]), "dimension");
  need(nc_def_dim(file, "x", kWidth, &dims[1]), "dimension");
  need(nc_def_var(file, "grows", NC_FLOAT, 2, dims, &grows), "variable");
  need(nc_def_var(file, "fixed", NC_INT, 1, &dims[1], &fixed), "variable");
  need(nc_enddef(file), "enddef");
  need(nc_var_par_access(file, grows, NC_COLLECTIVE), "collective");
  need(nc_var_par_access(file, fixed, NC_INDEPENDENT), "independent");

  const size_t from = (size_t)kWidth * (size_t)rank / (size_t)ranks, to = (size_t)kWidth * (size_t)(rank + 1) / (size_t)ranks;
  float* row = malloc(kWidth * sizeof *row);
  int* ints = malloc(kWidth * sizeof *ints);
  for (size_t step = 0; step < kSteps; ++step) {
    const size_t start[2] = {step, from}, count[2] = {1, to - from};
    for (size_t i = from; i < to; ++i) row[i - from] = value_at(step, i);
    need(nc_put_vara_float(file, grows, start, count, row), "put");
  }
  for (size_t i = from; i < to; ++i) ints[i - from] = (int)(7 * i);
  const size_t width = to - from;
  need(nc_put_vara_int(file, fixed, &from, &width, ints), "put");
  need(nc_close(file), "close");

  need(nc_open_par("data.nc", NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "open");
  need(nc_inq_varid(file, "grows", &grows), "variable");
  need(nc_inq_varid(file, "fixed", &fixed), "variable");
  need(nc_var_par_access(file, grows, NC_COLLECTIVE), "collective");
  double sum = 0, total = 0;
  for (size_t step = 0; step < kSteps; ++step) {
    const size_t start[2] = {kSteps - 1 - step, 0}, count[2] = {1, kWidth};
    need(nc_get_vara_float(file, grows, start, count, row), "get");
    for (size_t i = 0; i < kWidth; ++i) {
      wrong += row[i] != value_at(start[0], i);
      sum += row[i];
    }
  }
  need(nc_get_var_int(file, fixed, ints), "get");
  for (size_t i = 0; i < kWidth; ++i) wrong += ints[i] != (int)(7 * i);
  need(nc_close(file), "close");
  MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %.1f, wrong values %d\n", total / ranks, all_wrong);
  free(row), free(ints);
  MPI_Finalize();
  return all_wrong != 0;
}
