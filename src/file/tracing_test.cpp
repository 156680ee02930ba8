// What a sink is told of an access does not depend on the way that the access takes through the library.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "file/test_support.h"

namespace mercutio {
namespace {

struct Told {
  TraceKind kind;
  i64 bytes, offset, end_offset, piece_bytes, pieces, span, storage_ns;
  bool write, collective, waited, failed;
  std::string name;
  bool operator==(const Told&) const = default;
};

class Listener final : public Tracer {
 public:
  std::unique_ptr<TraceSink> file(const FileFacts&) override { return std::make_unique<Forward>(*this); }
  void record(const TraceEvent& event) {
    if (event.kind != TraceKind::kAccess && event.kind != TraceKind::kStorageRead && event.kind != TraceKind::kStorageWrite) return;
    EXPECT_LE(event.start_ns, event.end_ns);
    std::lock_guard lock(mutex);
    const AccessFacts facts = event.access ? *event.access : AccessFacts();
    const i64 stored = event.access ? event.counters->clock.spent()[static_cast<size_t>(Phase::kStorage)] : 0;
    if (event.access) {
      i64 spent = 0;
      for (const i64 phase : event.counters->clock.spent()) spent += phase;
      phases_add_up = phases_add_up && spent == event.end_ns - event.start_ns;
      spans.emplace_back(event.start_ns, event.end_ns);
    }
    told.push_back({event.kind, event.bytes, event.offset, facts.end_offset, facts.piece_bytes, event.pieces, event.span, stored > 0 ? 1 : 0,
                    facts.direction == Direction::kWrite, facts.collective, facts.waited, facts.failed, std::string(event.detail)});
  }
  std::mutex mutex;   // of what follows, as long as accesses are under way
  std::vector<Told> told;
  std::vector<i64> steps;
  std::vector<std::pair<i64, i64>> spans;   // of accesses
  bool phases_add_up = true;
  std::string opening;   // of the first open

 private:
  struct Forward final : TraceSink {
    explicit Forward(Listener& owner) : owner(owner) {}
    void record(const TraceEvent& event) override { owner.record(event); }
    void step(const TraceStep& step) override {
      std::lock_guard lock(owner.mutex);
      if (step.kind == StepKind::kAccess) owner.steps.push_back(step.offset), owner.steps.push_back(step.bytes), owner.steps.push_back(step.write ? 1 : 0);
    }
    i64 shape(const std::string&, const ShapeMaker& make) override {
      const auto text = make(1 << 20);
      std::lock_guard lock(owner.mutex);
      if (text && owner.opening.empty()) owner.opening.assign(reinterpret_cast<const char*>(text->data()), text->size());
      return 0;
    }
    Listener& owner;
  };
};

// Memory in pieces goes the long way, also where the pieces are adjacent.
void tell(bool long_way, Listener& listener) {
  const FlatTypeRef memory = long_way ? FlatType::lower(*make_resized(0, 1001, make_contiguous(1000, byte_type()))).value() : contiguous_bytes();
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    OpenCall call;
    call.file_name = unique_name();
    call.amode = kReadWrite;
    auto file = *open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, &listener});
    std::vector<std::byte> data(1000, std::byte{1});
    auto access = [&](Direction direction, Positioning positioning, bool collective, i64 offset) {
      AccessCall one = call_of(direction, data, offset);
      one.name = "an access";
      one.positioning = positioning;
      one.collective = collective;
      one.memory = Memory{data.data(), memory, long_way ? 1 : 1000};
      (void)file->access(std::move(one));
    };
    access(Direction::kWrite, Positioning::kExplicit, false, 100);
    access(Direction::kWrite, Positioning::kIndividual, false, 0);
    access(Direction::kWrite, Positioning::kExplicit, true, 3000);
    access(Direction::kRead, Positioning::kExplicit, false, 3500);   // ends with the file
    access(Direction::kRead, Positioning::kIndividual, true, 0);
    EXPECT_TRUE(file->close().ok());
  });
}

TEST(Tracing, BothWaysTellTheSame) {
  Listener short_way, long_way;
  tell(false, short_way);
  tell(true, long_way);
  EXPECT_EQ(short_way.told.size(), 10u);
  EXPECT_TRUE(short_way.told == long_way.told);
  EXPECT_EQ(short_way.steps, long_way.steps);
}

// How often the hints of a file are told.
struct HintsTold final : Tracer {
  std::unique_ptr<TraceSink> file(const FileFacts&) override {
    struct Forward final : TraceSink {
      explicit Forward(HintsTold& owner) : owner(owner) {}
      void record(const TraceEvent&) override {}
      void note(std::string_view what, std::string_view) override { owner.times += what == "hints"; }
      HintsTold& owner;
    };
    return std::make_unique<Forward>(*this);
  }
  std::atomic<i64> times{0};
};

