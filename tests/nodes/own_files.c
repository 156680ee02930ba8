// A name that stands for a file of each node's own: writing through it would spread the data over them, reading copies is fine.
#include "check.h"

enum { kBytes = 100 };

int main(int argc, char **argv) {
  char name[64], byte = 0;
  int pid = (int)getpid();
  MPI_File fh;
  MPI_Info info;
  ck_init(&argc, &argv);
  ck_case = "own_files";
  MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(name, sizeof name, "/dev/shm/mercutio-own-%d", pid);
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh), MPI_ERR_NOT_SAME);
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_coherence", "none");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Info_free(&info);

  FILE *copy = fopen(name, "w");   // ranks of one node write the same
  for (int i = 0; i < kBytes; i++) fputc('c', copy);
  fclose(copy);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_read_at_all(fh, ck_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_INT(byte, 'c');
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  unlink(name);
  return ck_finish();
}
