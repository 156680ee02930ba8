// P13: a program that opens files on many communicators of its own, which it keeps: what the files used is given back when they are
// closed, so the MPI does not run out of communicators, and each rank's address space stays small.
#include "check.h"

enum { kComms = 40, kSome = 20 };   // kSome: more than groups are kept

// Communicators that there are.
static int live;
#define COUNTED(name, by, parameters, arguments)                            \
  int name parameters {                                                     \
    int (*real) parameters = (int (*) parameters)dlsym(RTLD_NEXT, #name);  \
    live += by;                                                             \
    return real arguments;                                                  \
  }
COUNTED(PMPI_Comm_dup, 1, (MPI_Comm comm, MPI_Comm *result), (comm, result))
COUNTED(PMPI_Comm_split, 1, (MPI_Comm comm, int color, int key, MPI_Comm *result), (comm, color, key, result))
COUNTED(PMPI_Comm_split_type, 1, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *result), (comm, type, key, info, result))
COUNTED(PMPI_Comm_free, -1, (MPI_Comm * comm), (comm))

static long mapped_mib(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld", &pages) != 1) pages = 0;
  if (f) fclose(f);
  return pages / (1024 * 1024 / sysconf(_SC_PAGESIZE));
}

static void use_part(MPI_Comm comm, const char *name) {
  MPI_File fh;
  int rank = 0;
  char mine[8], got[8] = {0};
  MPI_Comm_rank(comm, &rank);
  if (!CHECK_OK(MPI_File_open(comm, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh))) return;
  memset(mine, 'a' + ck_rank, sizeof mine);
  CHECK_OK(MPI_File_write_at_all(fh, 8 * rank, mine, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, 8 * rank, got, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(!memcmp(mine, got, 8));
  CHECK_OK(MPI_File_close(&fh));
}

static void communicators_are_left(void) {
  static MPI_Comm comm[kComms];
  const char *name = ck_fresh("f");
  long mapped = 0;
  live = 0;
  for (int i = 0; i < kComms; i++) {
    if (i == kSome) mapped = mapped_mib();
    MPI_Comm_split(MPI_COMM_WORLD, 0, ck_rank, &comm[i]);
    use_part(comm[i], name);
  }
  CHECK(live > 0);   // it is the library's communicators that are counted
  CHECK(live < kSome);
  CHECK(mapped_mib() - mapped < 100);
  for (int i = 0; i < kComms; i++) MPI_Comm_free(&comm[i]);
  CHECK_INT(live, 0);
}

// MPI_Init makes no communicator; MPICH allots the first eight from memory that it has, and more take a long time. All files, and types, which
// are asked whether they are committed, need one.
static void one_for_all_files(void) {
  const char *name = ck_fresh("one");
  MPI_Datatype type;
  MPI_File fh;
  int data[3] = {0, 0, 0};
  if (ck_is_mercutio()) CHECK_INT(live, 0);
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  use_part(MPI_COMM_WORLD, name);
  if (CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_RDWR, MPI_INFO_NULL, &fh))) {
    CHECK_CLASS(MPI_File_read_at(fh, 0, data, 1, type, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    MPI_Type_commit(&type);
    CHECK_OK(MPI_File_read_at(fh, 0, data, 1, type, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_close(&fh));
  }
  MPI_Type_free(&type);
  if (ck_is_mercutio()) CHECK_INT(live, 1);
}

// Several files at once, opened again, freed while their file is open; of all ranks, and of some.
static void in_any_order(void) {
  static MPI_Comm comm[kSome];
  static MPI_File fh[kSome];
  static char name[kSome][4096];
  for (int i = 0; i < kSome; i++) {
    char tag[32];
    const int color = i % 3 ? 0 : ck_rank % 2;
    snprintf(tag, sizeof tag, "%d_%d", i, color);
    snprintf(name[i], sizeof name[i], "%s", ck_path(tag));
    MPI_Comm_split(MPI_COMM_WORLD, color, ck_rank, &comm[i]);
  }
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < kSome; i++) use_part(comm[(7 * i + round) % kSome], name[(7 * i + round) % kSome]);
    for (int i = 0; i < kSome; i++) {
      CHECK_OK(MPI_File_open(comm[i], name[i], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh[i]));
      use_part(comm[i], name[i]);   // while another file is open
      if (round == 1) MPI_Comm_free(&comm[i]);
    }
    for (int i = 0; i < kSome; i++) CHECK_OK(MPI_File_close(&fh[(7 * i + round) % kSome]));
  }
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(one_for_all_files);
  RUN(in_any_order);
  if (ck_is_mercutio()) RUN(communicators_are_left);
  return ck_finish();
}
