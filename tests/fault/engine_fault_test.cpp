// Every storage operation of an access fails once, on one rank or on all: n counts up until a run meets no failure any
// more. After each: nobody hangs (the test's time limit is the watchdog), all ranks report the same error class, nobody
// reports success although data is missing, no lock is left, and the next access of the same file works.
#include <gtest/gtest.h>

#include "comm/in_process.h"
#include "engine/engine.h"
#include "engine/test_support.h"
#include "storage/throttled.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

// How the ranks access the file.
struct Shape {
  const char* name;
  Direction direction;
  Toggle buffering;      // romio_cb_*
  Toggle sieving;        // romio_ds_*
  bool atomic;
  bool holes;
  bool collective;
  bool shares_memory = false;   // the ranks exchange through the memory of their nodes
  i64 nodes = 1;                // which they sit on in turn
  bool slow = false;            // the storage makes its callers wait, so that transfers go on beside the exchange
};

// One run: everybody's result, and whether the failure was met.
struct Outcome {
  std::vector<Result<i64>> results;
  bool met = false;
  bool data_right = false;
};

constexpr i64 kAll = -1;
constexpr i64 kBlock = 10, kBlocks = 12;

Topology topology_of(const Shape& shape, i64 ranks) {
  Topology topology;
  for (i64 node = 0; node < std::min(shape.nodes, ranks); ++node) topology.node_names.push_back("n" + std::to_string(node));
  for (i64 rank = 0; rank < ranks; ++rank) topology.node_of_rank.push_back(rank % topology.nodes());
  return topology;
}

