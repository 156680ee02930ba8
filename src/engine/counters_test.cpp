// The costs of collective accesses besides moving their bytes, as counted in the trace.
#include <gtest/gtest.h>

#include <mutex>

#include "comm/in_process.h"
#include "engine/test_support.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

constexpr i64 kRanks = 4, kPiece = 8, kPieces = 4096;
constexpr i64 kListBytes = 8;   // of a run list, besides a bit a piece

// The sum of the counters of all ranks, by access.
struct Totals final : TraceSink {
  void record(const TraceEvent& event) override {
    if (event.kind != TraceKind::kCollective) return;
    sum.metadata_bytes += event.counters->metadata_bytes;
    sum.messages += event.counters->messages;
    sum.message_bytes += event.counters->message_bytes;
    sum.copied_bytes += event.counters->copied_bytes;
    sum.merged_bytes += event.counters->merged_bytes;
    sum.hole_bytes += event.counters->hole_bytes;
    sum.plans_reused += event.counters->plans_reused;
    sum.saw_in_degree(event.counters->in_degree);
    moved += event.bytes;
  }
  Counters sum;
  i64 moved = 0;
};

// The pieces of every rank are in an order without a constant stride. With holes, one piece in five belongs to no rank.
ViewRef map_of(i64 rank, bool holes) {
  Random random(3);
  Numbers mine;
  for (i64 piece = 0; piece < kPieces; ++piece) {
    const i64 owner = pick(random, 0, holes ? kRanks : kRanks - 1);
    if (owner == rank) mine.push_back(piece * kPiece);
  }
  return make_view(0, make_resized(0, kPieces * kPiece, make_hindexed_block(kPiece, mine, byte_type())));
}

struct Course {
  WantedExchange exchange;
  std::vector<i64> node_of_rank;
  bool holes = false;
  Direction direction = Direction::kWrite;
};

// Accesses the file `outputs` times at increasing offsets, as a simulation does. Returns the counters of each access.
std::vector<Totals> run_outputs(const Course& course, i64 outputs) {
  std::vector<Totals> totals(static_cast<size_t>(outputs));
  std::vector<std::vector<Totals>> by_rank(kRanks, totals);
  SharedFile file;
  file.bytes.resize(static_cast<size_t>(outputs * kPieces * kPiece));
  Hints hints;
  hints.romio_cb_write = hints.romio_cb_read = Toggle::kEnable;
  hints.mercutio_exchange = course.exchange;
  Topology topology{course.node_of_rank, {}};
  for (i64 node = 0; node <= course.node_of_rank.back(); ++node) topology.node_names.push_back("n" + std::to_string(node));
  run_ranks(kRanks, [&](Comm& comm) {
    TestStorage storage(file);
    std::atomic<bool> dirty{false};
    PlanCache plans;
    RunListCaches run_lists;
    const auto arena = NodeArena::of(comm);
    const ViewRef view = map_of(comm.rank(), course.holes);
    const i64 bytes = view->filetype->size();
    for (i64 output = 0; output < outputs; ++output) {
      EngineFile engine_file{&storage, &comm, &hints, &by_rank[static_cast<size_t>(comm.rank())][static_cast<size_t>(output)], &dirty, true};
      engine_file.plans = &plans;
      engine_file.run_lists = &run_lists;
      Counters counters;
      engine_file.counters = &counters;
      OwnedAccess owned = make_access(course.direction, view, output * bytes, bytes, make_contiguous(bytes, byte_type()));
      Channel channel{&comm, output * kTagsPerOperation};
      channel.ticket = std::make_shared<Ticket>(*arena);
      auto moved = run(collective(engine_file, channel, owned.access, {}), [&](i64 spins) { comm.backoff(spins); });
      ASSERT_EQ(*moved, bytes);
    }
  }, topology);
  for (const auto& rank : by_rank) {
    for (size_t output = 0; output < totals.size(); ++output) {
      Totals& total = totals[output];
      const Totals& mine = rank[output];
      total.record(TraceEvent{TraceKind::kCollective, 0, 0, mine.moved, -1, {}, &mine.sum});
    }
  }
  return totals;
}

TEST(Counters, OneNodeNeedsNoMessageAndOneCopyPerByte) {
  for (const Totals& output : run_outputs({WantedExchange::kAuto, {0, 0, 0, 0}}, 3)) {
    EXPECT_EQ(output.moved, kPieces * kPiece);
    EXPECT_EQ(output.sum.messages, 0);
    EXPECT_EQ(output.sum.metadata_bytes, 0);
    EXPECT_EQ(output.sum.copied_bytes, output.moved);
    EXPECT_EQ(output.sum.merged_bytes, 0);
  }
}

TEST(Counters, RunListsAreSentOnceAndPlansAreMadeOnce) {
  const auto outputs = run_outputs({WantedExchange::kMessages, {0, 0, 0, 0}}, 3);
  EXPECT_GT(outputs[0].sum.metadata_bytes, 0);
  EXPECT_LE(outputs[0].sum.metadata_bytes, kRanks * kPieces / 8) << "a bit a piece at most, in each of the streams";
  EXPECT_EQ(outputs[0].sum.plans_reused, 0);
  for (size_t later = 1; later < outputs.size(); ++later) {
    EXPECT_EQ(outputs[later].sum.metadata_bytes, 0) << later;
    EXPECT_EQ(outputs[later].sum.plans_reused, kRanks) << later;
    EXPECT_LT(outputs[later].sum.messages, outputs[0].sum.messages);
    EXPECT_EQ(outputs[later].sum.in_degree, kRanks - 1);
    EXPECT_LE(outputs[later].sum.copied_bytes, 2 * outputs[later].moved);
  }
}

TEST(Counters, OneStreamPerPairOfNodes) {
  const auto outputs = run_outputs({WantedExchange::kTwoLayer, {0, 0, 1, 1}}, 2);
  EXPECT_GT(outputs[0].sum.metadata_bytes, 0);
  EXPECT_LE(outputs[0].sum.metadata_bytes, kPieces / 8 + 2 * kListBytes) << "two lists of half of the pieces, a bit a piece";
  EXPECT_EQ(outputs[1].sum.metadata_bytes, 0);
  EXPECT_EQ(outputs[1].sum.in_degree, 1);
  EXPECT_EQ(outputs[1].sum.plans_reused, kRanks);
  EXPECT_LT(outputs[1].sum.message_bytes, outputs[1].moved) << "half the data is where it has to go";
  EXPECT_LE(outputs[1].sum.copied_bytes, 3 * outputs[1].moved);
}

TEST(Counters, HolesAreReadAndWrittenBack) {
  for (const WantedExchange exchange : {WantedExchange::kAuto, WantedExchange::kMessages}) {
    const Totals output = run_outputs({exchange, {0, 0, 0, 0}, true}, 1)[0];
    const i64 holes = kPieces * kPiece - output.moved;
    EXPECT_GT(holes, 0);
    EXPECT_GE(output.sum.merged_bytes, holes - 2 * kPiece) << "all but those at the ends";
    EXPECT_LE(output.sum.merged_bytes, kPieces * kPiece);
    EXPECT_EQ(output.sum.hole_bytes, 0);
  }
}

}  // namespace
}  // namespace mercutio
