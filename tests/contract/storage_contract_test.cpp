// The contract of Storage (storage/storage.h), run over every driver and decorator.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "more_cases.h"
#include "storage/buffered.h"
#include "storage/faulty.h"
#include "storage/forwarding.h"
#include "storage/locked.h"
#include "storage/throttled.h"

#ifdef __SANITIZE_THREAD__
// Sessions with servers, and their threads, last as long as the process.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() { return "report_thread_leaks=0"; }
#endif

namespace mercutio {
namespace {

using Case = ContractCase;

std::unique_ptr<Storage> forwarding(std::unique_ptr<Storage> inner) {
  return std::make_unique<Forwarding>(std::move(inner));
}
std::unique_ptr<Storage> faulty(std::unique_ptr<Storage> inner) {
  return make_faulty(std::move(inner), std::make_shared<FaultPlan>());
}
std::unique_ptr<Storage> throttled(std::unique_ptr<Storage> inner) {
  return make_throttled(std::move(inner), ThrottleSpeed{1024 * MiB, 1000});
}

std::unique_ptr<Storage> locked(std::unique_ptr<Storage> inner) { return make_locked(std::move(inner)); }

std::unique_ptr<Storage> buffered(std::unique_ptr<Storage> inner) {
  return make_buffered(std::move(inner), Buffering{true, true, 64 * KiB});
}

class StorageContract : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    static std::atomic<int> number{0};
    const std::string base =
        ::testing::TempDir() + "contract." + std::to_string(::getpid()) + "." + std::to_string(++number);
    name_ = std::string(GetParam().prefix) + base;
  }
  void TearDown() override {
    const Resolved resolved = resolve(name_);
    (void)resolved.driver->remove(resolved.path);
  }
  std::unique_ptr<Storage> open(bool create = true, const WriterGroup& group = {}) {
    const Resolved resolved = resolve(name_);
    OpenOptions options;
    options.group = group;
    options.write = true;
    options.create = create;
    options.async_backend = GetParam().backend;
    options.keeps_writes = options.reads_ahead = GetParam().keeps;
    auto opened = resolved.driver->open(resolved.path, options);
    EXPECT_TRUE(opened.ok());
    if (!opened) return nullptr;
    return GetParam().wrap ? GetParam().wrap(std::move(*opened)) : std::move(*opened);
  }
  std::string name_;
};

std::vector<std::byte> filled(size_t bytes, int seed) {
  std::vector<std::byte> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(1 + (i * 7 + static_cast<size_t>(seed)) % 251);
  return data;
}
IoPiece piece(i64 offset, std::vector<std::byte>& data, i64 from, i64 bytes) {
  return {offset, data.data() + from, bytes};
}

TEST_P(StorageContract, PiecesInAnyOrderComeBack) {
  auto storage = open();
  auto out = filled(10000, 3);
  const std::vector<IoPiece> pieces{piece(200000, out, 0, 3000), piece(5, out, 3000, 1000),
                                    piece(1005, out, 4000, 2000), piece(70000, out, 6000, 0),
                                    piece(3005, out, 6000, 4000)};
  ASSERT_EQ(storage->write(pieces).value(), 10000);
  EXPECT_EQ(storage->size().value(), 203000);
  std::vector<std::byte> in(10000);
  auto back = pieces;
  for (IoPiece& p : back) p.data = in.data() + (p.data - out.data());
  ASSERT_EQ(storage->read(back).value(), 10000);
  EXPECT_EQ(in, GetParam().keeps_bytes ? out : std::vector<std::byte>(10000));
  EXPECT_TRUE(storage->sync().ok());
  EXPECT_TRUE(storage->close().ok());
}

TEST_P(StorageContract, ManySmallPieces) {
  auto storage = open();
  auto out = filled(8 * 3000, 9);
  std::vector<IoPiece> pieces;
  for (i64 i = 0; i < 3000; ++i) pieces.push_back(piece(8 * i, out, 8 * (2999 - i), 8));  // one run, 3000 buffers
  ASSERT_EQ(storage->write(pieces).value(), 24000);
  std::vector<std::byte> in(24000);
  for (IoPiece& p : pieces) p.data = in.data() + (p.data - out.data());
  ASSERT_EQ(storage->read(pieces).value(), 24000);
  EXPECT_EQ(in, GetParam().keeps_bytes ? out : std::vector<std::byte>(24000));
}

