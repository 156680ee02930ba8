// Shares: every byte is in exactly one share, at the right file offset.
#include "omp/shares.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace mercutio::omp {
namespace {

constexpr Routine kEach{"each", Operation::kTransfer, Direction::kWrite, false, false};
constexpr Routine kEachAt{"each_at", Operation::kTransfer, Direction::kWrite, false, true};
constexpr Routine kCommon{"common", Operation::kTransfer, Direction::kWrite, true, false};

struct Parts {
  std::vector<iovec> list;
  std::vector<off_t> offsets;
};

// Memory that is never accessed: the address identifies the byte.
void* address(i64 at) {
  return reinterpret_cast<void*>(at + 4096);
}

class Team {
 public:
  void add(Request request) {
    EXPECT_TRUE(request.check().ok());
    requests_.push_back(request);
  }
  Access access(i64 threads, i64 pointer = 0, i64 unit_bytes = 1) {
    pointers_.clear();
    for (const Request& request : requests_) pointers_.push_back(&request);
    return Access{pointers_, threads, pointer, unit_bytes};
  }

 private:
  std::vector<Request> requests_;
  std::vector<const Request*> pointers_;
};

// Pieces by file offset, as (address, bytes).
class Collect final : public PieceSink {
 public:
  Status take(size_t, const IoPiece& piece) override {
    EXPECT_GT(piece.bytes, 0);
    for (i64 i = 0; i < piece.bytes; ++i)
      EXPECT_TRUE(bytes_.emplace(piece.offset + i, piece.data + i).second) << "offset " << piece.offset + i << " twice";
    ++pieces_;
    return ok_status();
  }
  std::map<i64, std::byte*> bytes_;
  i64 pieces_ = 0;
};

void walk_all(const Access& access, Collect& collect) {
  std::vector<MergeCursor> cursors(access.requests.size());
  for (i64 thread = 0; thread < access.threads; ++thread)
    ASSERT_TRUE(walk(access, share_of(access, thread), cursors, collect).ok());
}

TEST(Shares, EachThreadMovesItsOwnData) {
  Team team;
  for (i64 bytes : {100, 0, 50}) team.add(Request::single(kEach, address(0), bytes));
  const Access access = team.access(3, 7);
  EXPECT_EQ(share_of(access, 0), (Share{ShareOf::kSequence, 0, 100}));
  EXPECT_EQ(share_of(access, 1), (Share{ShareOf::kSequence, 100, 100}));
  EXPECT_EQ(share_of(access, 2), (Share{ShareOf::kSequence, 100, 150}));
  Collect collect;
  walk_all(access, collect);
  EXPECT_EQ(collect.bytes_.begin()->first, 7);
  EXPECT_EQ(collect.bytes_.size(), 150U);
  EXPECT_EQ(collect.pieces_, 2);
}

TEST(Shares, CommonDataIsCutAtUnitsOfTheFile) {
  Team team;
  team.add(Request::single(kCommon, address(0), 10000));
  const Access access = team.access(4, 100, 1000);
  i64 before = 0;
  for (i64 thread = 0; thread < 4; ++thread) {
    const Share share = share_of(access, thread);
    EXPECT_EQ(share.begin, before);
    EXPECT_EQ((100 + share.end) % 1000, thread < 3 ? 0 : 100);
    EXPECT_NEAR(static_cast<double>(share.end - share.begin), 2500, 1000);
    before = share.end;
  }
  EXPECT_EQ(before, 10000);
}

TEST(Shares, OtherThreadsMoveDataOfAThreadWithMuchMore) {
  Team team;
  for (i64 bytes : {i64{10}, 8 * MiB, i64{10}, i64{10}}) team.add(Request::single(kEach, address(0), bytes));
  const Access access = team.access(4);
  for (i64 thread = 0; thread < 4; ++thread)
    EXPECT_NEAR(static_cast<double>(share_of(access, thread).end - share_of(access, thread).begin), 2 * MiB, 100);
}

// Each of four threads has every fourth run of a range.
TEST(Shares, InterleavedListsAreMergedInTheFile) {
  constexpr i64 kThreads = 4, kRuns = 50, kBytes = 24;
  Team team;
  std::vector<Parts> parts(kThreads);
  for (i64 thread = 0; thread < kThreads; ++thread) {
    for (i64 run = 0; run < kRuns; ++run) {
      const i64 at = (run * kThreads + thread) * kBytes;
      parts[static_cast<size_t>(thread)].list.push_back({address(at), kBytes});
      parts[static_cast<size_t>(thread)].offsets.push_back(at);
    }
    const Parts& own = parts[static_cast<size_t>(thread)];
    team.add(Request::listed(kEachAt, own.list.data(), kRuns, own.offsets.data()));
  }
  const Access access = team.access(kThreads, 0, 100);
  EXPECT_EQ(share_of(access, 1), (Share{ShareOf::kFile, 1200, 2400}));
  Collect collect;
  walk_all(access, collect);
  ASSERT_EQ(collect.bytes_.size(), static_cast<size_t>(kThreads * kRuns * kBytes));
  for (const auto& [offset, data] : collect.bytes_) EXPECT_EQ(data, address(offset));
}

// Lists of disjoint parts, ascending or not, with holes and empty parts.
TEST(Shares, EveryByteIsInOneShare) {
  std::mt19937_64 random(4);
  const auto below = [&](i64 limit) { return static_cast<i64>(random() % static_cast<unsigned long>(limit)); };
  for (int round = 0; round < 300; ++round) {
    const i64 threads = 1 + below(6), most = below(3) == 0 ? 400 : 20, gap = 1 + below(3) * 10;
    std::vector<Parts> parts(static_cast<size_t>(threads));
    i64 at = below(500), total = 0;
    for (i64 i = below(60); i > 0; --i, at += below(gap)) {
      Parts& own = parts[static_cast<size_t>(below(threads))];
      const i64 bytes = below(most);
      own.list.push_back({address(at), static_cast<size_t>(bytes)});
      own.offsets.push_back(at);
      at += bytes;
      total += bytes;
    }
    Team team;
    for (Parts& own : parts) {
      if (below(4) == 0)
        std::reverse(own.offsets.begin(), own.offsets.end()), std::reverse(own.list.begin(), own.list.end());
      team.add(Request::listed(kEachAt, own.list.data(), static_cast<i64>(own.list.size()), own.offsets.data()));
    }
    Collect collect;
    walk_all(team.access(threads, 0, 1 + below(64)), collect);
    ASSERT_EQ(static_cast<i64>(collect.bytes_.size()), total) << "round " << round;
    for (const auto& [offset, data] : collect.bytes_) ASSERT_EQ(data, address(offset)) << "round " << round;
  }
}

TEST(Request, RejectsWrongArguments) {
  const auto refused = [](Request request) { return !request.check().ok(); };
  int data = 0;
  EXPECT_TRUE(refused(Request::single(kEach, &data, -1)));
  EXPECT_TRUE(refused(Request::single(kEach, nullptr, 1)));
  EXPECT_TRUE(refused(Request::single(kEachAt, &data, 4, -1)));
  EXPECT_TRUE(refused(Request::single(kEachAt, &data, 4, INT64_MAX - 3)));
  EXPECT_TRUE(refused(Request::listed(kEach, nullptr, 1)));
  EXPECT_TRUE(refused(Request::listed(kEach, nullptr, -1)));
  const iovec list[] = {{&data, 4}, {&data, INT64_MAX}};
  EXPECT_TRUE(refused(Request::listed(kEach, list, 2)));
  EXPECT_TRUE(refused(Request::listed(kEachAt, list, 1)));
  EXPECT_FALSE(refused(Request::listed(kEach, list, 1)));
  EXPECT_FALSE(refused(Request::listed(kEachAt, nullptr, 0)));
  EXPECT_FALSE(refused(Request::single(kEach, nullptr, 0)));
}

}  // namespace
}  // namespace mercutio::omp
