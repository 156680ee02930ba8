/* A netCDF-4 program that writes a column of a variable from each rank, with the default access, which is independent. bad_netcdf FILE [1]. With
   1 the access is collective. BAD_SCALE as in bad.c. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>

#include "columns.h"

static void need(int status) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "bad_netcdf: %s\n", nc_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void write_columns(const char* name, int collective, int rank, int ranks) {
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
