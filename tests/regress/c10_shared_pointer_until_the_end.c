// C10: the thread of rank 0 that answers for the window of the shared file pointer makes no call of MPI in MPI_Finalize, in which MPICH takes no
// lock. Calls that other threads make of UCX, below MPICH, take long here, so that such a call would be met.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>

#include "check.h"

unsigned ucp_worker_progress(void *worker) {
  static unsigned (*real)(void *);
  if (!real) real = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
  if (syscall(SYS_gettid) != getpid()) usleep(20000);
  return real ? real(worker) : 0;
}

static void the_pointer_changes_last(void) {
  const char *name = ck_fresh("f");
  char byte = 'a';
  MPI_File fh;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
  for (int i = 0; i < 50; ++i) {
    usleep(2000);
    CHECK_OK(MPI_File_write_shared(fh, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  setenv("MERCUTIO_SHARED_POINTER", "window", 1);
  ck_init(&argc, &argv);
  if (ck_size > 1) RUN(the_pointer_changes_last);
  return ck_finish();
}