// HDF5 gives the Info of the open with each view.
TEST(Tracing, AViewWithTheHintsThatHoldChangesNone) {
  HintsTold listener;
  const std::string name = unique_name();
  on_ranks(2, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const bool counts = comm->rank() == 0;
    const InfoItems at_open = {{"cb_nodes", "2"}}, other = {{"cb_nodes", "1"}};
    OpenCall call;
    call.file_name = name;
    call.amode = kReadWrite;
    call.info = at_open;
    auto file = *open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, &listener});
    const auto told_by = [&](const InfoItems& info) {
      const i64 before = listener.times;
      EXPECT_TRUE(file->set_view({0, byte_type(), byte_type(), "native", info}));
      return counts ? listener.times - before : 0;
    };
    EXPECT_EQ(told_by(at_open), 0);
    EXPECT_EQ(told_by({}), 0);
    EXPECT_EQ(told_by(other), counts ? 1 : 0);
    EXPECT_EQ(told_by(other), 0);
    EXPECT_EQ(told_by(at_open), counts ? 1 : 0);
    EXPECT_TRUE(file->close().ok());
  });
}

// What fails before it moves anything is an access as well.
TEST(Tracing, AccessesThatAreRefusedAreTold) {
  Listener listener;
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    OpenCall call;
    call.file_name = unique_name();
    call.amode = mode({&Amode::write_only, &Amode::create});
    auto file = *open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, &listener});
    std::vector<std::byte> data(1000, std::byte{1});
    EXPECT_FALSE(file->access(call_of(Direction::kRead, data)).ok());
    EXPECT_FALSE(file->start(call_of(Direction::kRead, data), nullptr).ok());
    EXPECT_FALSE(file->access(call_of(Direction::kWrite, data, -1)).ok());
    EXPECT_FALSE(file->start(call_of(Direction::kWrite, data, -1), nullptr).ok());
    EXPECT_TRUE(file->close().ok());
  });
  ASSERT_EQ(listener.told.size(), 4u);
  for (const Told& one : listener.told) EXPECT_TRUE(one.failed && one.waited && one.bytes == 0 && one.offset == -1 && one.kind == TraceKind::kAccess);
  EXPECT_TRUE(!listener.told[0].write && !listener.told[1].write && listener.told[2].write && listener.told[3].write);
  EXPECT_TRUE(listener.phases_add_up);
}

// Of an access that fails on its way the trace knows what it moved, as MPI_Get_count does.
TEST(Tracing, WhatAFailedAccessMovedIsTold) {
  Listener listener;
  const std::string name = std::filesystem::temp_directory_path() / ("mercutio-moved-" + std::to_string(getpid()));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    OpenCall call;
    call.file_name = name;
    call.amode = kReadWrite;
    auto file = *open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, &listener});
    std::vector<std::byte> data(1000, std::byte{1});
    const rlimit small{1500, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    EXPECT_FALSE(file->access(call_of(Direction::kWrite, data, 1000)).ok());
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(file->close().ok());
  });
  std::signal(SIGXFSZ, ignored);
  std::filesystem::remove(name);
  const auto access = std::find_if(listener.told.begin(), listener.told.end(), [](const Told& one) { return one.kind == TraceKind::kAccess; });
  ASSERT_NE(access, listener.told.end());
  EXPECT_TRUE(access->failed);
  EXPECT_EQ(access->bytes, 500);
}

constexpr std::chrono::nanoseconds kLateBy = std::chrono::milliseconds(50);

// How long each collective call waited, and how many short calls there were.
struct Waits final : Tracer {
  std::unique_ptr<TraceSink> file(const FileFacts&) override {
    struct Forward final : TraceSink {
      explicit Forward(Waits& owner) : owner(owner) {}
      void record(const TraceEvent& event) override { owner.record(event); }
      Waits& owner;
    };
    return std::make_unique<Forward>(*this);
  }
  void record(const TraceEvent& event) {
    if (event.kind == TraceKind::kSize) ++sizes, size_calls += event.pieces;
    if (event.kind == TraceKind::kSetting && event.late_ns == 0 && event.detail == "MPI_File_get_position_shared") return void(positions += event.pieces);
    const auto meets = {TraceKind::kOpen, TraceKind::kSync, TraceKind::kResize, TraceKind::kView, TraceKind::kSetting, TraceKind::kClose};
    if (std::find(meets.begin(), meets.end(), event.kind) == meets.end()) return;
    EXPECT_LE(event.late_ns, event.end_ns - event.start_ns);
    late.push_back(event.late_ns);
  }
  std::vector<i64> late;
  i64 sizes = 0, size_calls = 0, positions = 0;
};