TEST_P(StorageContract, HolesAreZeroAndEndOfFileCuts) {
  auto storage = open();
  auto out = filled(10, 1);
  const IoPiece last = piece(1000, out, 0, 10);
  ASSERT_EQ(storage->write(std::span(&last, 1)).value(), 10);
  std::vector<std::byte> in(3000, std::byte{0xAA});
  const IoPiece reads[] = {piece(0, in, 0, 1000), piece(1000, in, 1000, 100), piece(0, in, 2000, 100)};
  EXPECT_EQ(storage->read(reads).value(), 1010);
  EXPECT_EQ(in[0], std::byte{0});
  EXPECT_EQ(in[999], std::byte{0});
  EXPECT_EQ(in[1010], std::byte{0xAA});
  EXPECT_EQ(in[2000], std::byte{0xAA}) << "pieces after the cut one stay untouched";
}

TEST_P(StorageContract, SetSizeAndPreallocateKeepContent) {
  auto storage = open();
  auto out = filled(5000, 2);
  const IoPiece all = piece(0, out, 0, 5000);
  ASSERT_TRUE(storage->write(std::span(&all, 1)).ok());
  ASSERT_TRUE(storage->preallocate(100).ok());
  EXPECT_EQ(storage->size().value(), 5000);
  ASSERT_TRUE(storage->preallocate(300000).ok());
  EXPECT_EQ(storage->size().value(), 300000);
  ASSERT_TRUE(storage->set_size(100).ok());
  ASSERT_TRUE(storage->set_size(400).ok());
  std::vector<std::byte> in(400, std::byte{0xAA});
  const IoPiece back = piece(0, in, 0, 400);
  ASSERT_EQ(storage->read(std::span(&back, 1)).value(), 400);
  if (GetParam().keeps_bytes) {
    EXPECT_EQ(std::memcmp(in.data(), out.data(), 100), 0);
  }
  EXPECT_EQ(in[100], std::byte{0}) << "what was cut off doesn't come back";
  EXPECT_FALSE(storage->set_size(-1).ok());
}

TEST_P(StorageContract, StartedTransfers) {
  auto storage = open();
  auto out = filled(64000, 5);
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (i64 i = 0; i < 16; ++i)
    transfers.push_back(storage->start(Direction::kWrite, {piece(i * 4000, out, i * 4000, 4000)}));
  for (auto& transfer : transfers) {
    EXPECT_EQ(transfer->wait().value(), 4000);
    EXPECT_EQ(transfer->wait().value(), 4000);
    EXPECT_TRUE(transfer->done());
  }
  std::vector<std::byte> in(64000);
  EXPECT_EQ(storage->start(Direction::kRead, {piece(0, in, 0, 64000)})->wait().value(), 64000);
  if (GetParam().keeps_bytes) {
    EXPECT_EQ(in, out);
  }
}

TEST_P(StorageContract, LocksExcludeThreadsAndObjects) {
  auto first = open();
  auto second = open(false);
  if (!first->traits().can_lock) GTEST_SKIP() << "no locks on " << first->traits().file_system;
  // Guarded by the file lock only. Between objects the kernel's lock orders the threads, which a race detector can't
  // see: hence the atomic, used so that increments get lost without exclusion. Threads of one object share a plain
  // counter.
  std::atomic<i64> counter{0};
  i64 of_first = 0;
  i64 of_second = 0;
  auto work = [&](Storage& storage, i64& plain) {
    for (int i = 0; i < 100; ++i) {
      auto held = storage.lock(10, 20, true);
      ASSERT_TRUE(held.ok());
      const i64 seen = counter.load(std::memory_order_relaxed);
      std::this_thread::yield();
      counter.store(seen + 1, std::memory_order_relaxed);
      ++plain;
    }
  };
  std::thread a([&] { work(*first, of_first); }), b([&] { work(*first, of_first); }),
      c([&] { work(*second, of_second); });
  a.join();
  b.join();
  c.join();
  EXPECT_EQ(counter, 300);
  EXPECT_EQ(of_first, 200);
  EXPECT_EQ(of_second, 100);
}

