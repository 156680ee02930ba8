/* A small PnetCDF program: record variables by nonblocking puts, a strided one by a collective put, read back. Then what
   PnetCDF asks of files by itself, before it opens them by MPI: whether they are there, and of which format. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSteps = 3, kWidth = 600 };

static int rank, ranks;

static void need(int status, const char* what) {
  if (status == NC_NOERR) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void expect(int status, int wanted, const char* what) {
  if (status == wanted) return;
  fprintf(stderr, "rank %d: %s: %s instead of %s\n", rank, what, ncmpi_strerrno(status), ncmpi_strerrno(wanted));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void ask_of_files(void) {
  int file, format = 0;
  expect(ncmpi_create(MPI_COMM_WORLD, "data.nc", NC_NOCLOBBER, MPI_INFO_NULL, &file), NC_EEXIST, "create what is there");
  expect(ncmpi_open(MPI_COMM_WORLD, "absent.nc", NC_NOWRITE, MPI_INFO_NULL, &file), NC_ENOENT, "open what isn't there");
  need(ncmpi_inq_file_format("data.nc", &format), "format");
  expect(format, NC_FORMAT_CDF5, "format");
  need(ncmpi_create(MPI_COMM_WORLD, "short.nc", NC_NOCLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
  int dim, variable;
  need(ncmpi_def_dim(file, "x", 100000, &dim), "dimension");
  need(ncmpi_def_var(file, "u", NC_DOUBLE, 1, &dim, &variable), "variable");
  need(ncmpi_enddef(file), "enddef");
  const MPI_Offset start = 0, count = rank == 0 ? 100000 : 0;
  double* zeros = calloc(100000, sizeof(double));
  need(ncmpi_put_vara_double_all(file, variable, &start, &count, zeros), "put");
  free(zeros);
  need(ncmpi_close(file), "close");
  need(ncmpi_create(MPI_COMM_WORLD, "short.nc", NC_CLOBBER, MPI_INFO_NULL, &file), "create anew");
  need(ncmpi_enddef(file), "enddef");
  need(ncmpi_close(file), "close");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int file, dims[2], record[2], strided, wrong = 0, all_wrong = 0;
  need(ncmpi_create(MPI_COMM_WORLD, "data.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
  need(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dims[0]), "dimension");
  need(ncmpi_def_dim(file, "x", (MPI_Offset)kWidth * ranks, &dims[1]), "dimension");
  need(ncmpi_def_var(file, "u", NC_DOUBLE, 2, dims, &record[0]), "variable");
  need(ncmpi_def_var(file, "v", NC_INT, 2, dims, &record[1]), "variable");
  need(ncmpi_def_var(file, "w", NC_SHORT, 1, &dims[1], &strided), "variable");
  need(ncmpi_enddef(file), "enddef");

  double u[kSteps][kWidth];
  int v[kSteps][kWidth], requests[2 * kSteps], states[2 * kSteps];
  short w[kWidth], back[kWidth];
  for (int step = 0; step < kSteps; ++step) {
    const MPI_Offset start[2] = {step, (MPI_Offset)kWidth * rank}, count[2] = {1, kWidth};
    for (int i = 0; i < kWidth; ++i) {
      u[step][i] = step + 0.001 * (kWidth * rank + i);
      v[step][i] = 1000000 * step + kWidth * rank + i;
    }
    need(ncmpi_iput_vara_double(file, record[0], start, count, u[step], &requests[2 * step]), "iput");
    need(ncmpi_iput_vara_int(file, record[1], start, count, v[step], &requests[2 * step + 1]), "iput");
  }
  need(ncmpi_wait_all(file, 2 * kSteps, requests, states), "wait_all");
  for (int i = 0; i < 2 * kSteps; ++i) need(states[i], "request");
  const MPI_Offset first = rank, number = kWidth, step_by = ranks;
  for (int i = 0; i < kWidth; ++i) w[i] = (short)(rank + i * ranks);
  need(ncmpi_put_vars_short_all(file, strided, &first, &number, &step_by, w), "put_vars");
  need(ncmpi_close(file), "close");

  need(ncmpi_open(MPI_COMM_WORLD, "data.nc", NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  const int other = (rank + 1) % ranks;
  for (int step = 0; step < kSteps; ++step) {
    const MPI_Offset start[2] = {step, (MPI_Offset)kWidth * other}, count[2] = {1, kWidth};
    need(ncmpi_get_vara_double_all(file, record[0], start, count, u[step]), "get");
    need(ncmpi_get_vara_int_all(file, record[1], start, count, v[step]), "get");
    for (int i = 0; i < kWidth; ++i) {
      wrong += u[step][i] != step + 0.001 * (kWidth * other + i);
      wrong += v[step][i] != 1000000 * step + kWidth * other + i;
    }
  }
  const MPI_Offset mine = (MPI_Offset)kWidth * rank;
  need(ncmpi_get_vara_short_all(file, strided, &mine, &number, back), "get");
  for (int i = 0; i < kWidth; ++i) wrong += back[i] != (short)(mine + i);
  need(ncmpi_close(file), "close");
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  ask_of_files();
  if (rank == 0) printf("wrong values %d\n", all_wrong);
  MPI_Finalize();
  return all_wrong != 0;
}