Outcome run_once(const Shape& shape, i64 ranks, i64 victim, i64 fail_at) {
  Random random(11);
  SharedFile file;
  file.bytes = random_bytes(random, kBlock * kBlocks * ranks * 2);
  WriteOracle oracle(file.bytes);
  const auto before = file.bytes;
  Hints hints;
  hints.romio_cb_read = hints.romio_cb_write = shape.buffering;
  hints.romio_ds_read = hints.romio_ds_write = shape.sieving;
  hints.cb_buffer_size = 100;
  hints.cb_nodes = 2;
  hints.mercutio_throttle = shape.slow ? 1 : 0;
  if (shape.nodes > 1) hints.mercutio_exchange = WantedExchange::kTwoLayer;
  hints.ind_rd_buffer_size = hints.ind_wr_buffer_size = 64;
  Outcome outcome;
  outcome.results.assign(static_cast<size_t>(ranks), Result<i64>(i64{-1}));
  std::mutex mutex;
  std::atomic<bool> met{false}, right{true};
  run_ranks(ranks, [&](Comm& comm) {
    Random mine(static_cast<std::uint64_t>(comm.rank()));
    auto failing = std::make_unique<TestStorage>(file);
    TestStorage& storage = *failing;
    std::unique_ptr<Storage> top = std::move(failing);
    if (shape.slow) top = make_throttled(std::move(top), {.bytes_per_second = 0, .latency_ns = 250'000});
    std::atomic<bool> dirty{false};
    EngineFile engine_file{top.get(), &comm, &hints, nullptr, &dirty, true};
    const auto arena = arena_of(comm);
    const i64 pitch = kBlock * comm.size() + (shape.holes ? kBlock : 0);
    auto type = make_resized(0, pitch, make_contiguous(kBlock, byte_type()));
    OwnedAccess owned = make_access(shape.direction, make_view(kBlock * comm.rank(), type), 0, kBlock * kBlocks,
                                    make_hvector(kBlocks, kBlock, kBlock + 1, byte_type()));
    if (shape.direction == Direction::kWrite) {
      fill_memory(mine, owned);
      std::lock_guard lock(mutex);
      oracle.add(owned);
    }
    if (victim == kAll || victim == comm.rank()) storage.fail_at = fail_at;
    auto access = [&](i64 tag) {
      if (!shape.collective) return independent(engine_file, owned.access, shape.atomic ? Locking::kTake : Locking::kNone);
      return drive(comm, collective(engine_file, channel_of(comm, tag, arena), owned.access, {shape.atomic, ok_status()}));
    };
    Result<i64> result = access(0);
    if (storage.fail_at >= 0 && storage.counts.operations > storage.fail_at) met = true;
    if (result && shape.direction == Direction::kRead && !read_is_right(owned, before, *result)) right = false;
    // The file goes on working.
    storage.fail_at = -1;
    auto again = access(1);
    EXPECT_TRUE(again.ok()) << shape.name << " fail_at " << fail_at;
    EXPECT_TRUE(!again || shape.direction == Direction::kWrite || read_is_right(owned, before, *again));
    outcome.results[static_cast<size_t>(comm.rank())] = std::move(result);
  }, topology_of(shape, ranks), shape.shares_memory);
  EXPECT_TRUE(file.locks.empty());
  EXPECT_EQ(oracle.first_wrong(file.bytes), -1) << shape.name << " fail_at " << fail_at;
  outcome.met = met;
  outcome.data_right = right;
  return outcome;
}

// Asking for the size, which each rank does first, is allowed to fail: the access then finds the end of the file by reading.
bool may_succeed(const Shape& shape, i64 fail_at) {
  return shape.collective && shape.direction == Direction::kRead && fail_at == 0;
}

void check(const Shape& shape, i64 ranks, i64 victim) {
  for (i64 fail_at = 0;; ++fail_at) {
    ASSERT_LT(fail_at, 2000) << shape.name << ": failures never run out";
    const Outcome outcome = run_once(shape, ranks, victim, fail_at);
    ASSERT_TRUE(outcome.data_right);
    i64 failed = 0;
    for (const auto& result : outcome.results) failed += result.ok() ? 0 : 1;
    SCOPED_TRACE(std::string(shape.name) + ", ranks " + std::to_string(ranks) + ", victim " + std::to_string(victim) +
                 ", operation " + std::to_string(fail_at));
    if (!outcome.met) {
      ASSERT_EQ(failed, 0);
      return;
    }
    if (failed == 0 && may_succeed(shape, fail_at)) continue;
    if (!shape.collective) {
      ASSERT_GE(failed, 1);
      continue;
    }
    ASSERT_EQ(failed, ranks);
    for (const auto& result : outcome.results) {
      ASSERT_EQ(result.error().cls, outcome.results[0].error().cls);
      ASSERT_NE(result.error().what.find("on purpose"), std::string::npos);
    }
  }
}

class EngineFault : public ::testing::TestWithParam<std::tuple<Shape, i64>> {};

TEST_P(EngineFault, EveryOperationOnEveryRank) {
  const auto& [shape, ranks] = GetParam();
  check(shape, ranks, kAll);
  for (i64 victim = 0; victim < ranks; ++victim) check(shape, ranks, victim);
}

constexpr Toggle kOn = Toggle::kEnable, kOff = Toggle::kDisable;
const Shape kShapes[] = {
    {"write_two_phase", Direction::kWrite, kOn, Toggle::kAutomatic, false, false, true},
    {"write_two_phase_holes", Direction::kWrite, kOn, Toggle::kAutomatic, false, true, true},
    {"write_two_phase_pieces", Direction::kWrite, kOn, kOff, false, true, true},
    {"read_two_phase", Direction::kRead, kOn, Toggle::kAutomatic, false, true, true},
    {"write_shared_memory", Direction::kWrite, kOn, Toggle::kAutomatic, false, false, true, true},
    {"write_shared_memory_holes", Direction::kWrite, kOn, Toggle::kAutomatic, false, true, true, true},
    {"write_shared_memory_pieces", Direction::kWrite, kOn, kOff, false, true, true, true},
    {"read_shared_memory", Direction::kRead, kOn, Toggle::kAutomatic, false, true, true, true},
    {"write_two_layer", Direction::kWrite, kOn, Toggle::kAutomatic, false, false, true, true, 2},
    {"write_two_layer_holes", Direction::kWrite, kOn, Toggle::kAutomatic, false, true, true, true, 2},
    {"read_two_layer", Direction::kRead, kOn, Toggle::kAutomatic, false, true, true, true, 2},
    {"write_two_phase_slow", Direction::kWrite, kOn, Toggle::kAutomatic, false, false, true, false, 1, true},
    {"write_two_phase_holes_slow", Direction::kWrite, kOn, Toggle::kAutomatic, false, true, true, false, 1, true},
    {"read_two_phase_slow", Direction::kRead, kOn, Toggle::kAutomatic, false, true, true, false, 1, true},
    {"write_shared_memory_slow", Direction::kWrite, kOn, Toggle::kAutomatic, false, false, true, true, 1, true},
    {"read_shared_memory_slow", Direction::kRead, kOn, Toggle::kAutomatic, false, true, true, true, 1, true},
    {"write_two_layer_slow", Direction::kWrite, kOn, Toggle::kAutomatic, false, false, true, true, 2, true},
    {"read_two_layer_slow", Direction::kRead, kOn, Toggle::kAutomatic, false, true, true, true, 2, true},
    {"write_individual_sieved", Direction::kWrite, kOff, kOn, false, true, true},
    {"write_individual_pieces", Direction::kWrite, kOff, kOff, false, true, true},
    {"read_individual", Direction::kRead, kOff, kOn, false, true, true},
    {"write_atomic", Direction::kWrite, kOn, kOn, true, true, true},
    {"read_atomic", Direction::kRead, kOn, kOff, true, true, true},
    {"independent_write_sieved", Direction::kWrite, kOff, kOn, false, true, false},
    {"independent_write_pieces", Direction::kWrite, kOff, kOff, false, true, false},
    {"independent_read_sieved", Direction::kRead, kOff, kOn, false, true, false},
    {"independent_read_pieces", Direction::kRead, kOff, kOff, false, true, false},
};

INSTANTIATE_TEST_SUITE_P(Shapes, EngineFault,
                         ::testing::Combine(::testing::ValuesIn(kShapes), ::testing::Values(1, 2, 3, 4)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace mercutio
