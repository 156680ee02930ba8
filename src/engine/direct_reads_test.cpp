// Collective reads on one node with large pieces: direct from memory or the page cache while reading only copies, through
// aggregators if it blocks.
#include <gtest/gtest.h>
#include <time.h>

#include "comm/in_process.h"
#include "engine/test_support.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

constexpr i64 kRanks = 4, kBytes = 1 * MiB;   // per rank

// Reads without a lock, so that a thread sleeps only when the test makes it.
class Disk final : public TestStorage {
 public:
  Disk(SharedFile& file, const std::atomic<bool>& slow) : TestStorage(file), file_(file), slow_(slow) {}
  Result<i64> read(std::span<const IoPiece> pieces) override {
    i64 moved = 0;
    for (const IoPiece& piece : pieces) {
      std::memcpy(piece.data, file_.bytes.data() + piece.offset, static_cast<size_t>(piece.bytes));
      moved += piece.bytes;
    }
    const timespec seek{0, 2'000'000};
    if (slow_) ::nanosleep(&seek, nullptr);
    return moved;
  }

 private:
  SharedFile& file_;
  const std::atomic<bool>& slow_;
};

struct Job {
  std::string file_system;
  i64 piece;
  i64 accesses;
  i64 slow_from = INT64_MAX;   // the first access that blocks
  i64 cb_nodes = 0;
  i64 parts = kRanks;   // the file has this many; those beyond the number of ranks belong to no rank
};

// For each access, whether the data went through aggregators. Checks every byte.
std::vector<bool> exchanged(const Job& job) {
  SharedFile file;
  file.traits.file_system = job.file_system;
  for (i64 i = 0; i < job.parts * kBytes; ++i) file.bytes.push_back(static_cast<std::byte>(i * 7 / 5));
  Hints hints;
  hints.cb_nodes = job.cb_nodes;
  std::atomic<bool> slow{false};
  std::atomic<i64> copied{0};
  std::vector<bool> through;
  run_ranks(kRanks, [&](Comm& comm) {
    Disk storage(file, slow);
    std::atomic<bool> dirty{false};
    BlockingDetector blocking;
    const auto arena = arena_of(comm);
    const ViewRef view = make_view(comm.rank() * job.piece, make_resized(0, job.parts * job.piece, make_contiguous(job.piece, byte_type())));
    for (i64 access = 0; access < job.accesses; ++access) {
      Counters counters;
      EngineFile engine_file{&storage, &comm, &hints, nullptr, &dirty, true};
      engine_file.blocking = &blocking;
      engine_file.counters = &counters;
      OwnedAccess owned = make_access(Direction::kRead, view, 0, kBytes, make_contiguous(kBytes, byte_type()));
      const auto backoff = [&](i64 spins) { comm.backoff(spins); };
      const i64 tag = 3 * access * kTagsPerOperation;
      if (comm.rank() == 0) slow = access >= job.slow_from;
      ASSERT_TRUE(run(agree(Channel{&comm, tag}, ok_status()), backoff));
      auto moved = run(collective(engine_file, channel_of(comm, tag + kTagsPerOperation, arena), owned.access, {}), backoff);
      ASSERT_EQ(*moved, kBytes);
      for (i64 i = 0; i < kBytes; ++i) ASSERT_EQ(owned.at(i), file.bytes[static_cast<size_t>(owned.file_offset(i))]);
      copied += counters.copied_bytes;
      ASSERT_TRUE(run(agree(Channel{&comm, tag + 2 * kTagsPerOperation}, ok_status()), backoff));
      if (comm.rank() == 0) through.push_back(copied.exchange(0) > 0);
    }
  }, Topology{{0, 0, 0, 0}, {"n0"}});
  return through;
}

// On a loaded machine a thread that waits for a page fault may look like one that waits for a disk. Therefore the test is repeated.
bool comes_to(const Job& job, const std::vector<bool>& wanted) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (exchanged(job) == wanted) return true;
  }
  return false;
}

TEST(DirectReads, UsedFromTheFirstReadForStorageInMemory) {
  EXPECT_TRUE(comes_to({"tmpfs", 64 * KiB, 2}, {false, false}));
}

TEST(DirectReads, NotUsedForSmallPieces) {
  EXPECT_TRUE(comes_to({"tmpfs", 4 * KiB, 1}, {true}));
}

TEST(DirectReads, UsedForPagesIfWindowsWouldReadHoles) {
  EXPECT_TRUE(comes_to({"tmpfs", 4 * KiB, 1, INT64_MAX, 0, kRanks + 1}, {false}));
  EXPECT_TRUE(comes_to({"tmpfs", 2 * KiB, 1, INT64_MAX, 0, kRanks + 1}, {true}));
}

TEST(DirectReads, NotUsedIfAHintAsksForAggregators) {
  EXPECT_TRUE(comes_to({"tmpfs", 64 * KiB, 1, INT64_MAX, 2}, {true}));
}

TEST(DirectReads, UsedAfterAReadFromThePageCache) {
  EXPECT_TRUE(comes_to({"ext4", 64 * KiB, 3}, {true, false, false}));
}

TEST(DirectReads, NotUsedForADisk) {
  EXPECT_TRUE(comes_to({"ext4", 64 * KiB, 3, 0}, {true, true, true}));
}

TEST(DirectReads, UsedUntilAReadBlocks) {
  EXPECT_TRUE(comes_to({"ext4", 64 * KiB, 4, 2}, {true, false, false, true}));
}

}  // namespace
}  // namespace mercutio
