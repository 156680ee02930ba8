#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "comm/in_process.h"
#include "engine/engine.h"
#include "engine/test_support.h"
#include "storage/faulty.h"

namespace mercutio {
namespace {

using namespace mercutio::testing;

Hints random_hints(Random& random) {
  static constexpr Toggle kToggles[] = {Toggle::kAutomatic, Toggle::kEnable, Toggle::kDisable};
  Hints hints;
  hints.romio_ds_read = kToggles[pick(random, 0, 2)];
  hints.romio_ds_write = kToggles[pick(random, 0, 2)];
  hints.ind_rd_buffer_size = pick(random, 1, 64);
  hints.ind_wr_buffer_size = pick(random, 1, 64);
  return hints;
}

TEST(Independent, RandomWritesChangeOnlyTheirBytes) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    SharedFile file;
    file.traits.can_lock = pick(random, 0, 3) > 0;
    file.bytes = random_bytes(random, pick(random, 0, 200));
    TestStorage storage(file);
    Hints hints = random_hints(random);
    std::atomic<bool> dirty{false};
    OwnedAccess owned = random_access(random, Direction::kWrite, 120);
    fill_memory(random, owned);
    WriteOracle oracle(file.bytes);
    oracle.add(owned);
    EngineFile engine_file{&storage, nullptr, &hints, nullptr, &dirty, pick(random, 0, 3) > 0};
    auto moved = independent(engine_file, owned.access, file.traits.can_lock && pick(random, 0, 1) == 1 ? Locking::kTake : Locking::kNone);
    ASSERT_TRUE(moved.ok()) << "seed " << seed << ": " << moved.error().what;
    ASSERT_EQ(*moved, owned.access.bytes);
    ASSERT_EQ(oracle.first_wrong(file.bytes), -1) << "seed " << seed;
    ASSERT_EQ(dirty.load(), owned.access.bytes > 0);
    ASSERT_TRUE(file.locks.empty());
    ASSERT_TRUE(engine_file.readable || storage.counts.reads == 0) << "seed " << seed;
  }
}

TEST(Independent, RandomReadsCountExactlyToEndOfFile) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    SharedFile file;
    file.bytes = random_bytes(random, pick(random, 0, 400));
    TestStorage storage(file);
    Hints hints = random_hints(random);
    OwnedAccess owned = random_access(random, Direction::kRead, 120);
    EngineFile engine_file{&storage, nullptr, &hints, nullptr, nullptr, true};
    auto moved = independent(engine_file, owned.access, pick(random, 0, 1) == 1 ? Locking::kTake : Locking::kNone);
    ASSERT_TRUE(moved.ok()) << "seed " << seed;
    ASSERT_TRUE(read_is_right(owned, file.bytes, *moved)) << "seed " << seed;
  }
}

// The error of a write that fails has the exact number of bytes before the failure, in the order of the user's data.
TEST(Independent, SaysWhatWasWrittenBeforeAFailure) {
  i64 failed = 0, known = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    SharedFile file;
    file.bytes.resize(400);
    auto plan = std::make_shared<FaultPlan>();
    plan->kinds = kFaultWrite;
    plan->fail_at = pick(random, 0, 2);
    plan->partial_write_bytes = pick(random, 0, 30);
    const auto storage = make_faulty(std::make_unique<TestStorage>(file), plan);
    const Hints hints = random_hints(random);
    OwnedAccess owned = random_access(random, Direction::kWrite, 120);
    std::fill(owned.buffer.begin(), owned.buffer.end(), std::byte{1});
    EngineFile engine_file{storage.get(), nullptr, &hints, nullptr, nullptr, true};
    const auto moved = independent(engine_file, owned.access);
    if (moved) continue;
    ++failed;
    i64 written = 0;
    while (written < owned.access.bytes && owned.file_offset(written) < std::ssize(file.bytes) &&
           file.bytes[static_cast<size_t>(owned.file_offset(written))] == std::byte{1})
      ++written;
    ASSERT_EQ(moved.error().moved, written) << "seed " << seed;
    known += written > 0 ? 1 : 0;
  }
  EXPECT_GT(failed, 1000);
  EXPECT_GT(known, failed / 2);
}

