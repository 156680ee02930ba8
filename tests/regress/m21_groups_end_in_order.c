// M21: two threads open their first files at once, on two duplicates of MPI_COMM_WORLD, and end their opens in another order on each rank. The
// counters of shared file pointers are in windows, as between nodes, whose end is collective: MPI_Finalize must not hang.
#include "check.h"

#include <pthread.h>
#include <time.h>

static MPI_Comm comms[2];
static pthread_barrier_t start;
static __thread int who = -1;
static int failed_opens;

// In front of the MPI's, which the library calls in an open: late on the first thread of odd ranks, and on the second of even ones.
int PMPI_Barrier(MPI_Comm comm) {
  static int (*real)(MPI_Comm);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Barrier");
  const struct timespec late = {0, 200000000};
  const int code = real(comm);
  if (who >= 0 && (ck_rank & 1) != who) nanosleep(&late, NULL);
  return code;
}

static void *opens(void *number) {
  char name[CK_NAME_BYTES];
  MPI_File fh;
  who = (int)(long)number;
  snprintf(name, sizeof name, "%s/m21.%d", ck_dir, who);
  pthread_barrier_wait(&start);
  const int code = MPI_File_open(comms[who], name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh);
  if (code == MPI_SUCCESS) MPI_File_close(&fh);
  else __atomic_add_fetch(&failed_opens, 1, __ATOMIC_RELAXED);
  who = -1;
  return NULL;
}

static void threads_open_first_files(void) {
  pthread_t threads[2];
  pthread_barrier_init(&start, NULL, 2);
  for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, opens, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; i++) MPI_Comm_free(&comms[i]);
  CHECK_INT(failed_opens, 0);
}

// If two threads make windows at once, Open MPI 5 crashes in its osc/ucx, and now and then MPICH 5 in MPI_Finalize, where UCX cleans up.
static int crashes_by_itself(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  return strstr(version, "Open MPI v5") || strstr(version, "MPICH Version:      5") || strstr(version, "MPICH Version: 5");
}

int main(int argc, char **argv) {
  int provided;
  setenv("MERCUTIO_SHARED_POINTER", "window", 1);
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (ck_is_mercutio() && provided == MPI_THREAD_MULTIPLE && !crashes_by_itself()) RUN(threads_open_first_files);
  return ck_finish();
}
