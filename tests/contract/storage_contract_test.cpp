// The contract of Storage (storage/storage.h), run over every driver and decorator.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "more_cases.h"
#include "storage/cache.h"
#include "storage/deferred.h"
#include "storage/contract.h"
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

std::unique_ptr<Storage> cached(std::unique_ptr<Storage> inner) {
  const CachePolicy policy = cache_policy(inner->traits(), 64 * KiB, 64 * KiB);
  return make_cached(std::move(inner), policy);
}
// As for a file on another cluster.
std::unique_ptr<Storage> pipelined(std::unique_ptr<Storage> inner) {
  Traits remote = inner->traits();
  remote.remote_cluster = true;
  return make_cached(std::move(inner), cache_policy(remote, 64 * KiB, 64 * KiB));
}

// Opened by the first call that needs it.
std::unique_ptr<Storage> deferred(std::unique_ptr<Storage> inner) {
  DeferredFacts facts{inner->traits(), inner->layout()};
  auto kept = std::make_shared<std::unique_ptr<Storage>>(std::move(inner));
  return make_deferred(nullptr, [kept]() -> Result<std::unique_ptr<Storage>> { return std::move(*kept); }, std::move(facts));
}

struct Pair {
  Case one;
  ContractCheck check;
};

class StorageContract : public ::testing::TestWithParam<Pair> {};

TEST_P(StorageContract, Holds) {
  const auto& [one, check] = GetParam();
  static std::atomic<int> number{0};
  const std::string name = one.prefix + ::testing::TempDir() + "contract." + std::to_string(::getpid()) + "." + std::to_string(++number);
  const Resolved at = resolve(name);
  const OpenSubject open = [&](const OpenOptions& wanted) -> Result<std::unique_ptr<Storage>> {
    OpenOptions options = wanted;
    options.async_backend = one.backend;
    options.keeps_writes |= one.keeps;
    options.reads_ahead = one.keeps;
    MERCUTIO_LET(auto storage, at.driver->open(at.path, options));
    return one.wrap ? one.wrap(std::move(storage)) : std::move(storage);
  };
  ContractRun run(open, one.keeps_bytes);
  check.run(run);
  (void)at.driver->remove(at.path);
  for (const std::string& failure : run.failures()) ADD_FAILURE() << failure;
  if (!run.skipped().empty()) GTEST_SKIP() << run.skipped();
}

std::vector<Case> all_cases() {
  ::setenv("MERCUTIO_DRIVERS", MERCUTIO_TEST_DRIVERS, 1);
  std::vector<Case> cases{
    {"posix", "", true, nullptr},
    {"posix_threads", "", true, nullptr, AsyncBackend::kThreads},
    {"posix_io_uring", "", true, nullptr, AsyncBackend::kUring},
    {"memory", "memory:", true, nullptr},
    {"null", "null:", false, nullptr},
    {"forwarding_posix", "ufs:", true, forwarding},
    {"faulty_posix", "", true, faulty},
    {"throttled_posix", "", true, throttled},
    {"cached_posix", "", true, cached},
    {"pipelined_posix", "", true, pipelined, AsyncBackend::kThreads, true},
    {"locked_posix", "", true, locked},
    {"deferred_posix", "", true, deferred},
    {"forwarding_memory", "memory:", true, forwarding},
    {"library", "plain:", true, nullptr},
    {"library_keeping", "plain:", true, nullptr, AsyncBackend::kAuto, true},
  };
  for (const Case& one : more_cases()) cases.push_back(one);
  return cases;
}
std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (const Case& one : all_cases())
    for (const ContractCheck& check : contract_checks()) pairs.push_back({one, check});
  return pairs;
}
INSTANTIATE_TEST_SUITE_P(All, StorageContract, ::testing::ValuesIn(all_pairs()),
                         [](const auto& info) { return std::string(info.param.check.name) + "_of_" + info.param.one.label; });

// A check must be able to fail.
TEST(Contract, FindsWhatAStorageDoesWrong) {
  class Wrong final : public Forwarding {
   public:
    using Forwarding::Forwarding;
    Result<i64> read(std::span<const IoPiece> pieces) override {
      const Result<i64> moved = Forwarding::read(pieces);
      if (moved && *moved > 0 && !pieces.empty() && pieces[0].bytes > 0) pieces[0].data[0] ^= std::byte{1};
      return moved;
    }
    std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override { return Storage::start(direction, std::move(pieces)); }
    Result<std::unique_ptr<HeldLock>> lock(i64, i64, bool) override { return std::unique_ptr<HeldLock>(std::make_unique<NoLock>()); }
    Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override { return lock(begin, end, exclusive); }
    std::unique_ptr<HeldLock> exclude_other_writers(bool /*promised*/) override { return std::make_unique<NoLock>(); }
  };
  for (const ContractCheck& check : contract_checks()) {
    if (check.name == std::string("locks_exclude")) continue;   // without locks it is a data race
    const Resolved at = resolve(std::string("memory:wrong-") + check.name);
    ContractRun run([&](const OpenOptions& options) -> Result<std::unique_ptr<Storage>> {
      MERCUTIO_LET(auto storage, at.driver->open(at.path, options));
      return std::unique_ptr<Storage>(std::make_unique<Wrong>(std::move(storage)));
    }, true);
    check.run(run);
    EXPECT_FALSE(run.failures().empty()) << check.sentence;
  }
}

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