TEST(Independent, SaysWhatWasReadBeforeAFailure) {
  i64 known = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    SharedFile file;
    file.bytes.assign(2000, std::byte{1});
    auto plan = std::make_shared<FaultPlan>();
    plan->kinds = kFaultRead;
    plan->fail_at = pick(random, 1, 4);
    const auto storage = make_faulty(std::make_unique<TestStorage>(file), plan);
    const Hints hints = random_hints(random);
    OwnedAccess owned = random_access(random, Direction::kRead, 120);
    EngineFile engine_file{storage.get(), nullptr, &hints, nullptr, nullptr, true};
    const auto moved = independent(engine_file, owned.access);
    if (moved) continue;
    i64 read = 0;
    while (read < owned.access.bytes && owned.at(read) == std::byte{1}) ++read;
    ASSERT_EQ(moved.error().moved, read) << "seed " << seed;
    known += read > 0 ? 1 : 0;
  }
  EXPECT_GT(known, 100);
}

TEST(Independent, CountsBytesOfHolesRead) {
  SharedFile file;
  file.bytes.resize(10000);
  TestStorage storage(file);
  Hints hints;
  Counters counters;
  EngineFile engine_file{&storage, nullptr, &hints, nullptr, nullptr, true};
  engine_file.counters = &counters;
  const ViewRef view = make_view(0, make_resized(0, 10, make_contiguous(5, byte_type())));
  for (const Toggle sieve : {Toggle::kDisable, Toggle::kEnable}) {
    hints.romio_ds_read = sieve;
    OwnedAccess scattered = make_access(Direction::kRead, view, 0, 2000, make_contiguous(2000, byte_type()));
    ASSERT_EQ(independent(engine_file, scattered.access).value(), 2000);
    EXPECT_EQ(counters.hole_bytes, sieve == Toggle::kEnable ? 2000 - 5 : 0);
  }
  EXPECT_EQ(storage.counts.bytes_read, 2000 + 4000 - 5);
}

// If reading only copies, a hole of a page is skipped. If each request goes to a server, it is read.
TEST(Independent, HolesOfAPageAreReadOnlyIfRequestsGoToAServer) {
  constexpr i64 kPage = 4 * KiB, kPieces = 32;
  for (const bool server : {false, true}) {
    SharedFile file;
    file.bytes.resize(2 * kPieces * kPage);
    file.traits.metadata_is_remote = server;
    TestStorage storage(file);
    Hints hints;
    EngineFile engine_file{&storage, nullptr, &hints, nullptr, nullptr, true};
    const ViewRef view = make_view(0, make_resized(0, 2 * kPage, make_contiguous(kPage, byte_type())));
    OwnedAccess pieces = make_access(Direction::kRead, view, 0, kPieces * kPage, make_contiguous(kPieces * kPage, byte_type()));
    ASSERT_EQ(independent(engine_file, pieces.access).value(), kPieces * kPage);
    EXPECT_EQ(storage.counts.bytes_read, server ? (2 * kPieces - 1) * kPage : kPieces * kPage);
    // Between pieces smaller than a page, holes are read, as in the rows of a block of an array.
    const i64 before = storage.counts.bytes_read;
    const ViewRef rows = make_view(0, make_resized(0, 2 * kPage, make_contiguous(kPage / 2, byte_type())));
    OwnedAccess small = make_access(Direction::kRead, rows, 0, kPieces * kPage / 2, make_contiguous(kPieces * kPage / 2, byte_type()));
    ASSERT_EQ(independent(engine_file, small.access).value(), kPieces * kPage / 2);
    EXPECT_GT(storage.counts.bytes_read - before, kPieces * kPage);
  }
}

