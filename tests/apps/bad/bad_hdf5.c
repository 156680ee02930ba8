/* An HDF5 program that writes a column of a table from each rank, independently: HDF5 then makes a call of each row. bad_hdf5 FILE [1]. With 1
   the transfer is collective. BAD_SCALE as in bad.c. */
#include <hdf5.h>

#include "columns.h"

static void write_columns(const char* name, int collective, int rank, int ranks) {
  double* data = calloc((size_t)kRows * kWidth, sizeof *data);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  if (collective) H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hsize_t size[2] = {kRows, (hsize_t)kWidth * ranks}, start[2] = {0, (hsize_t)kWidth * rank}, count[2] = {kRows, kWidth};
  const hid_t space = H5Screate_simple(2, size, NULL), memory = H5Screate_simple(2, count, NULL);
  const hid_t table = H5Dcreate2(file, "table", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
  if (H5Dwrite(table, H5T_NATIVE_DOUBLE, memory, space, transfer, data) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
  H5Dclose(table), H5Sclose(space), H5Sclose(memory), H5Fclose(file), H5Pclose(access), H5Pclose(transfer);
  free(data);
}
