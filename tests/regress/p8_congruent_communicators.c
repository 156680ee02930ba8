// P8: files on duplicates of a communicator, as HDF5 and PnetCDF open them. After the first open on duplicates of MPI_COMM_WORLD, opening makes
// no communicator and no window. What one of another communicator uses is given back with it. Files and communicators may go in any order, and threads may open files on several duplicates at once.
#include "check.h"

#include <pthread.h>

enum { kDups = 12, kThreads = 3, kRounds = 20, kBytes = 512 };

// Calls by which an MPI makes something that it has few of.
static int made, freed;
#define COUNTED(name, parameters, arguments)                               \
  int name parameters {                                                    \
    int (*real) parameters = (int (*) parameters)dlsym(RTLD_NEXT, #name); \
    made++;                                                                \
    return real arguments;                                                 \
  }
COUNTED(PMPI_Comm_dup, (MPI_Comm comm, MPI_Comm *result), (comm, result))
COUNTED(PMPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *result), (comm, color, key, result))
COUNTED(PMPI_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *result), (comm, type, key, info, result))
COUNTED(PMPI_Win_allocate, (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window),
        (bytes, unit, info, comm, base, window))

int PMPI_Comm_free(MPI_Comm *comm) {
  int (*real)(MPI_Comm *) = (int (*)(MPI_Comm *))dlsym(RTLD_NEXT, "PMPI_Comm_free");
  freed++;
  return real(comm);
}

static void use(MPI_File fh) {
  char mine[kBytes], got[kBytes] = {0};
  memset(mine, 'a' + ck_rank, sizeof mine);
  CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)kBytes * ck_rank, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, (MPI_Offset)kBytes * ck_rank, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(mine, got, sizeof mine) == 0);
}

// Each rank writes its number once by the shared pointer: the file has all of them.
static void use_shared(MPI_File fh, MPI_Comm comm) {
  int all[64] = {0}, sum = 0;
  CHECK_OK(MPI_File_write_shared(fh, &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(comm);
  CHECK_OK(MPI_File_sync(fh));
  CHECK_OK(MPI_File_read_at_all(fh, 0, all, ck_size, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 0; i < ck_size; i++) sum += all[i];
  CHECK_INT(sum, ck_size * (ck_size - 1) / 2);
}

static MPI_File open_on(MPI_Comm comm, const char *name) {
  MPI_File fh = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  return fh;
}

static void opening_makes_nothing(void) {
  const char *name = ck_fresh("f");
  MPI_Comm dup[kDups];
  MPI_File fh;
  for (int i = 0; i < kDups; i++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &dup[i]);
    made = 0;
    fh = open_on(dup[i], name);
    if (i > 0) CHECK_INT(made, 0);
    if (i % 2) MPI_Comm_free(&dup[i]);   // before the file goes
    use(fh);
    CHECK_OK(MPI_File_close(&fh));
    if (!(i % 2)) MPI_Comm_free(&dup[i]);
  }
}

// Closed in another order than opened, more of them than are kept in memory.
static void several_at_once(void) {
  char name[kDups][4096];
  MPI_Comm dup[kDups];
  MPI_File fh[kDups];
  for (int i = 0; i < kDups; i++) {
    char base[16];
    snprintf(base, sizeof base, "f%d", i);
    snprintf(name[i], sizeof name[i], "%s", ck_fresh(base));
  }
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < kDups; i++) {
      MPI_Comm_dup(MPI_COMM_WORLD, &dup[i]);
      MPI_File_delete(name[i], MPI_INFO_NULL);
      MPI_Barrier(MPI_COMM_WORLD);
      fh[i] = open_on(dup[i], name[i]);
    }
    for (int i = 0; i < kDups; i++) use_shared(fh[i], dup[i]);
    for (int i = 0; i < kDups; i++) use(fh[(5 * i + round) % kDups]);
    for (int i = 0; i < kDups; i++) {
      const int other = (7 * i + round) % kDups;
      CHECK_OK(MPI_File_close(&fh[other]));
      MPI_Comm_free(&dup[other]);
    }
  }
}

