// Memory that can't be had, on one rank: the n-th allocation of a call fails once, for every n, or allocations fail as
// soon as the rank has taken a number of bytes, or now and then. After each: nobody hangs (the test's time limit is the watchdog), all
// ranks report the same, success means the right bytes, and the next call on the same file works.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <filesystem>

#include "base/attempt.h"
#include "base/reserve.h"
#include "comm/in_process.h"
#include "engine/engine.h"
#include "engine/progress/progress.h"
#include "engine/test_support.h"
#include "failing_heap.h"
#include "file/file.h"

namespace {
std::atomic<bool> like_nfs{false};
}

// Files of these tests look like files of NFS while `like_nfs` is set.
extern "C" int fstatfs(int fd, struct statfs* info) {
  const long failed = syscall(SYS_fstatfs, fd, info);
  if (failed == 0 && like_nfs) info->f_type = NFS_SUPER_MAGIC;
  return static_cast<int>(failed);
}

namespace mercutio {
namespace {

using namespace mercutio::testing;

// How memory runs out.
struct Shortage {
  long until_failure = -1;
  long bytes_left = LONG_MAX;
  long every = 0;
};

// Runs a call of the rank without memory; `failures`: how often it could not have any.
template <class Call>
auto short_of_memory(const Shortage& shortage, long& failures, Call call) -> decltype(call()) {
  EXPECT_TRUE(hold_reserve().ok());
  heap = Heap{true, shortage.until_failure, shortage.bytes_left, 0, shortage.every};
  auto result = attempt(call);
  failures = heap.failures;
  heap = Heap{};
  return result;
}

// ---- the engine's collective accesses ----

struct Shape {
  const char* name;
  Direction direction;
  Toggle buffering;
  WantedExchange exchange;
  bool shares_memory;
  i64 nodes;
  bool holes;
  i64 window;   // cb_buffer_size
};

constexpr i64 kRanks = 3, kBlock = 40, kBlocks = 60, kRunBytes = 100;

struct Ran {
  std::vector<Result<i64>> results;
  long failures = 0;
  std::atomic<bool> right{true};
};

void run_access(const Shape& shape, i64 victim, const Shortage& shortage, Ran& out) {
  Random random(5);
  SharedFile file;
  file.bytes = random_bytes(random, 2 * kBlock * kBlocks * kRanks);
  const auto before = file.bytes;
  WriteOracle oracle(file.bytes);
  Hints hints;
  hints.romio_cb_read = hints.romio_cb_write = shape.buffering;
  hints.mercutio_exchange = shape.exchange;
  hints.cb_buffer_size = shape.window;
  hints.cb_nodes = 2;
  std::mutex mutex;
  out.results.assign(kRanks, Result<i64>(i64{-1}));
  Topology topology;
  for (i64 rank = 0; rank < kRanks; ++rank) topology.node_of_rank.push_back(rank % shape.nodes);
  for (i64 node = 0; node < shape.nodes; ++node) topology.node_names.push_back("n" + std::to_string(node));
  run_ranks(kRanks, [&](Comm& comm) {
    Random mine(static_cast<std::uint64_t>(comm.rank()));
    TestStorage storage(file);
    std::atomic<bool> dirty{false};
    RunListCaches run_lists;
    EngineFile engine_file{&storage, &comm, &hints, nullptr, &dirty, true};
    engine_file.run_lists = &run_lists;
    const auto arena = arena_of(comm);
    const i64 pitch = kBlock * kRanks + (shape.holes ? kBlock : 0);
    const ViewRef view = make_view(kBlock * comm.rank(), make_resized(0, pitch, make_contiguous(kBlock, byte_type())));
    OwnedAccess owned = make_access(shape.direction, view, 0, kBlock * kBlocks,
                                    make_hvector(kBlocks, kBlock, kBlock + 1, byte_type()));
    if (shape.direction == Direction::kWrite) {
      fill_memory(mine, owned);
      std::lock_guard lock(mutex);
      oracle.add(owned);
    }
    const auto access = [&](i64 tag) {
      auto task = collective(engine_file, channel_of(comm, tag, arena), owned.access, {});
      return run(std::move(task), [&](i64 spins) { comm.backoff(spins); });
    };
    const bool is_victim = comm.rank() == victim;
    const auto call = [&] {
      const UsesReserve uses;   // as every entry point has
      return access(0);
    };
    Result<i64> result = is_victim ? short_of_memory(shortage, out.failures, call) : call();
    if (result && shape.direction == Direction::kRead && !read_is_right(owned, before, *result)) out.right = false;
    Result<i64> again = access(8);
    EXPECT_TRUE(again.ok()) << again.error().what;
    const bool reads = shape.direction == Direction::kRead;
    EXPECT_TRUE(!again || !reads || read_is_right(owned, before, *again));
    EXPECT_TRUE(!again || !result || *result == *again);
    out.results[static_cast<size_t>(comm.rank())] = std::move(result);
  }, topology, shape.shares_memory);
  EXPECT_TRUE(file.locks.empty());
  EXPECT_EQ(oracle.first_wrong(file.bytes), -1);
}

template <class Results>
void expect_same(const Results& results) {
  for (const auto& result : results) {
    ASSERT_EQ(result.ok(), results[0].ok());
    if (result.ok()) continue;
    ASSERT_EQ(result.error().cls, ErrorClass::kNoMem) << result.error().what;
  }
}

constexpr Toggle kOn = Toggle::kEnable, kOff = Toggle::kDisable;
const Shape kShapes[] = {
    {"write_messages", Direction::kWrite, kOn, WantedExchange::kMessages, false, 1, false, 1000},
    {"write_messages_holes", Direction::kWrite, kOn, WantedExchange::kMessages, false, 1, true, 1000},
    {"read_messages", Direction::kRead, kOn, WantedExchange::kMessages, false, 1, true, 1000},
    {"write_shared", Direction::kWrite, kOn, WantedExchange::kAuto, true, 1, false, 1000},
    {"write_shared_holes", Direction::kWrite, kOn, WantedExchange::kAuto, true, 1, true, 1000},
    {"read_shared", Direction::kRead, kOn, WantedExchange::kAuto, true, 1, true, 1000},
    {"write_two_layer", Direction::kWrite, kOn, WantedExchange::kTwoLayer, true, 2, true, 1000},
    {"read_two_layer", Direction::kRead, kOn, WantedExchange::kTwoLayer, true, 2, true, 1000},
    {"write_alone", Direction::kWrite, kOff, WantedExchange::kAuto, true, 1, true, 1000},
    {"read_alone", Direction::kRead, kOff, WantedExchange::kAuto, true, 1, true, 1000},
};

class MemoryFault : public ::testing::TestWithParam<Shape> {};

TEST_P(MemoryFault, NthAllocation) {
  for (const i64 victim : {0, 2}) {
    for (long n = 0;; ++n) {
      ASSERT_LT(n, 5000);
      Ran ran;
      run_access(GetParam(), victim, {n, LONG_MAX}, ran);
      SCOPED_TRACE("victim " + std::to_string(victim) + ", allocation " + std::to_string(n));
      expect_same(ran.results);
      ASSERT_TRUE(ran.right);
      if (ran.failures == 0) break;
    }
  }
}

TEST_P(MemoryFault, SoManyBytes) {
  for (const i64 victim : {0, 2}) {
    for (long bytes = 0;; bytes += 64 + bytes / 8) {
      ASSERT_LT(bytes, 1L << 32);
      Ran ran;
      run_access(GetParam(), victim, {-1, bytes}, ran);
      SCOPED_TRACE("victim " + std::to_string(victim) + ", bytes " + std::to_string(bytes));
      expect_same(ran.results);
      ASSERT_TRUE(ran.right);
      if (ran.failures == 0) break;
    }
  }
}

TEST_P(MemoryFault, NowAndThen) {
  for (const long every : {2, 3, 7}) {
    SCOPED_TRACE("every " + std::to_string(every));
    Ran ran;
    run_access(GetParam(), /*victim=*/0, {.every = every}, ran);
    expect_same(ran.results);
    ASSERT_TRUE(ran.right);
    EXPECT_GT(ran.failures, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MemoryFault, ::testing::ValuesIn(kShapes),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- the calls of a file ----

struct Rank {
  Comm& comm;
  std::unique_ptr<Progress> progress = make_progress_thread();
  std::unique_ptr<File> file;
  std::vector<std::byte> buffer = std::vector<std::byte>(5000);
  Context context() { return Context{progress.get(), nullptr, nullptr, nullptr, false, false}; }

  AccessCall access(Direction direction, i64 bytes = 5000) {
    AccessCall call;
    call.name = "test";
    call.direction = direction;
    call.positioning = Positioning::kExplicit;
    call.collective = true;
    call.memory = Memory{buffer.data(), contiguous_bytes(), bytes};
    call.memory_spec = byte_type();
    return call;
  }
};

Status status_of(const Result<i64>& result) { return result ? ok_status() : Status(result.error()); }

Status open_it(Rank& rank, std::unique_ptr<Comm> comm, const std::string& name) {
  OpenCall call;
  call.file_name = name;
  call.amode.read_write = call.amode.create = true;
  call.argument_error = hold_reserve();
  auto opened = open_file(std::move(comm), call, rank.context());
  if (!opened) return opened.error();
  rank.file = std::move(*opened);
  return ok_status();
}

Status set_view(Rank& rank) {
  const TypeSpecRef filetype = make_resized(0, kRunBytes * rank.comm.size(), make_contiguous(kRunBytes, byte_type()));
  return rank.file->set_view({kRunBytes * rank.comm.rank(), byte_type(), filetype, "native", {}, ok_status()});
}

struct Call {
  const char* name;
  Status (*run)(Rank& rank);
};

const Call kCalls[] = {
    {"set_view", set_view},
    {"write_at_all", [](Rank& rank) { return status_of(rank.file->access(rank.access(Direction::kWrite))); }},
    {"iwrite_at_all",
     [](Rank& rank) -> Status {
       auto started = rank.file->start(rank.access(Direction::kWrite), nullptr);
       return started ? status_of((*started)->wait()) : Status(started.error());
     }},
    {"split",
     [](Rank& rank) -> Status {
       MERCUTIO_TRY(rank.file->begin(rank.access(Direction::kRead)));
       return status_of(rank.file->end("test", Direction::kRead, Positioning::kExplicit, nullptr));
     }},
    {"read_at_all", [](Rank& rank) { return status_of(rank.file->access(rank.access(Direction::kRead))); }},
    {"write_runs_at_all",   // the third as runs, as the write before was none
     [](Rank& rank) -> Status {
       for (int i = 0; i < 3; ++i) MERCUTIO_TRY(rank.file->access(rank.access(Direction::kWrite, kRunBytes)));
       return ok_status();
     }},
    {"read_run_at_all", [](Rank& rank) { return status_of(rank.file->access(rank.access(Direction::kRead, kRunBytes))); }},
    {"set_size", [](Rank& rank) { return rank.file->set_size(100000); }},
    {"sync", [](Rank& rank) { return rank.file->sync(); }},
    {"set_info", [](Rank& rank) { return rank.file->set_info({{"cb_buffer_size", "4096"}, {"no_such_hint", "1"}}); }},
    {"set_atomicity", [](Rank& rank) { return rank.file->set_atomicity(true); }},
};

// The name of a file that nobody has opened before.
std::string fresh_name() {
  static std::atomic<i64> number{0};
  return "memory:memory-fault-" + std::to_string(number++);
}

// One call, of the rank without memory or of another.
template <class F>
Status make_call(bool victim, const Shortage& shortage, long& failures, F call) {
  const auto guarded = [&]() -> Status {
    const UsesReserve uses;
    return call();
  };
  return victim ? short_of_memory(shortage, failures, guarded) : attempt(guarded);
}

// Calls body(rank, its communicator) on a thread of each rank.
template <class Body>
void on_each_rank(Body body) {
  auto comms = make_in_process_world(kRanks, {});
  std::vector<std::thread> threads;
  for (auto& comm : comms) {
    threads.emplace_back([&] {
      Rank rank{*comm};
      body(rank, std::move(comm));
    });
  }
  for (auto& thread : threads) thread.join();
}

long run_open(i64 victim, const Shortage& shortage) {
  const std::string name = fresh_name();
  std::vector<Status> results(kRanks, ok_status());
  long failures = 0;
  auto others = make_in_process_world(kRanks, {});
  on_each_rank([&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 i = rank.comm.rank();
    const auto r = static_cast<size_t>(i);
    results[r] = make_call(i == victim, shortage, failures, [&] { return open_it(rank, std::move(comm), name); });
    const Status again = rank.file ? ok_status() : open_it(rank, std::move(others[r]), name);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(rank.file->close().ok());
  });
  expect_same(results);
  return failures;
}

long run_call(const Call& call, i64 victim, const Shortage& shortage) {
  const std::string name = fresh_name();
  std::vector<Status> results(kRanks, ok_status());
  long failures = 0;
  on_each_rank([&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 i = rank.comm.rank();
    const auto r = static_cast<size_t>(i);
    ASSERT_TRUE(open_it(rank, std::move(comm), name).ok());
    ASSERT_TRUE(set_view(rank).ok());
    std::fill(rank.buffer.begin(), rank.buffer.end(), static_cast<std::byte>(i + 1));
    ASSERT_TRUE(kCalls[1].run(rank).ok());
    results[r] = make_call(i == victim, shortage, failures, [&] { return call.run(rank); });
    std::fill(rank.buffer.begin(), rank.buffer.end(), std::byte{0});
    EXPECT_TRUE(kCalls[4].run(rank).ok());
    const auto right = std::count(rank.buffer.begin(), rank.buffer.end(), static_cast<std::byte>(i + 1));
    EXPECT_EQ(right, std::ssize(rank.buffer));
    EXPECT_TRUE(rank.file->close().ok());
  });
  expect_same(results);
  return failures;
}

template <class RunIt>
void sweep(RunIt run_it) {
  for (const i64 victim : {0, 2}) {
    for (long n = 0; !::testing::Test::HasFailure(); ++n) {
      SCOPED_TRACE("victim " + std::to_string(victim) + ", allocation " + std::to_string(n));
      if (run_it(victim, Shortage{n, LONG_MAX}) == 0) break;
    }
    for (long bytes = 0; !::testing::Test::HasFailure(); bytes += 64 + bytes / 8) {
      SCOPED_TRACE("victim " + std::to_string(victim) + ", bytes " + std::to_string(bytes));
      if (run_it(victim, Shortage{-1, bytes}) == 0) break;
    }
    for (const long every : {2, 3, 7}) {
      SCOPED_TRACE("victim " + std::to_string(victim) + ", every " + std::to_string(every));
      (void)run_it(victim, Shortage{.every = every});
    }
  }
}

TEST(MemoryFault, Open) {
  sweep([](i64 victim, const Shortage& shortage) { return run_open(victim, shortage); });
}

class FileMemoryFault : public ::testing::TestWithParam<Call> {};

TEST_P(FileMemoryFault, Sweep) {
  sweep([](i64 victim, const Shortage& shortage) { return run_call(GetParam(), victim, shortage); });
}

INSTANTIATE_TEST_SUITE_P(Calls, FileMemoryFault, ::testing::ValuesIn(kCalls),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- writes that are kept until the ranks write theirs together (storage/lazy_writes.h) ----

constexpr i64 kPieceBytes = 4, kPieces = 300000;   // their list is larger than the reserve's largest block

// Each rank's pieces are `ranks` pieces apart.
Status write_piece(Rank& rank, i64 number, i64 value) {
  const i64 at = (number * kRanks + rank.comm.rank()) * kPieceBytes;
  std::fill_n(rank.buffer.begin(), kPieceBytes, static_cast<std::byte>(value));
  AccessCall call = rank.access(Direction::kWrite);
  call.collective = false;
  call.offset = at;
  call.memory.count = kPieceBytes;
  return status_of(rank.file->access(call));
}

const Call kCallsThatWriteOut[] = {
    {"write_at", [](Rank& rank) { return write_piece(rank, kPieces, 1); }},
    {"set_view", [](Rank& rank) { return rank.file->set_view({0, byte_type(), byte_type(), "native", {}, ok_status()}); }},
    {"set_size", [](Rank& rank) { return rank.file->set_size(kRanks * (kPieces + 2) * kPieceBytes); }},
    {"sync", [](Rank& rank) { return rank.file->sync(); }},
    {"set_atomicity", [](Rank& rank) { return rank.file->set_atomicity(true); }},
    {"close", [](Rank& rank) { return rank.file->close(); }},
};

Status open_lazily(Rank& rank, std::unique_ptr<Comm> comm, const std::string& name) {
  OpenCall call;
  call.file_name = name;
  call.amode.write_only = call.amode.create = true;
  call.info = {{"mercutio_coherence", "locks"}, {"mercutio_write_behind", "enable"}};
  auto opened = open_file(std::move(comm), call, rank.context());
  if (!opened) return opened.error();
  rank.file = std::move(*opened);
  return ok_status();
}

void expect_pieces(const std::string& name, const std::vector<Status>& last) {
  const int fd = ::open(name.c_str(), O_RDONLY);
  std::vector<std::byte> data(static_cast<size_t>(kRanks * (kPieces + 1) * kPieceBytes));
  EXPECT_GE(pread(fd, data.data(), data.size(), 0), kRanks * kPieces * kPieceBytes);
  ::close(fd);
  i64 wrong = 0;
  for (i64 i = 0; i < std::ssize(data); ++i) {
    const i64 piece = i / kPieceBytes, rank = piece % kRanks;
    const bool written = piece / kRanks < kPieces || last[static_cast<size_t>(rank)].ok();
    wrong += written && data[static_cast<size_t>(i)] != std::byte{1} ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
}

void run_lazily(const Call& call, i64 victim, const Shortage& shortage) {
  char name[] = "/tmp/mercutio-memory-XXXXXX";
  ::close(::mkstemp(name));
  std::vector<Status> results(kRanks, ok_status()), last(kRanks, ok_status());
  long failures = 0;
  on_each_rank([&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 i = rank.comm.rank();
    const auto r = static_cast<size_t>(i);
    ASSERT_TRUE(open_lazily(rank, std::move(comm), name).ok());
    const auto begin = std::chrono::steady_clock::now();
    for (i64 piece = 0; piece < kPieces; ++piece) ASSERT_TRUE(write_piece(rank, piece, 1).ok());
    if (std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {   // older ones aren't kept: an emulator needs longer
      ASSERT_EQ(std::filesystem::file_size(name), 0U) << "nothing is kept";
    }
    results[r] = make_call(i == victim, shortage, failures, [&] { return call.run(rank); });
    const bool closed = std::string_view(call.name) == "close", writes = std::string_view(call.name) == "write_at";
    last[r] = closed || writes ? results[r] : write_piece(rank, kPieces, 1);
    if (closed) last[r] = Error{ErrorClass::kOther, "not written"};
    if (!closed) {
      EXPECT_TRUE(rank.file->close().ok());
    }
  });
  if (std::string_view(call.name) != "write_at") expect_same(results);
  expect_pieces(name, last);
  ::unlink(name);
}

class LazyMemoryFault : public ::testing::TestWithParam<Call> {
 protected:
  void SetUp() override { like_nfs = true; }
  void TearDown() override { like_nfs = false; }
};

TEST_P(LazyMemoryFault, LosesNothing) {
  for (const long bytes : {4096L, 2 * MiB, 8 * MiB}) {
    SCOPED_TRACE("bytes " + std::to_string(bytes));
    run_lazily(GetParam(), kRanks - 1, Shortage{-1, bytes});
  }
}

INSTANTIATE_TEST_SUITE_P(Calls, LazyMemoryFault, ::testing::ValuesIn(kCallsThatWriteOut), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mercutio
