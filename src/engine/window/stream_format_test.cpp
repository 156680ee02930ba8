#include "engine/window/stream_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "comm/in_process.h"
#include "engine/test_support.h"
#include "engine/window/run_list.h"
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

using Runs = std::vector<std::pair<i64, i64>>;   // offset and bytes

Runs pairs_of(const std::vector<StreamRun>& runs) {
  Runs pairs;
  for (const StreamRun& run : runs) pairs.emplace_back(run.at, run.bytes);
  return pairs;
}

Runs runs_in(const Fixture& f, const StreamHeader& header, ConstBytes run_list) {
  auto runs = runs_of(*f.buffer, header, run_list);
  EXPECT_TRUE(runs.ok());
  return runs ? pairs_of(*runs) : Runs();
}

// Describes the valid bytes of window 0, which are `expected`, and clears them.
StreamHeader described(const Fixture& f, const Runs& expected, std::vector<std::byte>& run_list) {
  std::vector<StreamRun> runs;
  const StreamHeader header = describe(*f.buffer, 0, run_list, runs);
  EXPECT_EQ(pairs_of(runs), expected);
  EXPECT_EQ(runs_in(f, header, run_list), expected);
  f.buffer->valid_map(0).clear();
  return header;
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
    EXPECT_EQ(described(f, {{16, 48}}, run_list).bytes, 48);
    EXPECT_TRUE(run_list.empty());
  });
}

TEST(StreamFormat, EqualRunsAtEqualDistancesNeedNoRunList) {
  on_one_of_two([](Comm& comm) {
    Fixture f(comm, 4096, 8);
    Runs expected;
    for (i64 at = 8; at < 4096; at += 24) {
      f.set_valid(at, at + 8, 8);
      expected.emplace_back(at, 8);
    }
    std::vector<std::byte> run_list;
    EXPECT_EQ(described(f, expected, run_list).stride, 24);
    EXPECT_TRUE(run_list.empty());
  });
}

TEST(StreamFormat, OtherRunsAreListed) {
  on_one_of_two([](Comm& comm) {
    Fixture f(comm, 4096, 8);
    for (const i64 begin : {0, 24, 48}) f.set_valid(begin, begin + 8, 8);   // even so far
    f.set_valid(1024, 4096, 8);
    std::vector<std::byte> run_list;
    const StreamHeader header = described(f, {{0, 8}, {24, 8}, {48, 8}, {1024, 3072}}, run_list);
    EXPECT_EQ(header.runs, 4);
    EXPECT_EQ(header.list_bytes, std::ssize(run_list));
  });
}

// Irregular cells of one unit, as those of a rank of many.
TEST(StreamFormat, AListedRunTakesFewBits) {
  on_one_of_two([](Comm& comm) {
    std::mt19937_64 random(1);
    for (const i64 mean : {2, 16, 256, 4096}) {
      const i64 units = 1 << 20;
      Fixture f(comm, units, 1);
      Runs expected;
      std::geometric_distribution<i64> gap(1.0 / static_cast<double>(mean));
      for (i64 unit = gap(random); unit < units; unit += 2 + gap(random)) {
        f.set_valid(unit, unit + 1, 1);
        expected.emplace_back(unit, 1);
      }
      std::vector<std::byte> run_list;
      described(f, expected, run_list);
      const double bits = 8 * static_cast<double>(run_list.size()) / static_cast<double>(expected.size());
      EXPECT_LT(bits, std::log2(static_cast<double>(mean)) + 3.5) << mean;
    }
  });
}

TEST(StreamFormat, ListsTakeAtMostTwoBitsAUnit) {
  on_one_of_two([](Comm& comm) {
    std::mt19937_64 random(2);
    for (i64 i = 0; i < 200; ++i) {
      const i64 unit = i64{1} << random() % 4, units = 1 + static_cast<i64>(random() % 4000);
      Fixture f(comm, units * unit, unit);
      Runs expected;
      const std::uint64_t longest_gap = std::uint64_t{1} << random() % 10, longest_run = std::uint64_t{1} << random() % 10;
      const bool worst = i % 20 == 0;   // a number that is just too large for its parameter, then as many small ones as this takes to fall
      for (i64 at = static_cast<i64>(random() % longest_gap), run = 0; at < units; ++run) {
        const i64 large = run % 13 == 0 ? 24 : 0;
        const i64 end = std::min(units, at + 1 + (worst ? large : static_cast<i64>(random() % longest_run)));
        f.set_valid(at * unit, end * unit, unit);
        expected.emplace_back(at * unit, (end - at) * unit);
        at = end + 1 + (worst ? large : static_cast<i64>(random() % longest_gap) * static_cast<i64>(random() % 2));
      }
      if (expected.empty()) continue;
      std::vector<std::byte> run_list;
      described(f, expected, run_list);
      EXPECT_LE(std::ssize(run_list), units / 4 + 8);
    }
  });
}

