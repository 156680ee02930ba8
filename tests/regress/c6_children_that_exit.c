// C6: a process that the program forks, which ends by exit(), leaves the files of its parent alone. It has a copy of what the parent keeps of its writes, and of
// the locks that the parent's other threads hold.
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>

enum { kBlock = 64, kBlocks = 100, kBytes = kBlock * kBlocks, kChildren = 200 };

static void write_blocks(MPI_File fh, char letter) {
  char block[kBlock];
  memset(block, letter, kBlock);
  for (int i = 0; i < kBlocks; i++) CHECK_OK(MPI_File_write_at(fh, kBlock * i, block, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
}

static MPI_File open_keeping_writes(const char *name) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_write_behind", "enable");
  if (!CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh))) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Info_free(&info);
  return fh;
}

static void child_with_old_writes(void) {
  char tag[20], fresh[kBytes], byte = 'x';
  int ends[2], status = -1;
  snprintf(tag, sizeof tag, "f%d", ck_rank);
  const char *name = ck_path(tag);
  ck_remove(name);
  MPI_File fh = open_keeping_writes(name);
  write_blocks(fh, 'o');
  if (!CHECK_INT(pipe(ends), 0)) return;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
  }
  CHECK_OK(MPI_File_sync(fh));
  write_blocks(fh, 'n');
  CHECK_OK(MPI_File_sync(fh));
  CHECK_INT(write(ends[1], &byte, 1), 1);
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK_INT(status, 0);
  close(ends[0]);
  close(ends[1]);
  memset(fresh, 'n', kBytes);
  CHECK_BYTES(name, 0, fresh, kBytes);
  CHECK_OK(MPI_File_close(&fh));
}

static MPI_File looked_up;
static volatile int stop;

static void *look_up(void *unused) {
  (void)unused;
#ifdef MPI_ABI
  while (!stop) (void)MPI_File_fromint(MPI_File_toint(looked_up));
#else
  while (!stop) (void)MPI_File_f2c(MPI_File_c2f(looked_up));
#endif
  return NULL;
}

static int ends_soon(pid_t child) {
  for (int i = 0; i < 20000; i++) {
    if (waitpid(child, NULL, WNOHANG) == child) return 1;
    usleep(1000);
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}

static void child_beside_threads(void) {
  enum { kThreads = 2 };
  pthread_t threads[kThreads];
  MPI_File fh = ck_create("f");
  looked_up = fh;
  stop = 0;
  if (ck_rank == 0) {
    for (int i = 0; i < kThreads; i++) CHECK_INT(pthread_create(&threads[i], NULL, look_up, NULL), 0);
    for (int i = 0; i < kChildren; i++) {
      fflush(NULL);
      const pid_t child = fork();
      if (child == 0) exit(0);
      if (!CHECK(child > 0 && ends_soon(child))) break;
    }
    stop = 1;
    for (int i = 0; i < kThreads; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
  }
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  int provided;
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  RUN(child_with_old_writes);
  if (provided == MPI_THREAD_MULTIPLE) RUN(child_beside_threads);
  return ck_finish();
}