// The storage sleeps in its first reads, piece by piece. The detector then reports that it blocks.
TEST(Independent, UsesWindowsAfterTheFirstBlockingRead) {
  class Disk final : public TestStorage {
   public:
    using TestStorage::TestStorage;
    Result<i64> read(std::span<const IoPiece> pieces) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      largest = std::max(largest, static_cast<i64>(pieces.size()));
      return TestStorage::read(pieces);
    }
    i64 largest = 0;   // in the list of pieces
  };
  constexpr i64 kPage = 4 * KiB, kPieces = 400;
  for (const i64 memory_piece : {kPage, i64{8}}) {   // directly into memory, and through a buffer
    SharedFile file;
    Random random(3);
    file.bytes = random_bytes(random, 2 * kPieces * kPage);
    Disk storage(file);
    Hints hints;
    BlockingDetector blocking;
    EngineFile engine_file{&storage, nullptr, &hints, nullptr, nullptr, true};
    engine_file.blocking = &blocking;
    const ViewRef view = make_view(0, make_resized(0, 2 * kPage, make_contiguous(kPage, byte_type())));
    OwnedAccess pieces = make_access(Direction::kRead, view, 0, kPieces * kPage,
                                     make_hvector(kPieces * kPage / memory_piece, memory_piece, 2 * memory_piece, byte_type()));
    const i64 moved = independent(engine_file, pieces.access).value();
    EXPECT_TRUE(read_is_right(pieces, file.bytes, moved));
    EXPECT_EQ(moved, kPieces * kPage);
    EXPECT_TRUE(blocking.blocks());
    EXPECT_LE(storage.largest, 64);
    EXPECT_GT(storage.counts.bytes_read, kPieces * kPage * 3 / 2) << "the rest with its holes";
  }
}

TEST(Independent, ReadsThroughAnOverlappingView) {
  SharedFile file;
  Random random(1);
  file.bytes = random_bytes(random, 100);
  TestStorage storage(file);
  Hints hints;
  hints.romio_ds_read = Toggle::kEnable;
  OwnedAccess owned = make_access(Direction::kRead, make_view(3, make_hindexed({6, 6}, {0, 4}, byte_type())), 2, 30,
                                  make_contiguous(30, byte_type()));
  EngineFile engine_file{&storage, nullptr, &hints, nullptr, nullptr, true};
  EXPECT_EQ(independent(engine_file, owned.access).value(), 30);
  for (i64 i = 0; i < 30; ++i) EXPECT_EQ(owned.at(i), file.bytes[static_cast<size_t>(owned.file_offset(i))]);
}

TEST(Independent, OnlyWindowsWithHolesAreReadAndLocked) {
  SharedFile file;
  file.bytes.resize(10000);
  TestStorage storage(file);
  Hints hints;
  hints.ind_wr_buffer_size = 1000;
  std::atomic<bool> dirty{false};
  EngineFile engine_file{&storage, nullptr, &hints, nullptr, &dirty, true};
  // Contiguous in the file, scattered in memory, with no hole in any view: neither read nor locked.
  engine_file.sieved = false;
  OwnedAccess packed = make_access(Direction::kWrite, make_view(0, byte_type()), 0, 4000, make_hvector(2000, 2, 5, byte_type()));
  ASSERT_EQ(independent(engine_file, packed.access).value(), 4000);
  EXPECT_EQ(storage.counts.reads, 0);
  EXPECT_EQ(storage.counts.locks, 0);
  EXPECT_EQ(storage.counts.writes, 4);
  // Scattered in the file: written in windows.
  engine_file.sieved = true;
  OwnedAccess scattered = make_access(Direction::kWrite, make_view(0, make_resized(0, 10, make_contiguous(5, byte_type()))), 0,
                                      2000, make_contiguous(2000, byte_type()));
  ASSERT_EQ(independent(engine_file, scattered.access).value(), 2000);
  EXPECT_EQ(storage.counts.reads, 4);
  EXPECT_EQ(storage.counts.locks, 4);
}

// A node with an outdated file size must not write zeros over data that another node has written.
TEST(Independent, KeepsDataBeyondAnOutdatedEndOfFile) {
  SharedFile file;
  file.traits.metadata_is_remote = true;
  file.bytes.assign(1000, std::byte{7});
  file.stale_end = 300;
  TestStorage storage(file);
  Hints hints;
  hints.romio_ds_write = Toggle::kEnable;
  std::atomic<bool> dirty{false};
  EngineFile engine_file{&storage, nullptr, &hints, nullptr, &dirty, true};
  const ViewRef view = make_view(0, make_resized(0, 10, make_contiguous(5, byte_type())));
  OwnedAccess scattered = make_access(Direction::kWrite, view, 0, 400, make_contiguous(400, byte_type()));
  for (i64 i = 0; i < 400; ++i) scattered.at(i) = std::byte{1};
  ASSERT_EQ(independent(engine_file, scattered.access).value(), 400);
  EXPECT_EQ(storage.counts.sizes, 1);
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(file.bytes[i], i % 10 < 5 && i < 800 ? std::byte{1} : std::byte{7}) << i;
}