// What a rank says of its access is what a leader says whose slot holds it.
TEST(StreamFormat, PartsOfAnAccessAreDescribedAsSlotsAre) {
  using namespace mercutio::testing;
  on_one_of_two([](Comm& comm) {
    Random random(5);
    for (i64 i = 0; i < 2000; ++i) {
      const i64 window = pick(random, 1, 300);
      Fixture f(comm, window, 1);
      View view;
      view.filetype = lowered(random_filetype(random, pick(random, 1, 24)));
      view.displacement = pick(random, 0, 20);
      const i64 all = view.stream_position(window);
      if (all == 0) continue;
      RankAccess access;
      access.view = &view;
      access.begin = pick(random, 0, all - 1);
      access.end = pick(random, access.begin + 1, all);
      const ValidMap valid = f.buffer->valid_map(0);
      Runs expected;
      for (Cursor cursor = view.cursor_in(nullptr, 0, access.begin, access.end); !cursor.done();) {
        const StridedRun run = cursor.next();
        for (i64 k = 0; k < run.count; ++k) {
          expected.emplace_back(run.offset + k * run.stride, run.bytes);
          std::memset(valid.flags + expected.back().first, 1, static_cast<size_t>(run.bytes));
        }
      }
      std::vector<std::byte> of_part, of_slot;
      const StreamHeader part = describe(*f.buffer, WindowPart{0, access.begin, access.end}, access, of_part);
      const StreamHeader slot = described(f, expected, of_slot);
      EXPECT_EQ(std::memcmp(&part, &slot, sizeof part), 0);
      EXPECT_EQ(of_part, of_slot);
    }
  });
}

TEST(StreamFormat, RejectsRunsOutsideTheWindow) {
  on_one_of_two([](Comm& comm) {
    Fixture f(comm, 4096, 8);
    const auto accepts = [&](const StreamHeader& header, ConstBytes run_list = {}) { return runs_of(*f.buffer, header, run_list).ok(); };
    EXPECT_FALSE(accepts({1, 8, 0, 0, 1}));        // no such window
    EXPECT_FALSE(accepts({0, 16, 4088, 0, 1}));    // beyond its end
    EXPECT_FALSE(accepts({0, -8, 0, 0, 1}));
    RunListWriter writer;
    for (const std::uint64_t gap : {0, 5, 400}) writer.add(gap, 0);   // units 0, 7 and 409
    const std::vector<std::byte> list = writer.finish();
    const i64 bytes = std::ssize(list);
    EXPECT_TRUE(accepts({0, 24, 0, bytes, 3}, list));
    EXPECT_FALSE(accepts({0, 32, 0, bytes, 3}, list));   // more bytes than its runs have
    EXPECT_FALSE(accepts({0, 32, 0, bytes, 4}, list));   // more runs than the list has
    EXPECT_FALSE(accepts({0, 16, 0, bytes, 2}, list));   // fewer
    EXPECT_FALSE(accepts({0, 24, 0, bytes, -1}, list));
    EXPECT_FALSE(accepts({0, 24, 0, bytes, INT64_MAX}, list));
    EXPECT_FALSE(accepts({0, 24, 0, bytes - 1, 3}, std::span(list).first(list.size() - 1)));
    EXPECT_FALSE(check(*f.buffer, StreamHeader{0, 16, 0, 4097, 2}).ok());   // a list longer than the window
    RunListWriter far;   // 2^32 bytes behind the first run, where an offset of 32 bits begins anew
    far.add(0, 0);
    far.add((std::uint64_t{1} << 29) - 2, 0);
    const std::vector<std::byte> around = far.finish();
    EXPECT_FALSE(accepts({0, 16, 0, std::ssize(around), 2}, around));
  });
}

TEST(StreamFormat, RandomListsStayInTheWindow) {
  on_one_of_two([](Comm& comm) {
    std::mt19937_64 random(3);
    Fixture f(comm, 512, 8);
    for (i64 i = 0; i < 20000; ++i) {
      std::vector<std::byte> list(1 + random() % 16);
      const bool few_zeros = random() % 2 == 0;   // zeros are long quotients
      for (std::byte& byte : list) byte = static_cast<std::byte>(random() | (few_zeros ? random() : 0));
      const i64 runs = 1 + static_cast<i64>(random() % 8);
      for (i64 bytes = 8; bytes <= 512; bytes += 8) {
        auto found = runs_of(*f.buffer, StreamHeader{0, bytes, 0, std::ssize(list), runs}, list);
        if (!found) continue;
        i64 end = -1;
        for (const auto& [at, length] : pairs_of(*found)) {
          ASSERT_GT(at, end);
          ASSERT_GT(length, 0);
          end = at + length;
        }
        ASSERT_LE(end, 512);
      }
    }
  });
}

}  // namespace
}  // namespace mercutio
