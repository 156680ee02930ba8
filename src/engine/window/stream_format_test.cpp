#include "engine/window/stream_format.h"

#include <gtest/gtest.h>

#include <cstring>

#include "comm/in_process.h"
#include "plan/node_buffers.h"

namespace mercutio {
namespace {

// A domain with one window of `bytes`, whose leader is this rank.
struct Fixture {
  explicit Fixture(Comm& comm, i64 bytes, i64 unit) : arena(NodeArena::of(comm)) {
    plan.aggregators = {0};
    plan.end = plan.domain_bytes = plan.buffer_bytes = bytes;
    plan.strategy = Strategy::kTwoPhase;
    buffer.emplace(*arena, plan, PieceBorders{unit, 0}, 0, NodeBuffer{0, 0});
  }
  void set_valid(i64 begin, i64 end, i64 unit) {
    std::memset(buffer->slot(0).valid + begin / unit, 1, static_cast<size_t>((end - begin) / unit));
  }
  std::shared_ptr<NodeArena> arena;
  Plan plan;
  std::optional<WindowBuffer> buffer;
};

std::vector<std::pair<i64, i64>> runs_in(const Fixture& f, const StreamHeader& header, ConstBytes run_list) {
  std::vector<std::pair<i64, i64>> found;
  auto runs = runs_of(*f.buffer, header, run_list);
  EXPECT_TRUE(runs.ok());
  if (runs) {
    for (const StreamRun& run : *runs) found.emplace_back(run.at, run.bytes);
  }
  return found;
}

void on_one_of_two(const std::function<void(Comm&)>& body) {
  run_ranks(2, [&](Comm& comm) {
    if (comm.rank() == 0) body(comm);
  });
}

TEST(StreamFormat, OneRunNeedsNoRunList) {
  on_one_of_two([](Comm& comm) {
    Fixture f(comm, 4096, 8);
    f.set_valid(16, 64, 8);
    std::vector<std::byte> run_list;
    const StreamHeader header = describe(*f.buffer, 0, run_list);
    EXPECT_TRUE(run_list.empty());
    EXPECT_EQ(header.bytes, 48);
    EXPECT_EQ(runs_in(f, header, run_list), (std::vector<std::pair<i64, i64>>{{16, 48}}));
  });
}

TEST(StreamFormat, FewRunsAreListed) {
  on_one_of_two([](Comm& comm) {
    Fixture f(comm, 4096, 8);
    f.set_valid(0, 8, 8);
    f.set_valid(1024, 2048, 8);
    std::vector<std::byte> run_list;
    const StreamHeader header = describe(*f.buffer, 0, run_list);
    EXPECT_EQ(run_list.size(), 2 * sizeof(StreamRun));
    EXPECT_EQ(runs_in(f, header, run_list), (std::vector<std::pair<i64, i64>>{{0, 8}, {1024, 1024}}));
  });
}

TEST(StreamFormat, EqualRunsAtEqualDistancesNeedNoRunList) {
  on_one_of_two([](Comm& comm) {
    Fixture f(comm, 4096, 8);
    std::vector<std::pair<i64, i64>> expected;
    for (i64 at = 8; at < 4096; at += 24) {
      f.set_valid(at, at + 8, 8);
      expected.emplace_back(at, 8);
    }
    std::vector<std::byte> run_list;
    const StreamHeader header = describe(*f.buffer, 0, run_list);
    EXPECT_TRUE(run_list.empty());
    EXPECT_EQ(header.stride, 24);
    EXPECT_EQ(runs_in(f, header, run_list), expected);
  });
}

TEST(StreamFormat, ManyRunsAreSentAsBits) {
  on_one_of_two([](Comm& comm) {
    Fixture f(comm, 4096, 8);
    std::vector<std::pair<i64, i64>> expected;
    for (i64 at = 8; at < 4096; at += expected.size() % 2 == 0 ? 16 : 24) {
      f.set_valid(at, at + 8, 8);
      expected.emplace_back(at, 8);
    }
    std::vector<std::byte> run_list;
    const StreamHeader header = describe(*f.buffer, 0, run_list);
    EXPECT_EQ(run_list.size(), 4096u / 8 / 8);
    EXPECT_EQ(runs_in(f, header, run_list), expected);
  });
}

TEST(StreamFormat, RejectsRunsOutsideTheWindow) {
  on_one_of_two([](Comm& comm) {
    Fixture f(comm, 4096, 8);
    EXPECT_FALSE(runs_of(*f.buffer, StreamHeader{1, 8, 0, 0, 1}, {}).ok());        // no such window
    EXPECT_FALSE(runs_of(*f.buffer, StreamHeader{0, 16, 4088, 0, 1}, {}).ok());    // beyond its end
    EXPECT_FALSE(runs_of(*f.buffer, StreamHeader{0, -8, 0, 0, 1}, {}).ok());
    const StreamRun run{0, 8};
    const ConstBytes one = std::as_bytes(std::span(&run, 1));
    EXPECT_FALSE(runs_of(*f.buffer, StreamHeader{0, 16, 0, 8, 1}, one).ok());      // more bytes than its runs have
    EXPECT_FALSE(runs_of(*f.buffer, StreamHeader{0, 8, 0, 8, 2}, one).ok());       // more runs than the list has
    EXPECT_TRUE(runs_of(*f.buffer, StreamHeader{0, 8, 0, 8, 1}, one).ok());
  });
}

}  // namespace
}  // namespace mercutio