TEST(Independent, WritesAreNotSievedWhileAnotherOpenMayWrite) {
  SharedFile file;
  file.bytes.resize(10000);
  file.other_writers = true;
  TestStorage storage(file);
  Hints hints;
  std::atomic<bool> dirty{false};
  EngineFile engine_file{&storage, nullptr, &hints, nullptr, &dirty, true};
  const ViewRef view = make_view(0, make_resized(0, 10, make_contiguous(5, byte_type())));
  for (const Toggle sieve : {Toggle::kAutomatic, Toggle::kEnable}) {
    hints.romio_ds_write = sieve;
    OwnedAccess scattered = make_access(Direction::kWrite, view, 0, 2000, make_contiguous(2000, byte_type()));
    ASSERT_EQ(independent(engine_file, scattered.access).value(), 2000);
    EXPECT_EQ(storage.counts.bytes_read, 0);
    for (i64 i = 0; i < 2000; ++i) ASSERT_EQ(file.bytes[static_cast<size_t>(i / 5 * 10 + i % 5)], scattered.at(i));
  }
}

TEST(Independent, ConcurrentSievingAndPlainWritersKeepEachOthersData) {
  SharedFile file;
  file.bytes.resize(64 * 1024);
  run_ranks(4, [&](Comm& comm) {
    TestStorage storage(file);
    Hints hints;
    hints.ind_wr_buffer_size = 512;
    std::atomic<bool> dirty{false};
    EngineFile engine_file{&storage, &comm, &hints, nullptr, &dirty, true};
    // Three ranks write 4 of every 16 bytes with sieving; the last rank writes single runs of 4 bytes without it.
    for (int round = 0; round < 4; ++round) {
      OwnedAccess owned =
          make_access(Direction::kWrite, make_view(4 * comm.rank(), make_resized(0, 16, make_contiguous(4, byte_type()))), 0,
                      16 * 1024, make_contiguous(16 * 1024, byte_type()));
      std::fill(owned.buffer.begin(), owned.buffer.end(), static_cast<std::byte>(1 + comm.rank()));
      if (comm.rank() < 3) {
        ASSERT_TRUE(independent(engine_file, owned.access).ok());
        continue;
      }
      for (i64 block = 0; block < 4096; block += 8) {
        OwnedAccess one = make_access(Direction::kWrite, make_view(12 + 16 * block, byte_type()), 0, 4, make_contiguous(4, byte_type()));
        std::fill(one.buffer.begin(), one.buffer.end(), std::byte{4});
        ASSERT_TRUE(independent(engine_file, one.access).ok());
      }
    }
  });
  for (size_t i = 0; i < file.bytes.size(); ++i) {
    const size_t rank = i % 16 / 4;
    const std::byte expected{static_cast<unsigned char>(rank < 3 ? 1 + rank : (i / 16 % 8 == 0 ? 4 : 0))};
    ASSERT_EQ(file.bytes[i], expected) << i;
  }
}

