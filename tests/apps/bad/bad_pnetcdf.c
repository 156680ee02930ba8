/* A PnetCDF program that writes a column of a variable from each rank in independent mode. bad_pnetcdf FILE [1]. With 1 it is in collective
   mode. BAD_SCALE as in bad.c. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 8192, kWidth = 64 };

static void need(int status) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "bad_pnetcdf: %s\n", ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_variable(const char* name, int collective, int rank, int ranks) {
  double* data = calloc((size_t)kRows * kWidth, sizeof *data);
  int file, dims[2], variable;
  need(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
  need(ncmpi_def_dim(file, "y", kRows, &dims[0]));
  need(ncmpi_def_dim(file, "x", (MPI_Offset)kWidth * ranks, &dims[1]));
  need(ncmpi_def_var(file, "u", NC_DOUBLE, 2, dims, &variable));
  need(ncmpi_enddef(file));
  const MPI_Offset start[2] = {0, (MPI_Offset)kWidth * rank}, count[2] = {kRows, kWidth};
  if (collective) {
    need(ncmpi_put_vara_double_all(file, variable, start, count, data));
  } else {
    need(ncmpi_begin_indep_data(file));
    need(ncmpi_put_vara_double(file, variable, start, count, data));
    need(ncmpi_end_indep_data(file));
  }
  need(ncmpi_close(file));
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
