// P10: few collective calls of the MPI for a file. Once the ranks are known, opening takes one and closing none, whatever the program's communicator is. What
// else the ranks agree on goes through the memory of their node.
#include "check.h"

static int calls;
#define COUNTED(name, parameters, arguments)                               \
  int name parameters {                                                    \
    int (*real) parameters = (int (*) parameters)dlsym(RTLD_NEXT, #name); \
    calls++;                                                               \
    return real arguments;                                                 \
  }
COUNTED(PMPI_Comm_dup, (MPI_Comm comm, MPI_Comm *result), (comm, result))
COUNTED(PMPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *result), (comm, color, key, result))
COUNTED(PMPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *result), (comm, type, key, info, result))
COUNTED(PMPI_Barrier, (MPI_Comm comm), (comm))
COUNTED(PMPI_Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm comm), (data, count, type, root, comm))
COUNTED(PMPI_Allreduce, (const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), (mine, all, count, type, op, comm))
COUNTED(PMPI_Allgather, (const void *mine, int sent, MPI_Datatype type, void *all, int received, MPI_Datatype types, MPI_Comm comm),
        (mine, sent, type, all, received, types, comm))
COUNTED(PMPI_Isend, (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request),
        (data, count, type, to, tag, comm, request))

enum { kFirst = 4, kRounds = 8 };

static void open_and_close(MPI_Comm comm, const char *name, int amode, int most) {
  MPI_File fh;
  calls = 0;
  CHECK_OK(MPI_File_open(comm, name, amode, MPI_INFO_NULL, &fh));
  CHECK(calls <= most);
  if (calls > most) printf("rank %d: %d calls, at most %d expected\n", ck_rank, calls, most);
  calls = 0;
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(calls, 0);
}

static void first_open(void) { open_and_close(MPI_COMM_WORLD, ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR, kFirst); }

static void on_one_communicator(void) {
  const char *name = ck_fresh("f");
  for (int i = 0; i < kRounds; i++) open_and_close(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, 1);
  for (int i = 0; i < kRounds; i++) open_and_close(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_APPEND, 1);
  open_and_close(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, 1);
}

static void on_duplicates(void) {
  const char *name = ck_fresh("f");
  for (int i = 0; i < kRounds; i++) {
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    open_and_close(dup, name, MPI_MODE_CREATE | MPI_MODE_RDWR, 1);
    MPI_Comm_free(&dup);
  }
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) {
    RUN(first_open);
    RUN(on_one_communicator);
    RUN(on_duplicates);
  }
  return ck_finish();
}
