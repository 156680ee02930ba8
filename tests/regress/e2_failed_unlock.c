// E2: a lock that can't be given back is an error of the call that held it, on all ranks where the call is collective, and
// nobody waits for it. Unlocking fails on the last rank, by a filter of its system calls.
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { kBytes = 128 * 1024 };   // shorter plain writes take no lock unless a rank sieves

static int ck_victim(void) { return ck_size - 1; }

// fcntl(F_OFD_SETLK), which only gives locks back here, fails from now on, in all threads. 0: there are no such filters.
static int refuse_unlocks(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_SETLK, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

static MPI_File open_with(const char *name, int atomic) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_ds_write", "enable");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  MPI_Info_free(&info);
  CHECK_OK(MPI_File_set_atomicity(fh, atomic));
  return fh;
}

// What the others do with the same bytes afterwards. The file of the rank that failed can't be relied on.
static void go_on(MPI_File fh) {
  unsigned char data[kBytes];
  MPI_Status status;
  MPI_Barrier(MPI_COMM_WORLD);
  memset(data, 'o', sizeof data);
  if (ck_rank != ck_victim()) CHECK_OK(MPI_File_write_at(fh, 0, data, kBytes, MPI_BYTE, &status));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&fh);
}

static void alone(void) {
  unsigned char data[kBytes];
  MPI_Status status;
  MPI_File fh = open_with(ck_fresh("f"), 1);
  memset(data, 'v', sizeof data);
  if (ck_rank == ck_victim()) CHECK_ERROR(MPI_File_write_at(fh, 0, data, kBytes, MPI_BYTE, &status));
  go_on(fh);
}

static void together(void) {
  unsigned char data[kBytes];
  MPI_Status status;
  MPI_File fh = open_with(ck_fresh("f"), 1);
  memset(data, 'v', sizeof data);
  int code = MPI_File_write_at_all(fh, 0, data, kBytes, MPI_BYTE, &status);
  CHECK(code != MPI_SUCCESS);
  CHECK_SAME(code);
  go_on(fh);
}

static void plain(void) {   // plain writers lock against ranks that read, change and write back, where a view has holes
  unsigned char data[kBytes];
  MPI_Status status;
  MPI_Datatype block, type;
  MPI_File fh = open_with(ck_fresh("f"), 0);
  MPI_Type_contiguous(kBytes, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, 2 * kBytes, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&block);
  MPI_Type_free(&type);
  memset(data, 'v', sizeof data);
  if (ck_size > 1 && ck_rank == ck_victim()) CHECK_ERROR(MPI_File_write_at(fh, 0, data, kBytes, MPI_BYTE, &status));
  go_on(fh);
}

int main(int argc, char **argv) {
  int here, everywhere;
  ck_init(&argc, &argv);
  here = ck_rank != ck_victim() || refuse_unlocks();
  MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (everywhere) {
    RUN(alone);
    RUN(together);
    RUN(plain);
  }
  return ck_finish();
}