// Where an exclusion is granted it holds: another open for writing waits for its end, and none is granted beside one.
TEST_P(StorageContract, AnExclusionKeepsOtherOpensForWritingOut) {
  auto storage = open();
  auto excluded = storage->exclude_other_writers();
  if (!excluded || !GetParam().keeps_bytes) GTEST_SKIP() << "never granted, or for nothing";
  EXPECT_TRUE(storage->exclude_other_writers()) << "by another thread of the same rank";
  std::atomic<bool> opened{false};
  std::unique_ptr<Storage> other;
  std::thread late([&] {
    other = open(false);
    opened = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(opened);
  excluded.reset();
  late.join();
  EXPECT_FALSE(storage->exclude_other_writers());
  EXPECT_FALSE(other->exclude_other_writers());
  ASSERT_TRUE(other->close().ok());
  EXPECT_TRUE(storage->exclude_other_writers());
}

// The ranks of one collective open don't keep each other out.
TEST_P(StorageContract, AnExclusionLetsTheOwnGroupIn) {
  const WriterGroup group{draw_first_mark(2), 0, 2};
  auto first = open(true, group);
  auto second = open(false, WriterGroup{group.first_mark, 1, 2});
  auto alone = open(false)->exclude_other_writers();
  EXPECT_EQ(alone == nullptr, GetParam().keeps_bytes);
  auto excluded = first->exclude_other_writers();
  if (!excluded) GTEST_SKIP() << "never granted";
  EXPECT_TRUE(second->exclude_other_writers());
}

TEST_P(StorageContract, ATriedLockIsNotWaitedFor) {
  auto first = open();
  auto second = open(false);
  if (!first->traits().can_lock || first->traits().remote_cluster || !GetParam().keeps_bytes) GTEST_SKIP() << "waits";
  auto held = first->try_lock(0, 100, true);
  ASSERT_TRUE(held.ok() && *held);
  for (Storage* const storage : {first.get(), second.get()}) {
    const auto taken = storage->try_lock(50, 60, true);
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(*taken, nullptr);
    const auto free = storage->try_lock(100, 110, true);
    ASSERT_TRUE(free.ok());
    EXPECT_NE(*free, nullptr);
  }
  EXPECT_TRUE(release(std::move(*held)).ok());
  const auto again = second->try_lock(50, 60, true);
  EXPECT_TRUE(again.ok() && *again);
}

TEST_P(StorageContract, SharedLocksOverlapAndEndOneByOne) {
  auto first = open();
  auto second = open(false);
  if (!first->traits().can_lock) GTEST_SKIP();
  auto a = first->lock(0, 100, false);
  auto b = first->lock(50, 150, false);
  auto c = second->lock(0, 200, false);
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  c->reset();
  a->reset();  // [50, 150) must stay locked for b
  std::atomic<bool> got{false};
  std::thread waiter([&] {
    auto held = second->lock(60, 70, true);
    got = held.ok();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(got);
  EXPECT_TRUE(release(std::move(*b)).ok());
  waiter.join();
  EXPECT_TRUE(got);
}

std::vector<Case> all_cases() {
  std::vector<Case> cases{
    {"posix", "", true, nullptr},
    {"posix_threads", "", true, nullptr, "threads"},
    {"posix_io_uring", "", true, nullptr, "io_uring"},
    {"memory", "memory:", true, nullptr},
    {"null", "null:", false, nullptr},
    {"forwarding_posix", "ufs:", true, forwarding},
    {"faulty_posix", "", true, faulty},
    {"throttled_posix", "", true, throttled},
    {"buffered_posix", "", true, buffered},
    {"locked_posix", "", true, locked},
    {"forwarding_memory", "memory:", true, forwarding},
  };
  for (const Case& one : more_cases()) cases.push_back(one);
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, StorageContract, ::testing::ValuesIn(all_cases()),
                         [](const auto& info) { return std::string(info.param.label); });

TEST(Posix, OpenErrors) {
  const std::string missing = ::testing::TempDir() + "no-such-folder/x";
  const Resolved at = resolve(missing);
  EXPECT_EQ(at.driver->open(at.path, {}).error().cls, ErrorClass::kNoSuchFile);
  EXPECT_EQ(at.driver->remove(at.path).error().cls, ErrorClass::kNoSuchFile);
  EXPECT_EQ(at.driver->open(::testing::TempDir(), {}).error().cls, ErrorClass::kBadFile);
}

TEST(Registry, PrefixesCountWhenWhole) {
  EXPECT_EQ(resolve("ufs:/a:b").path, "/a:b");
  EXPECT_EQ(resolve("u:x").path, "u:x");
  EXPECT_EQ(resolve("n:foo").path, "n:foo");
  EXPECT_STREQ(resolve("memory:x").driver->name(), "memory");
  EXPECT_STREQ(resolve("null:x").driver->name(), "null");
}

TEST(Faulty, FailsTheNthOperation) {
  const Resolved at = resolve("memory:faulty-nth");
  OpenOptions options;
  options.write = options.create = true;
  auto plan = std::make_shared<FaultPlan>();
  plan->fail_at = 1;
  auto storage = make_faulty(std::move(*at.driver->open(at.path, options)), plan);
  EXPECT_TRUE(storage->set_size(5).ok());
  EXPECT_FALSE(storage->size().ok());
  EXPECT_EQ(storage->size().value(), 5);
}

}  // namespace
}  // namespace mercutio
