// What is kept of more events than there is room for stands for all of them: whole calls, evenly over ranks, files and time, whatever
// the program's rhythm; maps of files are exact.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>

#include "base/core_time.h"
#include "insight/findings.h"
#include "insight/job.h"
#include "insight/recorder.h"
#include "insight/test_support.h"

namespace mercutio {
namespace {

constexpr i64 kRanks = 4, kCalls = 40'000, kCallNs = 10'000;

// One call of a rank.
struct Call {
  i64 offset = 0, bytes = 512, end = 0;  // end: 0: contiguous
  i64 requests = 1;                      // that the storage gets for it
  i64 file = 0;
};
using Pattern = Call(i64 rank, i64 step);

Call blocks(i64 rank, i64 step) { return {(rank * kCalls + step) * 512}; }
Call in_turns(i64 rank, i64 step) { return {(step * kRanks + rank) * 512}; }
Call backwards(i64 rank, i64 step) { return {((kCalls - step) * kRanks - rank - 1) * 512}; }
Call powers_of_two(i64 rank, i64 step) { return {(step * kRanks + rank) * 4096, i64{256} << rank}; }
Call many_requests(i64 rank, i64 step) { return {(step * kRanks + rank) * 512, 512, 0, 1 + step % 4}; }
Call aggregator(i64 rank, i64 step) { return {(step * kRanks + rank) * 512, 512, 0, rank == 0 ? 4 : 0}; }
Call every_other_large(i64 rank, i64 step) { return {(step * kRanks + rank) * 4096, step % 2 == 0 ? 64 : 4096}; }
Call every_eighth_large(i64 rank, i64 step) { return {(step * kRanks + rank) * 4096, step % 8 == 7 ? 4096 : 64}; }
Call two_files(i64 rank, i64 step) { return {(step / 2 * kRanks + rank) * 512, 512, 0, 1, step % 2}; }
Call spread_out(i64 rank, i64 step) { return {step * 4096 + rank * 64, 512, step * 4096 + rank * 64 + 7 * 256 + 64}; }

Job job_that_makes(Pattern* pattern) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < kRanks; ++rank) {
    RecorderOptions options;
    options.rank = rank, options.ranks = kRanks, options.events = 10'000;
    auto recorder = std::move(*Recorder::make(options));
    std::vector<std::unique_ptr<TraceSink>> sinks;
    for (const char* name : {"first", "second"}) {
      FileFacts facts;
      facts.name = name;
      sinks.push_back(recorder->file(facts));
    }
    const i64 start = now_ns();
    for (i64 step = 0; step < kCalls; ++step) {
      const Call call = pattern(rank, step);
      TraceSink& sink = *sinks[static_cast<std::size_t>(call.file)];
      const i64 from = start + step * kCallNs;
      for (i64 i = 0; i < call.requests; ++i) {
        TraceEvent request{TraceKind::kStorageWrite, from + i * 1000, from + i * 1000 + 500, call.bytes, call.offset};
        request.span = call.end > 0 ? call.end - call.offset : call.bytes;
        sink.record(request);
      }
      Counters counters;
      AccessFacts facts;
      facts.direction = Direction::kWrite;
      facts.end_offset = call.end > 0 ? call.end : call.offset + call.bytes;
      facts.piece_bytes = call.bytes;
      TraceEvent access{TraceKind::kAccess, from, from + 8000, call.bytes, call.offset, "MPI_File_write_at"};
      access.counters = &counters, access.access = &facts;
      sink.record(access);
    }
    recorder->finish();
    traces.push_back(std::move(parse_trace(recorder->snapshot({}))->front()));
  }
  return job_of(std::move(traces));
}

// Bytes by what is to be told apart, each as a part of all.
using Shares = std::map<i64, double>;
void expect_alike(Shares kept, Shares truth, const char* what) {
  double all_kept = 0, all = 0;
  for (const auto& [key, value] : kept) all_kept += value;
  for (const auto& [key, value] : truth) all += value;
  for (const auto& [key, value] : truth) EXPECT_NEAR(kept[key] / all_kept, value / all, 0.02) << what << " " << key;
}

class KeptEvents : public ::testing::TestWithParam<Pattern*> {};

