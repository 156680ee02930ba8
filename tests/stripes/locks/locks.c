// Aggregators that share a server: whether they lock ahead, and what that is good for. 4 ranks, each a client of its own, and 2 servers
// (tests/tools/striped_servers.c, which ends the program where Lustre would refuse an argument).
#include "../open_with.h"

#include <dlfcn.h>
#include <stdint.h>
#include <sys/stat.h>

enum { kRanks = 4, kStripe = 65536, kBlock = 4096, kBlocks = 256, kSteps = 3 };   // blocks of a rank; a step is 64 stripes

typedef struct {
  int64_t requests, revocations, ahead, refused, groups;
} Locks;

static Locks now(void) {
  void (*tell)(int64_t[5]) = (void (*)(int64_t[5]))dlsym(RTLD_DEFAULT, "striped_servers_locks");
  int64_t counts[5] = {0};
  CHECK(tell != NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (tell) tell(counts);
  MPI_Barrier(MPI_COMM_WORLD);
  return (Locks){counts[0], counts[1], counts[2], counts[3], counts[4]};
}

static Locks since(Locks before) {
  const Locks after = now();
  return (Locks){after.requests - before.requests, after.revocations - before.revocations, after.ahead - before.ahead,
                 after.refused - before.refused, after.groups - before.groups};
}

static const char *fresh(const char *tag) {
  static char name[4096];
  long long id = getpid();
  MPI_Bcast(&id, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  snprintf(name, sizeof name, "%s/%s.%lld", getenv("MERCUTIO_SERVERS_ROOT"), tag, id);
  return name;
}

static unsigned char byte_at(long long place, int step) { return (unsigned char)(1 + (place / 97 + place * 31 + step * 11) % 251); }

// All ranks write blocks in turn, one step after the other, and read them.
static void write_steps(MPI_File fh) {
  enum { kBytes = kBlock * kBlocks };
  static unsigned char data[kBytes], back[kBytes];
  MPI_Datatype blocks, type;
  MPI_Type_vector(kBlocks, kBlock, kBlock * ck_size, MPI_BYTE, &blocks);
  MPI_Type_create_resized(blocks, 0, (MPI_Aint)kBytes * ck_size, &type);   // one step of all ranks
  MPI_Type_free(&blocks);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)kBlock * ck_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  for (int step = 0; step < kSteps; step++) {
    for (int i = 0; i < kBytes; i++) data[i] = byte_at(i + (long long)kBytes * ck_rank, step);
    CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)step * kBytes, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  for (int step = 0; step < kSteps; step++) {
    for (int i = 0; i < kBytes; i++) data[i] = byte_at(i + (long long)kBytes * ck_rank, step);
    CHECK_OK(MPI_File_read_at_all(fh, (MPI_Offset)step * kBytes, back, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(!memcmp(data, back, kBytes));
  }
  MPI_Type_free(&type);
}

#define COMMON "striping_unit", "65536", "striping_factor", "2", "romio_cb_write", "enable", "romio_ds_write", "disable", "cb_buffer_size", "65536"
#define SHARED COMMON, "cb_nodes", "4", "romio_lustre_co_ratio", "2"

// What the writes of a new file do to locks; the reads of each aggregator are its own stripes.
static Locks locks_of(const char *tag, const char *const *hints) {
  const char *name = fresh(tag);
  const Locks before = now();
  MPI_File fh = open_with(name, hints);
  write_steps(fh);
  CHECK_OK(MPI_File_close(&fh));
  const Locks locks = since(before);
  if (ck_rank == 0) CHECK_OK(MPI_File_delete((char *)name, MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  return locks;
}

static int client_knows(void) {
  const char *knows = getenv("MERCUTIO_SERVERS_AHEAD");
  return !knows || atoi(knows);
}

static void shared_servers_are_locked_ahead(void) {
  static const char *const hints[] = {SHARED, NULL};
  const Locks locks = locks_of("shared", hints);
  if (!client_knows()) {
    CHECK_INT(locks.ahead, 0);
    return;
  }
  CHECK_INT(locks.ahead, kSteps * kBlock * kBlocks * kRanks / kStripe);   // each stripe once
  CHECK_INT(locks.refused, 0);
  CHECK_INT(locks.revocations, 0);
  CHECK_INT(locks.groups, 1);
}

static void without_it_locks_are_called_back(void) {
  static const char *const hints[] = {SHARED, "mercutio_lock_ahead", "disable", NULL};
  const Locks locks = locks_of("grown", hints);
  CHECK_INT(locks.ahead, 0);
  CHECK_INT(locks.groups, 0);
  CHECK(locks.revocations > 0);
}

static void own_servers_need_none(void) {
  static const char *const hints[] = {COMMON, "cb_nodes", "2", NULL}, *const asked[] = {COMMON, "cb_nodes", "2", "mercutio_lock_ahead", "enable", NULL};
  Locks locks = locks_of("own", hints);
  CHECK_INT(locks.ahead, 0);
  CHECK_INT(locks.groups, 0);
  CHECK_INT(locks.revocations, 0);
  locks = locks_of("own_asked", asked);
  CHECK_INT(locks.ahead, 0);
  CHECK_INT(locks.revocations, 0);
}

// Even shares meet on each server.
static void other_domains_where_asked(void) {
  static const char *const usual[] = {COMMON, "cb_nodes", "4", "mercutio_domains", "aligned", NULL};
  static const char *const asked[] = {COMMON, "cb_nodes", "4", "mercutio_domains", "aligned", "mercutio_lock_ahead", "enable", NULL};
  CHECK_INT(locks_of("aligned", usual).ahead, 0);
  const Locks locks = locks_of("aligned_asked", asked);
  if (client_knows()) CHECK(locks.ahead > 0 && locks.refused == 0);
}

// Locks that another open of the file has left, which have grown, don't keep aggregators from locking ahead.
static void earlier_locks_are_called_back_at_open(void) {
  static const char *const hints[] = {SHARED, NULL}, *const first[] = {COMMON, NULL};
  const char *name = fresh("earlier");
  MPI_File fh = open_with(name, first);
  if (ck_rank == 3) CHECK_OK(MPI_File_write_at(fh, 0, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  const Locks before = now();
  fh = open_with(name, hints);
  const Locks opened = since(before);
  write_steps(fh);
  const Locks locks = since(before);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(opened.groups, 1);
  CHECK_INT(opened.revocations, 1);
  CHECK_INT(locks.refused, 0);
  if (client_knows()) CHECK_INT(locks.revocations, 1);
  if (ck_rank == 0) CHECK_OK(MPI_File_delete((char *)name, MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(shared_servers_are_locked_ahead);
  RUN(without_it_locks_are_called_back);
  RUN(own_servers_need_none);
  RUN(other_domains_where_asked);
  RUN(earlier_locks_are_called_back_at_open);
  return ck_finish();
}
