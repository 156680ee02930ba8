// The recorder: exact totals in bounded memory, readable whatever becomes of the process.
#include "insight/recorder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <thread>

#include "comm/in_process.h"
#include "file/file.h"
#include "insight/costs.h"
#include "insight/findings.h"
#include "insight/job.h"
#include "insight/job_summary.h"
#include "insight/name_patterns.h"
#include "insight/test_support.h"

namespace mercutio {
namespace {

// An access of `bytes` at `offset` that took `ns` from `start_ns` on, all in one phase.
void access(TraceSink& sink, i64 start_ns, i64 ns, i64 offset, i64 bytes) {
  Counters counters;
  AccessFacts facts;
  facts.direction = Direction::kWrite;
  facts.end_offset = offset + bytes;
  facts.piece_bytes = bytes;
  TraceEvent event{TraceKind::kAccess, start_ns, start_ns + ns, bytes, offset, "MPI_File_write_at"};
  event.counters = &counters;
  event.access = &facts;
  sink.record(event);
}

// Two jobs with one name for their traces: each writes to a piece of its own.
TEST(Recorder, LeavesThePieceOfAnotherJobAlone) {
  RecorderOptions options;
  options.piece_path = folder_of_tests() + "recorder-test-twice.piece";
  options.rank = 1, options.ranks = 8;
  auto first = make(options);
  auto sink = first->file(facts_of("first"));
  options.rank = 2;
  auto second = make(options);
  access(*sink, now_ns(), 5'000, 0, 100);
  first->finish();
  const RankTrace trace = read_back(*first);
  EXPECT_EQ(trace.header.rank, 1);
  EXPECT_EQ(trace.files.size(), 1u);
  ::unlink(options.piece_path.c_str());
}

TEST(Recorder, CountsAMillionAccessesInSixteenMebibytes) {
  auto recorder = make();
  EXPECT_LE(recorder->bytes(), 16 * MiB);
  auto sink = recorder->file(facts_of("data"));
  constexpr i64 kCalls = 1'000'000;
  const i64 start = now_ns();
  for (i64 i = 0; i < kCalls; ++i) access(*sink, start + i * 10'000, 5'000, i * 100, 100);
  recorder->finish();
  const RankTrace trace = read_back(*recorder);
  ASSERT_EQ(trace.files.size(), 1u);
  FileTotals totals = trace.files[0].totals;
  const ClassTotals& writes = totals.of(Direction::kWrite, false);
  EXPECT_EQ(writes.calls, kCalls);
  EXPECT_EQ(writes.bytes, kCalls * 100);
  EXPECT_EQ(writes.ns, kCalls * 5'000);
  EXPECT_EQ(writes.sizes[0], kCalls);
  EXPECT_EQ(writes.jumping_calls, 0);
  EXPECT_EQ(totals.end_offset, kCalls * 100);
  EXPECT_EQ(trace.header.events_seen, kCalls);
  const auto& events = trace.events;
  ASSERT_GT(events.size(), 60'000u);
  EXPECT_EQ(trace.header.calls_per_kept, 8);  // 131,072 fit
  for (std::size_t i = 1; i < events.size(); ++i) ASSERT_LE(events[i].offset - events[i - 1].offset, 2 * 8 * 100) << "evenly spread";
  i64 bytes = 0;
  for (const TimeBin& bin : trace.bins) bytes += bin.bytes[1];
  EXPECT_EQ(bytes, kCalls * 100);  // ten seconds in bins that began with a millisecond
  EXPECT_LE(trace.bins.size(), 1024u);
}

TEST(Recorder, AnUnfinishedPieceIsReadFromItsFile) {
  RecorderOptions options;
  options.piece_path = folder_of_tests() + "recorder-test.piece";
  options.rank = 3;
  options.ranks = 4;
  auto recorder = make(options);
  auto sink = recorder->file(facts_of("data"));
  sink->note("hints", "cb_nodes=2\n");
  access(*sink, now_ns(), 1000, 0, 64);
  auto traces = read_trace(options.piece_path);  // as after kill -9
  ASSERT_TRUE(traces.ok()) << traces.error().what;
  const RankTrace& trace = traces->front();
  EXPECT_EQ(trace.header.rank, 3);
  EXPECT_EQ(trace.header.end_ns, 0);
  EXPECT_EQ(trace.events.size(), 1u);
  const Job job = job_of(std::move(*traces));
  EXPECT_FALSE(job.finished);
  EXPECT_EQ(job.files[0].texts.front().text, "cb_nodes=2\n");
  ::unlink(options.piece_path.c_str());
}

TEST(Recorder, KnowsTheWaitingForLateRanksAndTheTimeOnACore) {
  auto recorder = make();
  auto sink = recorder->file(facts_of("data"));
  const i64 start = now_ns() - 10'000;
  for (const auto& [kind, ns, late_ns] : {std::tuple{TraceKind::kOpen, 9'000, 6'000}, {TraceKind::kOpen, 5'000, 1'000}, {TraceKind::kSync, 700, 50},
                                          {TraceKind::kClose, 7'000, 200}, {TraceKind::kClose, 8'000, 0}}) {
    TraceEvent event{kind, start, start + ns, 0, -1, ""};
    event.late_ns = late_ns;
    sink->record(event);
  }
  EXPECT_EQ(read_back(*recorder).header.cores, CoreTime{}) << "not known before the end";
  recorder->finish();
  const RankTrace trace = read_back(*recorder);
  const FileTotals& totals = trace.files[0].totals;
  EXPECT_EQ(totals.late_opening_ns, 7'200);
  EXPECT_EQ(totals.first_open_ns, 3'000) << "without waiting";
  EXPECT_EQ(totals.late_sync_ns, 50);
  EXPECT_EQ(totals.close_ns, 15'000);
  EXPECT_LE(trace.header.cores.ran_ns, trace.header.end_ns + 1'000'000'000) << "the kernel counts at ticks";
}

TEST(Recorder, FilesBeyondTheTableAreCountedByPattern) {
  RecorderOptions options;
  options.files = 4;   // two files, and two patterns
  auto recorder = make(options);
  for (i64 i = 0; i < 10; ++i) access(*recorder->file(facts_of("out." + std::to_string(i))), now_ns(), 1, 0, 10);
  access(*recorder->file(facts_of("out.9")), now_ns(), 1, 0, 10);
  const RankTrace trace = read_back(*recorder);
  ASSERT_EQ(trace.files.size(), 3u);
  EXPECT_STREQ(trace.files[1].name.data(), "out.1");
  EXPECT_STREQ(trace.files[2].name.data(), "out.###");
  EXPECT_EQ(trace.files[0].is_pattern, 0);
  EXPECT_EQ(trace.files[2].is_pattern, 1);
  EXPECT_EQ(trace.files[2].totals.bytes(), 90);
  EXPECT_EQ(trace.files[2].totals.files, 8);
  EXPECT_EQ(trace.files[2].totals.reopens, 1);
  for (const char* name : {"run/a.dat", "run/b.dat", "run/c.dat"}) access(*recorder->file(facts_of(name)), now_ns(), 1, 0, 10);
  const RankTrace full = read_back(*recorder);
  ASSERT_EQ(full.files.size(), 4u);
  EXPECT_STREQ(full.files[2].name.data(), "out.###");
  EXPECT_STREQ(full.files[3].name.data(), "(other files) run/*.dat");
  EXPECT_EQ(full.files[3].totals.files, 3);
  EXPECT_EQ(full.header.files_left_out, 12);
}

TEST(Recorder, KnowsWhoOpenedAFileAndLeavesOutWhatToolsOpen) {
  RecorderOptions options;
  std::string library = "hdf5";
  options.opened_by = [&library] { return library; };
  auto recorder = make(options);
  access(*recorder->file(facts_of("data.h5")), now_ns(), 1, 0, 10);
  library = kTool;
  access(*recorder->file(facts_of("tool.log")), now_ns(), 1, 0, 10);
  recorder->note_run("job=12\ncommand=./a \"b=c\"\nempty\n");
  auto traces = parse_trace(recorder->snapshot({}));
  ASSERT_TRUE(traces.ok());
  const Job job = job_of(std::move(*traces));
  ASSERT_EQ(job.files.size(), 1u);
  EXPECT_EQ(job.files[0].library, "hdf5");
  const std::vector<std::pair<std::string, std::string>> run = {{"job", "12"}, {"command", "./a \"b=c\""}, {"empty", ""}};
  EXPECT_EQ(job.run, run);
}

// To look at the stack takes long.
TEST(Recorder, WhoOpensFilesIsAskedOnceForAPattern) {
  RecorderOptions options;
  int asked = 0;
  options.opened_by = [&asked] { return ++asked, "netcdf"; };
  auto recorder = make(options);
  for (const char* name : {"out.1.nc", "out.2.nc", "out.1.nc", "data.h5"}) access(*recorder->file(facts_of(name)), now_ns(), 1, 0, 10);
  EXPECT_EQ(asked, 2);
}

// Names that have no pattern in common.
TEST(Recorder, WhoOpensVeryManyUnlikeFilesIsAskedOnceForAFolderAndEnding) {
  RecorderOptions options;
  int asked = 0;
  std::string library = "netcdf";
  options.opened_by = [&] { return ++asked, library; };
  auto recorder = make(options);
  for (int i = 0; i < 1000; ++i) {
    const std::string name = {static_cast<char>('a' + i / 100), static_cast<char>('a' + i / 10 % 10), static_cast<char>('a' + i % 10)};
    (void)recorder->file(facts_of("/run/" + name + ".nc"));
  }
  EXPECT_EQ(asked, 257);
  library = kTool;
  EXPECT_FALSE(recorder->file(facts_of("/logs/of.darshan"))->keeps_texts());
}

TEST(Recorder, APieceIsCutDownByPattern) {
  auto recorder = make();
  for (i64 i = 0; i < 10; ++i) {
    auto sink = recorder->file(facts_of((i % 2 == 0 ? "even" : "odd") + std::to_string(i)));
    sink->note("hints", "file " + std::to_string(i));
    access(*sink, now_ns(), 1, 0, 10 + i);
  }
  const RankTrace fewer = read_back(*recorder, PieceLimits{4, 100});
  ASSERT_EQ(fewer.files.size(), 4u);
  EXPECT_STREQ(fewer.files[0].name.data(), "even0");
  EXPECT_STREQ(fewer.files[2].name.data(), "even###");
  EXPECT_STREQ(fewer.files[3].name.data(), "odd###");
  EXPECT_EQ(fewer.files[2].totals.files, 4);
  EXPECT_EQ(fewer.files[3].totals.bytes(), 13 + 15 + 17 + 19);
  for (const TraceText& text : fewer.texts) {
    EXPECT_TRUE(text.text != "file 9" || text.file == 3) << text.file;
  }
  for (const EventRecord& event : fewer.events) {
    EXPECT_TRUE(event.bytes != 14 || event.file == 2) << event.file;
  }
  const RankTrace fewest = read_back(*recorder, PieceLimits{2, 0});
  ASSERT_EQ(fewest.files.size(), 2u);
  EXPECT_STREQ(fewest.files[1].name.data(), "odd###");
  EXPECT_TRUE(fewest.events.empty());
}

// Ranks of a job with many others have less room. What there is none for takes no memory either, however many files are opened.
TEST(Recorder, LittleRoomIsEnoughForAnyNumberOfFiles) {
  RecorderOptions options;
  options.limit(limits_of(128 * KiB));
  auto recorder = make(options);
  EXPECT_LE(recorder->bytes(), 132 * KiB);
  i64 shapes_made = 0;
  for (i64 i = 0; i < 10'000; ++i) {
    auto sink = recorder->file(facts_of("out." + std::to_string(i)));
    TraceStep step;
    step.kind = StepKind::kOpen;
    step.shape = sink->shape("open " + std::to_string(i), [&](i64 room) {
      ++shapes_made;
      return room < 100 ? std::nullopt : std::optional(std::vector<std::byte>(100));
    });
    sink->step(step);
    access(*sink, now_ns(), 1, i, 10);
  }
  EXPECT_LE(shapes_made, 200) << "none after the first that has no room";
  const RankTrace trace = read_back(*recorder);
  i64 bytes = 0, files = 0;
  for (const FileRecord& file : trace.files) bytes += file.totals.bytes(), files += file.totals.files;
  EXPECT_EQ(bytes, 100'000);
  EXPECT_EQ(files, 10'000);
  EXPECT_LT(trace.steps.size(), 200u);
  EXPECT_EQ(trace.header.steps_left_out + static_cast<i64>(trace.steps.size()), 10'000);
}

// The ranks of a node: each has a part of the file, also beside one that never began and one of an earlier job.
TEST(Recorder, RanksOfANodeShareAFile) {
  RecorderOptions options;
  options.piece_path = folder_of_tests() + "recorder-test-node.piece";
  options.ranks = 3;
  std::vector<std::unique_ptr<Recorder>> ranks;
  for (options.rank = 0; options.rank < 3; ++options.rank) {
    ranks.push_back(make(options));
    access(*ranks.back()->file(facts_of("data")), now_ns(), 1, 0, 10 + options.rank);
    if (options.rank == 1) (void)map_piece(options.piece_path, 100'000);   // and died at once
  }
  auto traces = read_trace(options.piece_path);
  ranks.front()->remove_file();
  ASSERT_TRUE(traces.ok()) << traces.error().what;
  ASSERT_EQ(traces->size(), 3u);
  for (i64 rank = 0; rank < 3; ++rank) EXPECT_EQ((*traces)[static_cast<std::size_t>(rank)].files[0].totals.bytes(), 10 + rank);
  EXPECT_FALSE(read_trace(options.piece_path).ok()) << "removed";
}

// A file's places may be anything; only sums are limited.
TEST(Recorder, AccessesFarOutAreRecorded) {
  constexpr i64 kEnd = INT64_MAX - 100;
  RecorderOptions options;
  options.rank = 0, options.ranks = 1;
  auto recorder = make(options);
  auto sink = recorder->file(facts_of("data"));
  for (const i64 offset : {i64{0}, i64{5} << 50, i64{3} << 61, kEnd - 64}) {
    access(*sink, now_ns(), 1000, offset, 64);
    TraceStep step;
    step.write = true;
    step.offset = offset;
    step.bytes = 64;
    sink->step(step);
  }
  TraceEvent request{TraceKind::kStorageWrite, now_ns(), now_ns() + 1000, 128, 0, ""};
  request.span = kEnd;
  sink->record(request);
  sink->record(request);
  const RankTrace trace = read_back(*recorder);
  const ClassTotals& writes = trace.files.at(0).totals.classes[1];
  EXPECT_EQ(writes.begin_place, 1);
  EXPECT_EQ(writes.end_place, kEnd + 1);
  EXPECT_EQ(trace.files[0].totals.end_offset, kEnd);
  ASSERT_EQ(trace.maps.size(), 1u);
  EXPECT_EQ(std::accumulate(trace.maps[0].bytes[0].begin(), trace.maps[0].bytes[0].end(), i64{0}), 4 * 64);
  i64 calls = 0;
  for (const StepRecord& step : trace.steps) calls += step.repeats;
  EXPECT_EQ(calls, 4);
  EXPECT_FALSE(verdict(job_of({trace, trace})).empty());
  const SummaryLimits limits = summary_limits(2, 1);
  JobSummary summary(trace, limits);
  summary.add(JobSummary(trace, limits), limits);
  EXPECT_EQ(summary.ranks(), 2);
}

TEST(Recorder, ADirectoryThatIsMissingIsAnError) {
  RecorderOptions options;
  options.piece_path = ::testing::TempDir() + "no-such-directory/node.piece";
  const auto made = Recorder::make(options);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().sys_errno, ENOENT);
}

// ---- what the layers above and below say of a real access
// --------------------------------------------------------------

Job run_collective(i64 ranks, int late_ms = 0) {
  static std::atomic<int> last{0};
  const std::string name = "memory:recorder-test-" + std::to_string(++last);
  auto world = make_in_process_world(ranks);
  std::vector<std::vector<std::byte>> pieces(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (i64 rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank, comm = std::move(world[static_cast<std::size_t>(rank)])]() mutable {
      RecorderOptions options;
      options.rank = rank;
      options.ranks = ranks;
      auto recorder = make(options);
      auto progress = make_progress_thread();
      DatarepRegistry datareps;
      OpenCall call;
      call.file_name = name;
      call.amode.read_write = call.amode.create = true;
      call.info = {{"romio_cb_write", "enable"}, {"no_such_hint", "1"}};
      auto file = open_file(std::move(comm), call, Context{progress.get(), &datareps, recorder.get()});
      ASSERT_TRUE(file.ok());
      std::vector<std::byte> data(100'000);
      AccessCall write;
      write.name = "MPI_File_write_at_all";
      write.direction = Direction::kWrite;
      write.collective = true;
      write.offset = rank * 100'000;
      write.memory = Memory{data.data(), contiguous_bytes(), 100'000};
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
      EXPECT_TRUE((*file)->access(write).ok());
      auto started = (*file)->start(write, nullptr);
      ASSERT_TRUE(started.ok());
      EXPECT_TRUE((*started)->wait().ok());
      EXPECT_TRUE((*file)->close().ok());
      recorder->finish();
      pieces[static_cast<std::size_t>(rank)] = recorder->snapshot({});
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<RankTrace> traces;
  for (const auto& piece : pieces) traces.push_back(std::move(parse_trace(piece)->front()));
  return job_of(std::move(traces));
}

TEST(Recorder, PhasesAddUpToTheTimeOfTheCalls) {
  const Job job = run_collective(4);
  ASSERT_EQ(job.files.size(), 1u);
  FileTotals all = job.files[0].all;
  const ClassTotals& writes = all.of(Direction::kWrite, true);
  EXPECT_EQ(writes.calls, 8);
  EXPECT_EQ(writes.bytes, 800'000);
  i64 phases = 0;
  for (const i64 ns : writes.phase_ns) phases += ns;
  EXPECT_EQ(phases, writes.ns);
  EXPECT_EQ(all.unwaited_calls, 4);
  EXPECT_EQ(all.opens, 4);
  EXPECT_EQ(all.closes, 4);
  EXPECT_EQ(all.storage[1].bytes, 800'000);
  EXPECT_EQ(all.plans, 8);
  EXPECT_GE(all.plans_reused, 4);
  EXPECT_TRUE(job.finished);
}

TEST(Recorder, TextsTellHintsNotesAndPlans) {
  const Job job = run_collective(2);
  std::string hints, notes, plans;
  for (const TraceText& text : job.files[0].texts) {
    (text.kind == TextKind::kHints ? hints : text.kind == TextKind::kNotes ? notes : plans) += text.text;
  }
  EXPECT_NE(hints.find("romio_cb_write=enable"), std::string::npos) << hints;
  EXPECT_NE(notes.find("no_such_hint=1"), std::string::npos) << notes;
  EXPECT_NE(notes.find("not applied"), std::string::npos) << notes;
  EXPECT_NE(plans.find("strategy"), std::string::npos) << plans;
}

// Of many files alike, and of one that is opened again, the hints are known.
TEST(Recorder, HintsAreWantedOnceForAFile) {
  RecorderOptions options;
  auto recorder = make(options);
  EXPECT_TRUE(recorder->file(facts_of("data"))->wants_hints());
  EXPECT_FALSE(recorder->file(facts_of("data"))->wants_hints()) << "opened again";
  i64 wanted = 0;
  for (int i = 0; i < 1000; ++i) wanted += recorder->file(facts_of("out." + std::to_string(i)))->wants_hints() ? 1 : 0;
  EXPECT_GT(wanted, 0);
  EXPECT_LT(wanted, PieceLimits().files) << "beyond the table there are patterns";
}

// The others may be held up, too, by something else: then later.
TEST(Recorder, WhoComesLateWaitsLeast) {
  bool seen = false;
  for (int late_ms = 50; late_ms <= 6400 && !seen; late_ms *= 2) {
    const Job job = run_collective(3, late_ms);
    const auto arrive = [&](std::size_t rank) { return job.files[0].by_rank[rank].phase_ns(Phase::kArrive); };
    seen = arrive(0) >= i64{late_ms} * 500'000 && arrive(2) >= i64{late_ms} * 500'000 && arrive(1) < arrive(0) / 2;
  }
  EXPECT_TRUE(seen);
}

TEST(Recorder, WhatABufferAbsorbsIsNoRequest) {
  auto comms = make_in_process_world(1);
  auto recorder = make();
  auto progress = make_progress_thread();
  DatarepRegistry datareps;
  OpenCall call;
  call.file_name = "memory:recorder-test-absorbed";
  call.info = {{"mercutio_write_behind", "enable"}, {"mercutio_read_ahead", "enable"}};
  call.amode.read_write = call.amode.create = true;
  auto file = open_file(std::move(comms[0]), call, Context{progress.get(), &datareps, recorder.get()});
  ASSERT_TRUE(file.ok());
  std::vector<std::byte> data(64);
  AccessCall access;
  access.name = "MPI_File_write_at";
  access.direction = Direction::kWrite;
  access.memory = Memory{data.data(), contiguous_bytes(), 64};
  for (access.offset = 0; access.offset < 64'000; access.offset += 64) ASSERT_TRUE((*file)->access(access).ok());
  access.direction = Direction::kRead;
  for (access.offset = 0; access.offset < 64'000; access.offset += 64) ASSERT_TRUE((*file)->access(access).ok());
  ASSERT_TRUE((*file)->close().ok());
  recorder->finish();
  const auto traces = parse_trace(recorder->snapshot({}));
  ASSERT_TRUE(traces.ok());
  const FileTotals& totals = traces->front().files[0].totals;
  const ClassTotals& writes = totals.classes[1];
  EXPECT_EQ(writes.calls, 1000);
  EXPECT_EQ(totals.storage[1].bytes, 64'000);
  EXPECT_EQ(totals.storage[1].absorbed_calls, 992);
  EXPECT_EQ(totals.storage[1].calls, 8 + 1);
  EXPECT_GE(totals.storage[0].absorbed_calls, 950);   // what is read in advance grows slowly
  EXPECT_LE(totals.storage[0].calls, 100);
  EXPECT_GT(writes.phase_ns[static_cast<std::size_t>(Phase::kCopy)], 0);
}

// Eight threads write side by side, each its own file, for all of the run.
TEST(Recorder, ThreadsAtTheSameTimeHoldTheProgramOnce) {
  auto recorder = make();
  std::vector<std::unique_ptr<TraceSink>> files;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) files.push_back(recorder->file(facts_of(name)));
  const i64 start = now_ns();
  for (i64 step = 0; step < 100; ++step) {
    for (auto& file : files) access(*file, start + step * 1'000'000, 1'000'000, 0, 1000);
  }
  RankTrace trace = read_back(*recorder);
  EXPECT_EQ(trace.header.held_ns, 100'000'000);
  EXPECT_EQ(trace.header.busy_ns, (std::array<i64, 2>{0, 100'000'000}));
  const Job job = job_of({trace});
  EXPECT_NEAR(job.held_seconds(0), 0.1, 1e-9);
  EXPECT_NEAR(job.files.front().seconds(), 0.1 / 8, 1e-9);
  EXPECT_NEAR(io_rate(job, Direction::kWrite), 800 * 1000 / 0.1, 1);
  EXPECT_LE(io_share(job), 1);
  EXPECT_NE(verdict(job).find("held 8 threads of a rank on average"), std::string::npos) << verdict(job);
  trace.header.held_ns = trace.header.busy_ns[1] = 0;   // of a version before
  EXPECT_NEAR(job_of({trace}).held_seconds(0), 0.8, 1e-9);
}

// 32 nonblocking accesses, one after the other in the background; the program waits for the last half of the time.
TEST(Recorder, AccessesInTheBackgroundHoldNobodyAndCountOnce) {
  auto recorder = make();
  auto file = recorder->file(facts_of("data"));
  const i64 start = now_ns();
  Counters counters;
  AccessFacts facts;
  facts.direction = Direction::kWrite;
  facts.waited = false;
  for (i64 i = 1; i <= 32; ++i) file->record({TraceKind::kAccess, start, start + i * 1'000'000, 1'000'000, 0, "MPI_File_iwrite_at", &counters, &facts});
  file->record({TraceKind::kBlocked, start + 16'000'000, start + 32'000'000});
  const RankTrace trace = read_back(*recorder);
  EXPECT_EQ(trace.header.busy_ns[1], 32'000'000);
  EXPECT_EQ(trace.header.held_ns, 16'000'000);
  EXPECT_NEAR(io_rate(job_of({trace}), Direction::kWrite), 1e9, 1);
  EXPECT_EQ(job_of({trace}).held_part, 1);
}

TEST(Recorder, LongNamesWithTheSameEndAreDifferentFiles) {
  const std::string end = "/" + std::string(300, 'x');
  auto recorder = make();
  for (const char* name : {"/scratch/one", "/scratch/two"}) access(*recorder->file(facts_of(name + end)), now_ns(), 10, 0, 100);
  const Job job = job_of({read_back(*recorder)});
  ASSERT_EQ(job.files.size(), 2u);
  EXPECT_EQ(job.files[0].all.bytes(), 100);
  EXPECT_TRUE(job.files[0].name.ends_with(std::string(200, 'x')));
  EXPECT_EQ(pattern_key(job.files[0].name), pattern_key(job.files[1].name));
}

}  // namespace
}  // namespace mercutio
