/* A PnetCDF program that writes a column of a variable from each rank in independent mode. bad_pnetcdf FILE [1]. With 1 it is in collective
   mode. BAD_SCALE as in bad.c. */
#include <pnetcdf.h>

#include "columns.h"

static void need(int status) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "bad_pnetcdf: %s\n", ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_columns(const char* name, int collective, int rank, int ranks) {
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