// The same ranks in another order, and some of them, are other groups.
static void other_ranks(void) {
  const char *name = ck_fresh("f");
  MPI_Comm other;
  MPI_File fh;
  for (int round = 0; round < 3; round++) {
    MPI_Comm_split(MPI_COMM_WORLD, 0, -ck_rank, &other);
    fh = open_on(other, name);
    use(fh);
    CHECK_OK(MPI_File_close(&fh));
    MPI_Comm_free(&other);
    MPI_Comm_split(MPI_COMM_WORLD, ck_rank % 2, ck_rank, &other);
    fh = open_on(other, name);
    use(fh);
    CHECK_OK(MPI_File_close(&fh));
    MPI_Comm_free(&other);
    fh = open_on(MPI_COMM_SELF, name);
    CHECK_OK(MPI_File_close(&fh));
  }
}

// Each duplicate of a communicator of some ranks has one communicator of the library's, however many files are opened on it.
static void duplicates_of_some_ranks(void) {
  char name[CK_NAME_BYTES], tag[16];
  MPI_Comm some, dup;
  snprintf(tag, sizeof tag, "f%d", ck_rank % 2);
  snprintf(name, sizeof name, "%s", ck_path(tag));
  MPI_Comm_split(MPI_COMM_WORLD, ck_rank % 2, ck_rank, &some);
  for (int i = 0; i < kDups; i++) {
    MPI_Comm_dup(some, &dup);
    const int before = made - freed;
    for (int file = 0; file < 3; file++) {
      MPI_File fh = open_on(dup, name);
      CHECK_OK(MPI_File_close(&fh));
      if (file == 0) CHECK_INT(made - freed - before, 1);
      if (file == 0) made = freed = 0;
    }
    CHECK_INT(made, 0);
    MPI_Comm_free(&dup);
    CHECK_INT(freed, 1);
  }
  MPI_Comm_free(&some);
}

typedef struct {
  MPI_Comm comm;
  const char *name;
  int number, wrong;
} Work;

static void *open_and_close(void *argument) {
  Work *work = argument;
  for (int round = 0; round < kRounds; round++) {
    MPI_Comm dup;
    MPI_File fh;
    char mine[kBytes], got[kBytes] = {0};
    if ((ck_rank + work->number + round) % 3 == 0) usleep(300);
    MPI_Comm_dup(work->comm, &dup);
    memset(mine, 'a' + ck_rank + 8 * work->number, sizeof mine);
    work->wrong += MPI_File_open(dup, work->name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) != MPI_SUCCESS;
    work->wrong += MPI_File_write_at_all(fh, (MPI_Offset)kBytes * ck_rank, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    work->wrong += MPI_File_read_at_all(fh, (MPI_Offset)kBytes * ck_rank, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    work->wrong += memcmp(mine, got, sizeof mine) != 0;
    work->wrong += MPI_File_close(&fh) != MPI_SUCCESS;
    MPI_Comm_free(&dup);
  }
  return NULL;
}

// The threads of a rank open in an order of their own.
static void threads_at_once(void) {
  static char name[kThreads][4096];
  pthread_t thread[kThreads];
  Work work[kThreads];
  for (int i = 0; i < kThreads; i++) {
    char base[16];
    snprintf(base, sizeof base, "t%d", i);
    snprintf(name[i], sizeof name[i], "%s", ck_fresh(base));
    work[i] = (Work){.name = name[i], .number = i};
    MPI_Comm_dup(MPI_COMM_WORLD, &work[i].comm);
  }
  for (int i = 0; i < kThreads; i++) CHECK_INT(pthread_create(&thread[i], NULL, open_and_close, &work[i]), 0);
  for (int i = 0; i < kThreads; i++) {
    CHECK_INT(pthread_join(thread[i], NULL), 0);
    CHECK_INT(work[i].wrong, 0);
    MPI_Comm_free(&work[i].comm);
  }
}

int main(int argc, char **argv) {
  int provided;
#ifdef BETWEEN_NODES
  setenv("MPIR_CVAR_ODD_EVEN_CLIQUES", "1", 1);
#endif
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (ck_is_mercutio()) RUN(opening_makes_nothing);
  RUN(several_at_once);
  RUN(other_ranks);
  if (ck_is_mercutio()) RUN(duplicates_of_some_ranks);
  if (ck_is_mercutio() && provided == MPI_THREAD_MULTIPLE) RUN(threads_at_once);
  return ck_finish();
}