// After the storage has blocked, a list is divided into as many parts as there are threads.
TEST(Independent, DividesListsIfTheStorageBlocks) {
  class Slow final : public TestStorage {
   public:
    using TestStorage::TestStorage;
    i64 started = 0;
    Layout striping;
    Layout layout() override { return striping; }
    Result<i64> write(std::span<const IoPiece> pieces) override {
      std::this_thread::sleep_for(std::chrono::microseconds(400));
      return TestStorage::write(pieces);
    }
    std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
      ++started;
      return TestStorage::start(direction, std::move(pieces));
    }
  };
  constexpr i64 kPieces = 100, kBytes = 10, kStride = 25;
  SharedFile file;
  Slow storage(file);
  Hints hints;
  hints.romio_ds_read = hints.romio_ds_write = Toggle::kDisable;
  hints.mercutio_io_threads = 4;
  BlockingDetector blocking;
  EngineFile engine_file{&storage, nullptr, &hints, nullptr, nullptr, true};
  engine_file.sieved = false;   // writes take no lock
  engine_file.blocking = &blocking;
  const ViewRef view = make_view(0, make_resized(0, kStride, make_contiguous(kBytes, byte_type())));
  Random random(7);
  OwnedAccess writing = make_access(Direction::kWrite, view, 0, kPieces * kBytes, make_contiguous(kPieces * kBytes, byte_type()));
  for (const i64 started : {0, 3}) {
    fill_memory(random, writing);
    WriteOracle oracle(file.bytes);
    oracle.add(writing);
    ASSERT_EQ(independent(engine_file, writing.access).value(), kPieces * kBytes);
    EXPECT_EQ(oracle.first_wrong(file.bytes), -1);
    EXPECT_EQ(storage.started, started);
    ASSERT_TRUE(blocking.blocks());
  }
  // The end of the file is in the middle of a piece of each part, and before all pieces.
  for (const Layout& striping : {Layout{}, Layout{40, 3}, Layout{kPieces * kStride, 2}}) {
    storage.striping = striping;
    for (const i64 pieces : {100, 76, 60, 25, 10, 0}) {
      const i64 left = pieces < kPieces ? 3 : 0;
      file.bytes.resize(static_cast<size_t>(pieces * kStride + left));
      OwnedAccess reading = make_access(Direction::kRead, view, 0, kPieces * kBytes, make_contiguous(kPieces * kBytes, byte_type()));
      const i64 moved = independent(engine_file, reading.access).value();
      EXPECT_EQ(moved, pieces * kBytes + left);
      EXPECT_TRUE(read_is_right(reading, file.bytes, moved));
    }
  }
  storage.striping = {};
  for (const i64 part : {0, 1, 2, 3}) {
    storage.fail_at = storage.counts.operations + part;
    EXPECT_EQ(independent(engine_file, writing.access).error().cls, ErrorClass::kNoSpace);
  }
}

// Windows are small while the storage only copies, and larger from the first call that blocks, also within an access. An explicit
// hint always applies.
TEST(Independent, EnlargesWindowsIfTheStorageBlocks) {
  class Watched final : public TestStorage {
   public:
    using TestStorage::TestStorage;
    bool slow = false;
    std::vector<i64> windows;
    Result<i64> read(std::span<const IoPiece> pieces) override {
      if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      windows.push_back(pieces[0].bytes);
      return TestStorage::read(pieces);
    }
  };
  constexpr i64 kSmall = 256 * KiB, kLarge = default_hints::ind_rd_buffer_size, kSpan = kSmall + 2 * kLarge, kPiece = 1024, kPitch = 2048;
  SharedFile file;
  Random random(11);
  file.bytes = random_bytes(random, kSpan);
  const ViewRef view = make_view(0, make_resized(0, kPitch, make_contiguous(kPiece, byte_type())));
  const i64 bytes = kSpan / kPitch * kPiece;
  OwnedAccess reading = make_access(Direction::kRead, view, 0, bytes, make_contiguous(bytes, byte_type()));
  const auto windows_of = [&](bool slow, i64 asked) {
    Watched storage(file);
    storage.slow = slow;
    Hints hints;
    hints.ind_rd_buffer_size = asked;
    BlockingDetector blocking;
    EngineFile engine_file{&storage, nullptr, &hints, nullptr, nullptr, true};
    engine_file.blocking = &blocking;
    EXPECT_EQ(independent(engine_file, reading.access).value(), bytes);
    EXPECT_TRUE(read_is_right(reading, file.bytes, bytes));
    return storage.windows;
  };
  const i64 last = kPitch - kPiece;   // windows end with a requested byte
  const std::vector<i64> slow = windows_of(true, kLarge);
  EXPECT_EQ(slow, (std::vector<i64>{kSmall - last, kLarge - last, kLarge - last}));
  const std::vector<i64> fast = windows_of(false, kLarge);
  EXPECT_EQ(fast[0], kSmall - last);
  EXPECT_EQ(windows_of(false, kSmall * 2)[0], 2 * kSmall - last);
  EXPECT_EQ(windows_of(true, kSmall / 2)[1], kSmall / 2 - last);
}

}  // namespace
}  // namespace mercutio
