// Collective accesses between nodes, with every technique that a hint can ask for: the same interleaved pattern, its bytes
// looked at in the file by another rank and read back by a collective. Also communicators whose ranks lie on the nodes in no
// order, on one node only, and with one rank on each node. Hints are Mercutio's; an MPI's own I/O passes over them.
#include "check.h"

enum { kBlock = 1000, kBlocks = 24, kShare = kBlock * kBlocks, kMaxHints = 4 };

typedef struct {
  const char *name, *hints[kMaxHints][2];
} Technique;

// Several rounds of small windows, of more than one aggregator.
#define SMALL_WINDOWS {"cb_buffer_size", "16384"}

static const Technique kTechniques[] = {
    {"defaults", {{NULL, NULL}}},
    {"exchange.messages", {{"mercutio_exchange", "messages"}, SMALL_WINDOWS}},
    {"exchange.shared_memory", {{"mercutio_exchange", "shared_memory"}, SMALL_WINDOWS}},
    {"exchange.two_layer", {{"mercutio_exchange", "two_layer"}, SMALL_WINDOWS}},
    {"exchange.two_layer_one_window", {{"mercutio_exchange", "two_layer"}}},
    {"order.normal", {{"mercutio_order", "normal"}, SMALL_WINDOWS}},
    {"order.ring", {{"mercutio_order", "ring"}, SMALL_WINDOWS}},
    {"order.nd_shift", {{"mercutio_order", "nd_shift"}, SMALL_WINDOWS}},
    {"order.nd_rank_shift", {{"mercutio_order", "nd_rank_shift"}, SMALL_WINDOWS}},
    {"placement.rank_order", {{"mercutio_placement", "rank_order"}, {"cb_nodes", "3"}, SMALL_WINDOWS}},
    {"placement.round_robin", {{"mercutio_placement", "round_robin"}, {"cb_nodes", "3"}, SMALL_WINDOWS}},
    {"placement.stripe_aware", {{"mercutio_placement", "stripe_aware"}, {"striping_unit", "8192"}, {"cb_nodes", "3"}, SMALL_WINDOWS}},
    {"placement.cost", {{"mercutio_placement", "cost"}, {"cb_nodes", "3"}, SMALL_WINDOWS}},
    {"domains.even", {{"mercutio_domains", "even"}, SMALL_WINDOWS}},
    {"domains.aligned", {{"mercutio_domains", "aligned"}, {"striping_unit", "8192"}, SMALL_WINDOWS}},
    {"domains.stripe_cyclic", {{"mercutio_domains", "stripe_cyclic"}, {"striping_unit", "8192"}, SMALL_WINDOWS}},
    {"domains.group_cyclic", {{"mercutio_domains", "group_cyclic"}, {"striping_unit", "8192"}, SMALL_WINDOWS}},
    {"strategy.individual", {{"mercutio_strategy", "individual"}}},
    {"strategy.list", {{"mercutio_strategy", "list"}}},
    {"strategy.sieve", {{"mercutio_strategy", "sieve"}}},
    {"strategy.two_phase", {{"mercutio_strategy", "two_phase"}, SMALL_WINDOWS}},
    {"strategy.dynamic", {{"mercutio_strategy", "dynamic"}, SMALL_WINDOWS}},
    {"strategy.static", {{"mercutio_strategy", "static"}, SMALL_WINDOWS}},
    {"strategy.transpose", {{"mercutio_strategy", "transpose"}, SMALL_WINDOWS}},
    {"throttle.one_a_server", {{"mercutio_throttle", "1"}, {"mercutio_domains", "stripe_cyclic"}, {"striping_unit", "8192"}, SMALL_WINDOWS}},
    {"throttle.step_by_step", {{"mercutio_throttle", "1"}, {"mercutio_depth", "1"}, {"cb_nodes", "3"}, SMALL_WINDOWS}},
    {"throttle.messages", {{"mercutio_throttle", "2"}, {"mercutio_exchange", "messages"}, {"cb_nodes", "4"}, SMALL_WINDOWS}},
    {"one_aggregator", {{"cb_nodes", "1"}, SMALL_WINDOWS}},
    {"all_aggregate", {{"cb_config_list", "*:64"}, {"cb_nodes", "64"}, SMALL_WINDOWS}},
};

static MPI_Info info_of(const Technique *technique) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 0; i < kMaxHints && technique->hints[i][0]; i++)
    MPI_Info_set(info, (char *)technique->hints[i][0], (char *)technique->hints[i][1]);
  return info;
}

// A technique that was asked for and not taken would make this test one of the default.
static void check_taken(MPI_File fh, const Technique *technique) {
  const char *key = technique->hints[0][0];
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info used;
  if (!key || !ck_is_mercutio()) return;
  CHECK_OK(MPI_File_get_info(fh, &used));
  MPI_Info_get(used, (char *)key, MPI_MAX_INFO_VAL, value, &found);
  CHECK(found);
  CHECK(!strcmp(value, technique->hints[0][1]));
  MPI_Info_free(&used);
}