TEST_P(KeptEvents, StandForAll) {
  const Job job = job_that_makes(GetParam());
  i64 rate = 1;
  for (const RankTrace& trace : job.traces) rate = std::max(rate, trace.header.calls_per_kept);
  EXPECT_GE(rate, 4);
  Shares kept[2], truth[2], times_kept, times, files_kept, files;
  for (i64 rank = 0; rank < kRanks; ++rank) {
    const RankTrace& trace = job.traces[static_cast<std::size_t>(rank)];
    std::map<std::pair<std::uint32_t, std::int32_t>, std::pair<i64, i64>> calls;   // accesses and requests of each
    for (const EventRecord& event : trace.events) {
      if (!kept_of(event.group, rate)) continue;
      const bool access = event.kind == static_cast<int>(TraceKind::kAccess);
      kept[access ? 0 : 1][rank] += static_cast<double>(event.bytes);
      ++(access ? calls[{event.group, event.file}].first : calls[{event.group, event.file}].second);
      if (access) times_kept[event.start_ns / (kCalls * kCallNs / 4)] += 1, files_kept[event.file] += 1;
    }
    for (i64 step = 0; step < kCalls; ++step) {
      const Call call = GetParam()(rank, step);
      truth[0][rank] += static_cast<double>(call.bytes);
      truth[1][rank] += static_cast<double>(call.bytes * call.requests);
      times[step / (kCalls / 4)] += 1, files[call.file] += 1;
    }
    for (const auto& [call, parts] : calls) EXPECT_EQ(parts.first, 1) << "a call is whole";
  }
  expect_alike(kept[0], truth[0], "bytes asked for by rank");
  expect_alike(kept[1], truth[1], "bytes carried by rank");
  expect_alike(times_kept, times, "calls in the quarter");
  expect_alike(files_kept, files, "calls on file");
}