// Makes nine collective calls, to each of which rank 1 of three comes late, and others.
std::vector<Waits> wait_for_a_late_rank() {
  static constexpr i64 kRanks = 3, kLate = 1;
  std::vector<Waits> waits(kRanks);
  std::atomic<i64> early_ones{0};   // that have been about to call
  const std::string name = unique_name();
  on_ranks(kRanks, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 me = comm->rank();
    auto come_late = [&, me, calls = 0]() mutable {
      ++calls;
      if (me != kLate) return void(++early_ones);
      while (early_ones < (kRanks - 1) * calls) std::this_thread::yield();
      std::this_thread::sleep_for(kLateBy);
    };
    OpenCall call;
    call.file_name = name;
    call.amode = kReadWrite;
    const Context context{rank.progress.get(), &rank.datareps, &waits[static_cast<size_t>(me)]};
    come_late();
    auto file = *open_file(std::move(comm), call, context);
    come_late();
    EXPECT_TRUE(file->sync().ok());
    for (i64 asked = 0; asked < 50; ++asked) EXPECT_TRUE(asked % 2 == 0 ? file->size().ok() : file->seek(0, Whence::kEnd).ok());
    for (i64 asked = 0; asked < 21; ++asked) EXPECT_TRUE(file->position_shared().ok());
    come_late();
    EXPECT_TRUE(file->set_size(1000).ok());
    come_late();
    EXPECT_TRUE(file->preallocate(2000).ok());
    come_late();
    EXPECT_TRUE(file->set_view({0, byte_type(), byte_type(), "native", {{"cb_nodes", "1"}}}).ok());   // which sets hints, too
    come_late();
    EXPECT_TRUE(file->set_info({{"cb_nodes", "1"}}).ok());
    come_late();
    EXPECT_TRUE(file->set_atomicity(true).ok());
    come_late();
    EXPECT_TRUE(file->seek_shared(0, Whence::kEnd).ok());
    come_late();
    EXPECT_TRUE(file->close().ok());
  });
  return waits;
}

// The others wait for the rank that comes last, which does not wait itself. A rank that gets no processor comes late, too: then again.
TEST(Tracing, WaitingForALateRankIsTold) {
  std::set<size_t> untold{0, 1, 2, 3, 4, 5, 6, 7, 8};
  for (int attempt = 0; attempt < 10 && !untold.empty(); ++attempt) {
    const std::vector<Waits> waits = wait_for_a_late_rank();
    for (const Waits& one : waits) ASSERT_EQ(one.late.size(), 9u);
    std::erase_if(untold, [&](size_t call) {
      const auto is_told = [&](size_t early) { return waits[early].late[call] >= i64{kLateBy.count()} / 2 && waits[early].late[call] > waits[1].late[call]; };
      return is_told(0) && is_told(2);
    });
    EXPECT_EQ(waits[0].sizes, 16 + 2 + 1) << "of many, one in 16 is looked at";
    EXPECT_EQ(waits[0].size_calls, 50);
    EXPECT_EQ(waits[0].positions, 21);
  }
  EXPECT_EQ(untold, std::set<size_t>()) << "these calls";
}

// Between the calls of an ordered split access, of which a trace keeps more than of others.
TEST(Tracing, ACallInASplitAccessIsAnErrorAndDoesNotHang) {
  std::vector<Listener> listeners(2);
  const std::string name = unique_name();
  on_ranks(2, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    OpenCall call;
    call.file_name = name;
    call.amode = kReadWrite;
    Listener& listener = listeners[static_cast<size_t>(comm->rank())];
    auto file = *open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, &listener});
    std::vector<std::byte> data(8);
    AccessCall ordered = call_of(Direction::kWrite, data);
    ordered.collective = true;
    ordered.positioning = Positioning::kShared;
    EXPECT_TRUE(file->begin(ordered));
    EXPECT_EQ(class_of(file->sync()), ErrorClass::kOther);
    EXPECT_EQ(class_of(file->set_size(3)), ErrorClass::kOther);
    EXPECT_TRUE(file->end("end", Direction::kWrite, Positioning::kShared, data.data()));
    EXPECT_EQ(*file->size(), 16);
    EXPECT_TRUE(file->close());
  });
}

