// P14: the threads of a rank open their files on a communicator of that rank alone at once, when nothing is known of it yet.
#include "check.h"

#include <pthread.h>

enum { kThreads = 6, kRounds = 6, kTries = 8 };
static pthread_barrier_t begin;
static MPI_Comm comm;

// Time passes between what a thread finds out about a communicator and what it does then.
int PMPI_Comm_get_attr(MPI_Comm from, int key, void *value, int *flag) {
  static int (*real)(MPI_Comm, int, void *, int *);
  static unsigned number;
  if (!real) real = (int (*)(MPI_Comm, int, void *, int *))dlsym(RTLD_NEXT, "PMPI_Comm_get_attr");
  const int code = real(from, key, value, flag);
  if (from == comm) usleep(__atomic_fetch_add(&number, 1, __ATOMIC_RELAXED) * 2654435761u % 3000);
  return code;
}

static void *open_and_close(void *name) {
  long wrong = 0;
  pthread_barrier_wait(&begin);
  for (int round = 0; round < kRounds; round++) {
    MPI_File fh;
    char mine[8], got[8];
    if (MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) != MPI_SUCCESS) return (void *)1000;
    memset(mine, 'a' + round, sizeof mine);
    wrong += MPI_File_write_at(fh, 0, mine, 8, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    wrong += MPI_File_read_at(fh, 0, got, 8, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS || memcmp(mine, got, 8) != 0;
    wrong += MPI_File_close(&fh) != MPI_SUCCESS;
  }
  return (void *)wrong;
}

static void threads_at_once(void) {
  static char name[kThreads][4096];
  pthread_t thread[kThreads];
  pthread_barrier_init(&begin, NULL, kThreads);
  for (int i = 0; i < kThreads; i++) {
    char tag[32];
    snprintf(tag, sizeof tag, "f%d_%d", ck_rank, i);
    snprintf(name[i], sizeof name[i], "%s", ck_path(tag));
  }
  for (int go = 0; go < kTries; go++) {
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (int i = 0; i < kThreads; i++) CHECK_INT(pthread_create(&thread[i], NULL, open_and_close, name[i]), 0);
    for (int i = 0; i < kThreads; i++) {
      void *wrong = NULL;
      CHECK_INT(pthread_join(thread[i], &wrong), 0);
      CHECK_INT((long)wrong, 0);
    }
    MPI_Comm_free(&comm);
  }
}

// In memory that is overwritten when it is freed.
int main(int argc, char **argv) {
  int provided;
  if (!getenv("GLIBC_TUNABLES")) {
    setenv("GLIBC_TUNABLES", "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0", 1);
    execv("/proc/self/exe", argv);
  }
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (ck_is_mercutio() && provided == MPI_THREAD_MULTIPLE) RUN(threads_at_once);
  return ck_finish();
}
