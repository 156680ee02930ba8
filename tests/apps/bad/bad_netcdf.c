/* A netCDF-4 program that writes a column of a variable from each rank, with the default access, which is independent. bad_netcdf FILE [1]. With
   1 the access is collective. BAD_SCALE as in bad.c. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 8192, kWidth = 64 };

static void need(int status) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "bad_netcdf: %s\n", nc_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_variable(const char* name, int collective, int rank, int ranks) {
  double* data = calloc((size_t)kRows * kWidth, sizeof *data);
  int file, dims[2], variable;
  need(nc_create_par(name, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
  need(nc_def_dim(file, "y", kRows, &dims[0]));
  need(nc_def_dim(file, "x", (size_t)kWidth * ranks, &dims[1]));
  need(nc_def_var(file, "u", NC_DOUBLE, 2, dims, &variable));
  need(nc_enddef(file));
  if (collective) need(nc_var_par_access(file, variable, NC_COLLECTIVE));
  const size_t start[2] = {0, (size_t)kWidth * rank}, count[2] = {kRows, kWidth};
  need(nc_put_vara_double(file, variable, start, count, data));
  need(nc_close(file));
  free(data);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  const double begin = MPI_Wtime();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int scale = getenv("BAD_SCALE") ? atoi(getenv("BAD_SCALE")) : 1;
  for (int i = 0; i < scale; ++i) write_variable(argv[1], argc > 2, rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("seconds %.6f\n", MPI_Wtime() - begin);
  MPI_Finalize();
  return 0;
}