static void fill(unsigned char *buffer, int rank, int size) {
  for (int i = 0; i < kShare; i++) buffer[i] = ck_byte_at((long long)(i / kBlock * size + rank) * kBlock + i % kBlock);
}

static void check_blocks(const char *name, int rank, int size) {
  unsigned char *want = malloc(kShare);
  fill(want, rank, size);
  for (int i = 0; i < kBlocks; i++)
    if (!CHECK_BYTES(name, (long long)(i * size + rank) * kBlock, want + i * kBlock, kBlock)) break;
  free(want);
}

// The ranks of a communicator write a block each in turn, and look at their neighbour's.
static void write_and_read(MPI_Comm comm, const char *name, const Technique *technique) {
  int rank, size;
  MPI_File fh;
  MPI_Datatype filetype;
  MPI_Status status;
  unsigned char *buffer = malloc(kShare), *again = calloc(1, kShare);
  MPI_Info info = info_of(technique);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Type_vector(kBlocks, kBlock, kBlock * size, MPI_BYTE, &filetype);
  MPI_Type_commit(&filetype);
  fill(buffer, rank, size);
  CHECK_OK(MPI_File_open(comm, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  check_taken(fh, technique);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)rank * kBlock, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_at_all(fh, 0, buffer, kShare, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, kShare);
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(comm);
  check_blocks(name, (rank + 1) % size, size);
  CHECK_OK(MPI_File_read_at_all(fh, 0, again, kShare, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, kShare);
  CHECK(memcmp(again, buffer, kShare) == 0);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), (long long)kShare * size);
  MPI_Type_free(&filetype);
  MPI_Info_free(&info);
  free(buffer);
  free(again);
}

static void interleaved(const Technique *technique) { write_and_read(MPI_COMM_WORLD, ck_fresh("f"), technique); }

// Ranks that are neighbours in the communicator, and so in the file, lie on nodes in no order.
static void mixed_ranks(const Technique *technique) {
  MPI_Comm mixed;
  const char *name = ck_fresh("f");
  MPI_Comm_split(MPI_COMM_WORLD, 0, (ck_rank * 37 + 11) % 64 % 23, &mixed);
  write_and_read(mixed, name, technique);
  MPI_Comm_free(&mixed);
}

// Who can share memory does so for files of their own, on all nodes at the same time.
static void node_by_node(void) {
  MPI_Comm node;
  char tag[32];
  int leader = ck_rank;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ck_rank, MPI_INFO_NULL, &node);
  MPI_Bcast(&leader, 1, MPI_INT, 0, node);
  for (int r = 0; r < ck_size; r++) {
    snprintf(tag, sizeof tag, "f%d", r);
    ck_fresh(tag);
  }
  snprintf(tag, sizeof tag, "f%d", leader);
  write_and_read(node, ck_path(tag), &kTechniques[0]);
  MPI_Comm_free(&node);
}

// No two ranks of the communicator can share memory.
static void one_rank_a_node(void) {
  MPI_Comm node, leaders;
  int local;
  const char *name = ck_fresh("f");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ck_rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local);
  MPI_Comm_split(MPI_COMM_WORLD, local == 0 ? 0 : MPI_UNDEFINED, ck_rank, &leaders);
  if (leaders != MPI_COMM_NULL) {
    write_and_read(leaders, name, &kTechniques[0]);
    MPI_Comm_free(&leaders);
  }
  MPI_Comm_free(&node);
}

// The rest is worth nothing where all ranks are on one node, or the MPI doesn't know which share memory.
static void nodes_are_apart(void) {
  char own[MPI_MAX_PROCESSOR_NAME] = "", (*names)[MPI_MAX_PROCESSOR_NAME] = calloc((size_t)ck_size, sizeof *names);
  int length, here = 0, sharing;
  MPI_Comm node;
  MPI_Get_processor_name(own, &length);
  MPI_Allgather(own, sizeof own, MPI_CHAR, names, sizeof own, MPI_CHAR, MPI_COMM_WORLD);
  for (int r = 0; r < ck_size; r++) here += strcmp(names[r], own) == 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, ck_rank, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &sharing);
  MPI_Comm_free(&node);
  CHECK_INT(sharing, here);
  CHECK(here < ck_size);
  free(names);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(nodes_are_apart);
  for (size_t i = 0; i < sizeof kTechniques / sizeof *kTechniques; i++) {
    RUN_FOR(interleaved, kTechniques[i].name, &kTechniques[i]);
    RUN_FOR(mixed_ranks, kTechniques[i].name, &kTechniques[i]);
  }
  RUN(node_by_node);
  RUN(one_rank_a_node);
  return ck_finish();
}