// Of nonblocking accesses that are started together, two at most run at a time: here the thread of progress and the one that waits drive
// them. The sum of their times is this many times the time of all: 3.5 times, were each timed from when it was started.
double times_of_accesses_in_the_background() {
  constexpr i64 kAccesses = 6;
  Listener listener;
  i64 elapsed_ns = 0;
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    OpenCall call;
    call.file_name = unique_name();
    call.amode = kReadWrite;
    auto file = *open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, &listener});
    std::vector<std::byte> data(16 * MiB, std::byte{1});
    std::vector<RequestRef> requests;
    const i64 start_ns = now_ns();
    for (i64 i = 0; i < kAccesses; ++i) {
      AccessCall one = call_of(Direction::kWrite, data, i * static_cast<i64>(data.size()));
      one.collective = true;
      requests.push_back(*file->start(std::move(one), nullptr));
    }
    for (RequestRef& request : requests) EXPECT_TRUE(request->wait().ok());
    elapsed_ns = now_ns() - start_ns;
    EXPECT_TRUE(file->close().ok());
  });
  EXPECT_EQ(std::ssize(listener.spans), kAccesses);
  i64 sum_ns = 0;
  for (const auto& [start, end] : listener.spans) {
    EXPECT_LT(start, end);
    sum_ns += end - start;
  }
  EXPECT_TRUE(listener.phases_add_up);
  return static_cast<double>(sum_ns) / static_cast<double>(elapsed_ns);
}

// What a thread waits for a processor is in the time of its access, too: then again.
TEST(Tracing, AnAccessInTheBackgroundBeginsWhenItsTurnComes) {
  double times = times_of_accesses_in_the_background();
  for (int attempt = 1; attempt < 5 && times >= 2.5; ++attempt) times = times_of_accesses_in_the_background();
  EXPECT_LT(times, 2.5);
}

// Looks at no access.
class Passing final : public Tracer {
 public:
  std::unique_ptr<TraceSink> file(const FileFacts&) override { return std::make_unique<Sink>(*this); }
  SamplesOfAccesses accesses;

 private:
  struct Sink final : TraceSink {
    explicit Sink(Passing& owner) {
      samples_ = &owner.accesses;
      for (SampledAccesses& alike : owner.accesses) alike.left = 1000;
    }
    void record(const TraceEvent& event) override { EXPECT_NE(event.kind, TraceKind::kAccess); }
  };
};

// Each once, also one that is started, and then moved at once.
TEST(Tracing, AccessesThatArePassedOverAreTimed) {
  Passing passing;
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    OpenCall call;
    call.file_name = unique_name();
    call.amode = kReadWrite;
    auto file = *open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, &passing});
    std::vector<std::byte> data(1000, std::byte{1});
    for (i64 i = 0; i < 5; ++i) EXPECT_TRUE(file->access(call_of(Direction::kWrite, data, i * 1000)).ok());
    RequestRef request = *file->start(call_of(Direction::kWrite, data, 5000), nullptr);
    EXPECT_TRUE(request->wait().ok());
    EXPECT_TRUE(file->close().ok());
  });
  const SampledAccesses& writes = passing.accesses[static_cast<std::size_t>(kSizeBuckets + size_bucket(1000))];
  EXPECT_EQ(writes.left, 1000 - 6);
  EXPECT_EQ(writes.bytes, 6000);
  EXPECT_EQ(writes.timed, 6);
  EXPECT_GT(writes.ticks, 0);
}

// A line each, whatever the name is.
TEST(Tracing, AnOpeningHasThreeLines) {
  Listener listener;
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    OpenCall call;
    call.members = "world";
    call.file_name = unique_name() + "\nb=c";
    call.amode = kReadWrite;
    auto file = *open_file(std::move(comm), call, Context{rank.progress.get(), &rank.datareps, &listener});
    EXPECT_TRUE(file->close().ok());
  });
  EXPECT_EQ(std::count(listener.opening.begin(), listener.opening.end(), '\n'), 3) << listener.opening;
  EXPECT_TRUE(listener.opening.ends_with(std::string("\0b=c\n", 5))) << listener.opening;
}

// What one rank of two has learned by opening a file with another process. `world_rank`: of each rank, as in OpenCall.
std::pair<bool, bool> record_and_number(const std::vector<i64>& world_rank) {
  std::atomic<bool> all_record[2] = {};
  i64 job[2] = {-1, -1};
  const std::string name = unique_name();
  on_ranks(2, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const auto me = static_cast<std::size_t>(comm->rank());
    OpenCall call;
    call.world_rank = world_rank[me];
    call.file_name = name;
    call.amode = kReadWrite;
    Context context{rank.progress.get(), &rank.datareps};
    context.job_processes = 2;
    context.job = &job[me];
    context.all_record = &all_record[me];
    EXPECT_TRUE((*open_file(std::move(comm), call, context))->close());
  });
  EXPECT_EQ(all_record[0], all_record[1]);
  EXPECT_EQ(job[0], job[1]);
  return {all_record[0], job[0] > 0};
}

// As many processes may be one of two and another one that it has spawned.
TEST(Tracing, OnlyAFileOfAllOfTheWorldTellsOfAllOfIt) {
  EXPECT_EQ(record_and_number({-1, -1}), std::pair(false, false));
  EXPECT_EQ(record_and_number({0, 1}), std::pair(true, true));
  EXPECT_EQ(record_and_number({1, 0}), std::pair(true, true));
}

}  // namespace
}  // namespace mercutio