TEST_P(KeptEvents, MapsAreExact) {
  const Job job = job_that_makes(GetParam());
  for (const JobFile& file : job.files) {
    for (std::size_t rank = 0; rank < kRanks && !file.maps.empty(); ++rank) {
      i64 sums[2] = {};
      for (std::size_t map_kind = 0; map_kind < 2; ++map_kind) {
        for (const i64 bytes : file.maps[rank].bytes[map_kind]) sums[map_kind] += bytes;
      }
      FileTotals totals = file.by_rank[rank];
      EXPECT_EQ(sums[0], totals.of(Direction::kWrite, false).bytes);
      EXPECT_EQ(sums[1], totals.storage[1].bytes);
      EXPECT_EQ(file.maps[rank].cell_bytes, file.maps[0].cell_bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, KeptEvents,
                         ::testing::Values(blocks, in_turns, backwards, powers_of_two, many_requests, aggregator, every_other_large,
                                           every_eighth_large, two_files, spread_out));

TEST(Maps, SpreadBytesOverPlaces) {
  MapRecord map;
  map.add(0, 1000, 0, 1000);
  EXPECT_EQ(map.bytes[0][0], 256);
  EXPECT_EQ(map.bytes[0][3], 1000 - 3 * 256);
  map.add(0, 64, i64{255} * 256, 256 * 256);
  EXPECT_EQ(map.cell_bytes, 256);
  map.add(1, 10, 256 * 256, 256 * 256 + 10);
  EXPECT_EQ(map.cell_bytes, 512);
  EXPECT_EQ(map.bytes[0][0], 512);
  EXPECT_EQ(map.bytes[0][127], 64);
  EXPECT_EQ(map.bytes[1][128], 10);
  MapRecord other;
  other.add(0, 7, 0, 7);
  other.add(map);
  EXPECT_EQ(other.cell_bytes, 512);
  EXPECT_EQ(other.bytes[0][0], 519);
}

TEST(KeptEventsOf, OneHugeCallAreFewAndCoverAllOfIt) {
  RecorderOptions options;
  options.events = 100'000;
  auto recorder = std::move(*Recorder::make(options));
  auto sink = recorder->file(FileFacts{});
  const i64 start = now_ns();
  for (i64 i = 0; i < 1'000'000; ++i) sink->record(TraceEvent{TraceKind::kStorageWrite, start + i, start + i + 1, 1, i});
  auto traces = parse_trace(recorder->snapshot({}));
  const auto& events = traces->front().events;
  EXPECT_GT(events.size(), 10'000u);
  EXPECT_LT(events.size(), 60'000u);
  EXPECT_GT(events.back().offset, 950'000);
}

// Each of those that is recorded may stand for several.
TEST(Recorder, CallsForTheSizeHoldARank) {
  auto recorder = make();
  auto sink = recorder->file(facts_of("data"));
  const i64 start = now_ns();
  for (const i64 calls : {1, 16}) {
    TraceEvent event{TraceKind::kSize, start + 10'000 * calls, start + 10'000 * calls + 1'000, 0, -1, ""};
    event.pieces = calls;
    sink->record(event);
  }
  const RankTrace trace = read_back(*recorder);
  EXPECT_EQ(trace.files[0].totals.size_calls, 17);
  EXPECT_EQ(trace.files[0].totals.size_ns, 17'000);
  EXPECT_EQ(trace.files[0].totals.held_ns(), 17'000);
  EXPECT_EQ(trace.header.held_ns, 17'000);
}

TEST(Recorder, AccessesInAWayThatWasTriedAreToldApart) {
  auto recorder = make();
  auto sink = recorder->file(facts_of("data"));
  Counters counters;
  for (const bool adapted : {false, true}) {
    counters.adapted = adapted;
    counters.merged_bytes = 300;
    TraceEvent storage{TraceKind::kStorageWrite, now_ns(), now_ns(), 400, 0, ""};
    storage.counters = &counters;
    sink->record(storage);
    AccessFacts facts;
    facts.direction = Direction::kWrite;
    facts.collective = true;
    TraceEvent event{TraceKind::kAccess, now_ns(), now_ns(), 100, 0, "MPI_File_write_all"};
    event.counters = &counters;
    event.access = &facts;
    sink->record(event);
  }
  const FileTotals totals = read_back(*recorder).files[0].totals;
  EXPECT_EQ(totals.storage[1].bytes, 800);
  EXPECT_EQ(totals.merged_bytes, 600);
  EXPECT_EQ(totals.adapted_stored_bytes, 400);
  EXPECT_EQ(totals.adapted_written_bytes, 100);
  EXPECT_EQ(totals.adapted_merged_bytes, 300);
}

TEST(Recorder, TellsChangesOfTheSizeFromQuestionsForIt) {
  auto recorder = make();
  auto sink = recorder->file(facts_of("data"));
  const i64 start = now_ns();
  TraceEvent change{TraceKind::kResize, start, start + 5'000};
  change.late_ns = 4'000;
  sink->record(change);
  for (const i64 at : {100'000, 200'000}) {
    TraceEvent asked{TraceKind::kSize, start + at, start + at + 50'000};
    asked.pieces = 16;   // one that lost its core, and stands for fifteen others
    sink->record(asked);
  }
  const RankTrace trace = read_back(*recorder);
  const FileTotals& totals = trace.files[0].totals;
  EXPECT_EQ(totals.resizes, 1);
  EXPECT_EQ(totals.resize_ns, 5'000);
  EXPECT_EQ(totals.late_resize_ns, 4'000);
  EXPECT_EQ(totals.size_calls, 32);
  EXPECT_LE(totals.size_ns, trace.header.last_ns) << "no longer than what passed";
  EXPECT_GE(totals.size_ns, 50'000 + 100'000);
}

// One in many short calls is timed, and seldom the one in which the thread loses its core.
TEST(Recorder, QuestionsForTheSizeHaveTheirPartOfTheTimeWithoutACore) {
  cpu_set_t allowed, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &allowed)) CPU_SET(core, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  auto recorder = make();
  auto sink = recorder->file(facts_of("data"));
  const i64 before = now_ns();
  const CoreTime start = core_time_of_this_thread();
  std::atomic<bool> ended{false};
  std::thread rival([&] { while (!ended) {} });   // on the same core
  CoreTime passed;
  while ((passed.ran_ns < 20'000'000 || passed.queued_ns < 5'000'000) && now_ns() < before + 10'000'000'000) passed = core_time_of_this_thread().since(start);
  ended = true;
  rival.join();
  sched_setaffinity(0, sizeof allowed, &allowed);
  if (passed.queued_ns < 5'000'000) GTEST_SKIP() << "the system doesn't say how long threads had no core";
  TraceEvent asked{TraceKind::kSize, now_ns() - 500'000, now_ns()};
  asked.pieces = 16;
  sink->record(asked);
  const i64 recorded = read_back(*recorder).files[0].totals.size_ns;
  recorder->finish();
  const RankTrace first = read_back(*recorder);
  const CoreTime& all = first.header.cores;
  const double part = std::min(1.0, static_cast<double>(recorded) / static_cast<double>(all.ran_ns));
  const i64 held = std::min(recorded + static_cast<i64>(static_cast<double>(all.queued_ns) * part), first.header.last_ns);
  EXPECT_NEAR(static_cast<double>(first.files[0].totals.size_ns), static_cast<double>(held), 1000);
  EXPECT_GT(first.files[0].totals.size_ns, recorded);
  recorder->finish();
  EXPECT_EQ(read_back(*recorder).files[0].totals.size_ns, first.files[0].totals.size_ns) << "counted once";
}

TEST(Recorder, CountsViewsAndSettings) {
  auto recorder = make();
  auto sink = recorder->file(facts_of("data"));
  const i64 start = now_ns();
  const auto tell = [&](TraceKind kind, i64 at, i64 ns, i64 late_ns, i64 times, const char* call) {
    TraceEvent event{kind, start + at, start + at + ns, 0, -1, call};
    event.late_ns = late_ns;
    event.pieces = times;
    sink->record(event);
  };
  tell(TraceKind::kView, 0, 5'000, 4'000, 1, "data");
  tell(TraceKind::kView, 5'000, 1'000, 0, 1, "data");
  tell(TraceKind::kSetting, 10'000, 3'000, 2'000, 1, "MPI_File_set_info");
  tell(TraceKind::kSize, 90'000, 100, 0, 16, "");   // the time since the last one is not that of settings
  tell(TraceKind::kSetting, 100'000, 1'000, 0, 16, "MPI_File_get_position_shared");
  const RankTrace trace = read_back(*recorder);
  const FileTotals& totals = trace.files[0].totals;
  EXPECT_EQ(totals.views, 2);
  EXPECT_EQ(totals.view_ns, 6'000);
  EXPECT_EQ(totals.late_view_ns, 4'000);
  EXPECT_EQ(totals.settings, 17);
  EXPECT_EQ(totals.setting_ns, 3'000 + 16'000);
  EXPECT_EQ(totals.late_setting_ns, 2'000);
  EXPECT_EQ(totals.held_ns(), 6'000 + 1'600 + 19'000);
  EXPECT_EQ(trace.header.held_ns, totals.held_ns());
  ASSERT_EQ(trace.events.size(), 5u);
  ASSERT_GE(trace.texts.size(), 2u);
  EXPECT_EQ(trace.texts[0].text, "MPI_File_set_info");
  EXPECT_EQ(trace.events[2].call, 1);
  EXPECT_EQ(trace.events[4].call, 2);
}

// However many accesses one wait is for, its time counts once.
TEST(Recorder, WhatTheProgramWaitsForAnAccessIsKnown) {
  auto recorder = make();
  auto sink = recorder->file(facts_of("data"));
  const i64 start = now_ns();
  recorder->waited("data", start, start + 1'000);
  recorder->waited("data", start, start + 3'000);
  recorder->waited("data", start + 4'000, start + 2'000);
  recorder->waited("of a tool", start + 5'000, start + 6'000);
  EXPECT_EQ(read_back(*recorder).files[0].totals.blocked_ns, 3'000);
}

TEST(Recorder, FailedOpensAreCounted) {
  auto recorder = make();
  recorder->open_failed("/no/such", "no such file; check the path (rank 0 on here)", now_ns() - 1'000);
  recorder->open_failed("/nor/this", "it is a directory", now_ns() - 1'000);
  const RankTrace trace = read_back(*recorder);
  EXPECT_EQ(trace.header.failed_opens, 2);
  EXPECT_GE(trace.header.failed_open_ns, 2'000);
  EXPECT_EQ(text_in(trace.header.failed_open), "no such file: /no/such");
  EXPECT_TRUE(trace.files.empty());
  EXPECT_NE(verdict(job_of({trace})).find("2 opens of a rank failed"), std::string::npos);
  EXPECT_EQ(verdict(job_of({trace})).find("opened no file"), std::string::npos);
}

TEST(Recorder, FailedOpensOfLongNamesKeepTheirCause) {
  auto recorder = make();
  recorder->open_failed("/" + std::string(300, 'n') + "/end", "permission denied (rank 0 on here)", now_ns());
  const RankTrace trace = read_back(*recorder);
  const std::string_view text = text_in(trace.header.failed_open);
  EXPECT_TRUE(text.starts_with("permission denied: ...nnn")) << text;
  EXPECT_TRUE(text.ends_with("nnn/end")) << text;
}

}  // namespace
}  // namespace mercutio
