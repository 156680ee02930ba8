/* A small parallel HDF5 program: contiguous and chunked datasets, collective and independent transfers, strided hyperslabs,
 * an attribute, then everything read back under another decomposition. Prints sums that do not depend on who did the I/O. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 96, kColumns = 60 };

static int rank, ranks;

static void need(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s failed\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double cell(hsize_t row, hsize_t column) { return 1000.0 * (double)row + (double)column; }

/* Rows rank, rank + ranks, ... of a kRows x kColumns dataset. */
static hid_t own_rows(hid_t space, hsize_t* count) {
  hsize_t start[2] = {(hsize_t)rank, 0}, stride[2] = {(hsize_t)ranks, 1}, block[2] = {1, kColumns};
  hsize_t number[2] = {((hsize_t)kRows - start[0] + (hsize_t)ranks - 1) / (hsize_t)ranks, 1};
  need(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, number, block) >= 0, "select");
  *count = number[0] * kColumns;
  return H5Screate_simple(1, count, NULL);
}

static void write_dataset(hid_t file, const char* name, int chunked, H5FD_mpio_xfer_t transfer) {
  hsize_t size[2] = {kRows, kColumns}, chunk[2] = {7, 11}, count;
  hid_t space = H5Screate_simple(2, size, NULL), layout = H5Pcreate(H5P_DATASET_CREATE);
  if (chunked) need(H5Pset_chunk(layout, 2, chunk) >= 0, "chunk");
  H5Pset_obj_track_times(layout, 0);
  hid_t set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
  need(set >= 0, "create");
  hid_t memory = own_rows(space, &count), how = H5Pcreate(H5P_DATASET_XFER);
  double* data = malloc(count * sizeof *data);
  for (hsize_t i = 0; i < count; ++i) data[i] = cell((hsize_t)rank + i / kColumns * (hsize_t)ranks, i % kColumns);
  H5Pset_dxpl_mpio(how, transfer);
  need(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, how, data) >= 0, "write");
  free(data);
  H5Pclose(how), H5Sclose(memory), H5Dclose(set), H5Pclose(layout), H5Sclose(space);
}

/* Columns are divided this time. */
static double read_dataset(hid_t file, const char* name, H5FD_mpio_xfer_t transfer, int* wrong) {
  hid_t set = H5Dopen2(file, name, H5P_DEFAULT), how = H5Pcreate(H5P_DATASET_XFER);
  need(set >= 0, "open");
  hid_t space = H5Dget_space(set);
  hsize_t from = (hsize_t)kColumns * (hsize_t)rank / (hsize_t)ranks, to = (hsize_t)kColumns * (hsize_t)(rank + 1) / (hsize_t)ranks;
  hsize_t start[2] = {0, from}, number[2] = {kRows, to - from}, count = number[0] * number[1];
  need(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, number, NULL) >= 0, "select");
  hid_t memory = H5Screate_simple(1, &count, NULL);
  double *data = malloc(count * sizeof *data), sum = 0, total = 0;
  H5Pset_dxpl_mpio(how, transfer);
  need(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, how, data) >= 0, "read");
  for (hsize_t i = 0; i < count; ++i) {
    *wrong += data[i] != cell(i / number[1], from + i % number[1]);
    sum += data[i];
  }
  MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  free(data);
  H5Pclose(how), H5Sclose(memory), H5Sclose(space), H5Dclose(set);
  return total;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  hid_t file = H5Fcreate("data.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  need(file >= 0, "create file");
  write_dataset(file, "contiguous_collective", 0, H5FD_MPIO_COLLECTIVE);
  write_dataset(file, "contiguous_independent", 0, H5FD_MPIO_INDEPENDENT);
  write_dataset(file, "chunked_collective", 1, H5FD_MPIO_COLLECTIVE);
  hid_t scalar = H5Screate(H5S_SCALAR), note = H5Acreate2(file, "ranks", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
  int value = ranks, back = 0, wrong = 0, all_wrong = 0;
  need(H5Awrite(note, H5T_NATIVE_INT, &value) >= 0, "attribute");
  H5Aclose(note), H5Sclose(scalar);
  need(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0, "flush");
  need(H5Fclose(file) >= 0, "close");

  file = H5Fopen("data.h5", H5F_ACC_RDONLY, access);
  need(file >= 0, "open file");
  static const char* const kNames[] = {"contiguous_collective", "contiguous_independent", "chunked_collective"};
  for (int i = 0; i < 3; ++i) {
    const double collective = read_dataset(file, kNames[i], H5FD_MPIO_COLLECTIVE, &wrong);
    const double independent = read_dataset(file, kNames[i], H5FD_MPIO_INDEPENDENT, &wrong);
    if (rank == 0) printf("%s %.1f %.1f\n", kNames[i], collective, independent);
  }
  note = H5Aopen(file, "ranks", H5P_DEFAULT);
  need(H5Aread(note, H5T_NATIVE_INT, &back) >= 0, "read attribute");
  H5Aclose(note), H5Fclose(file), H5Pclose(access);
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("attribute %d, wrong values %d\n", back, all_wrong);
  MPI_Finalize();
  return all_wrong != 0;
}
