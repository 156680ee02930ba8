// Where few of many short accesses are looked at: counts and bytes are exact, times are near.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "insight/job.h"
#include "insight/recorder.h"

namespace mercutio {
namespace {

std::unique_ptr<Recorder> make() {
  RecorderOptions options;
  options.sampled = true;
  options.bins = options.events = options.steps = options.shape_bytes = options.maps = 0;
  options.files = 40, options.text_bytes = 64 * KiB;
  return std::move(*Recorder::make(options));
}

FileFacts named(const std::string& name) {
  FileFacts facts;
  facts.name = name;
  facts.block_bytes = 4096;
  return facts;
}

// `start` 0: now.
void end_access(TraceSink* sink, i64 bytes, i64 ns, bool collective = false, i64 start = 0) {
  Counters counters;
  AccessFacts facts;
  facts.direction = Direction::kWrite;
  facts.collective = collective;
  facts.piece_bytes = bytes;
  start = start > 0 ? start : now_ns();
  TraceEvent storage{TraceKind::kStorageWrite, start, start + ns / 2, bytes, 0, ""};
  sink->record(storage);
  TraceEvent event{TraceKind::kAccess, start, start + ns, bytes, -1, "MPI_File_write_at"};
  event.counters = &counters;
  event.access = &facts;
  sink->record(event);
}

// As an open file tells of it. True: it was looked at.
bool access(TraceSink& file, i64 bytes, i64 ns, bool collective = false, i64 start = 0) {
  SampledAccesses* passed_over = nullptr;
  TraceSink* const sink = file.of_access(Direction::kWrite, collective, bytes, passed_over);
  EXPECT_EQ(sink == nullptr, passed_over != nullptr);
  if (sink) end_access(sink, bytes, ns, collective, start);
  return sink != nullptr;
}

FileTotals totals_of(const Recorder& recorder) {
  const auto traces = parse_trace(recorder.snapshot({}));
  EXPECT_TRUE(traces.ok());
  FileTotals all;
  for (const FileRecord& file : traces->front().files) all.add(file.totals);
  return all;
}

TEST(RecorderSamples, CountsAreExactAndTimesNear) {
  const auto recorder = make();
  i64 looked_at = 0;
  {
    auto file = recorder->file(named("data"));
    for (i64 i = 0; i < 100'000; ++i) looked_at += access(*file, 64, 500 + 100 * (i % 7)) ? 1 : 0;
  }
  FileTotals totals = totals_of(*recorder);
  const ClassTotals& writes = totals.of(Direction::kWrite, false);
  EXPECT_EQ(writes.calls, 100'000);
  EXPECT_EQ(writes.bytes, 6'400'000);
  EXPECT_EQ(totals.storage[1].calls, 100'000);
  EXPECT_NEAR(static_cast<double>(writes.ns), 80e6, 8e6);
  EXPECT_NEAR(static_cast<double>(totals.storage[1].ns), 40e6, 4e6);
  EXPECT_LT(looked_at, 1000);
}

// A long access among many short ones is not a matter of luck.
TEST(RecorderSamples, EveryLongOrLargeOneCounts) {
  const auto recorder = make();
  {
    auto file = recorder->file(named("data"));
    for (i64 i = 0; i < 5'000; ++i) {
      access(*file, 8, 300);
      EXPECT_TRUE(i % 1000 != 500 || access(*file, 256 * MiB, 1'000'000'000));
      EXPECT_TRUE(i % 1000 != 600 || access(*file, 8, 300'000, /*collective=*/true));
    }
  }
  FileTotals totals = totals_of(*recorder);
  EXPECT_EQ(totals.of(Direction::kWrite, false).calls, 5'005);
  EXPECT_EQ(totals.of(Direction::kWrite, false).bytes, 5 * 256 * MiB + 40'000);
  EXPECT_NEAR(static_cast<double>(totals.of(Direction::kWrite, false).ns), 5.0015e9, 0.01e9);
  EXPECT_EQ(totals.of(Direction::kWrite, true).ns, 5 * 300'000);
}

// A write of 64 bytes that takes as long as `body`, whoever looks.
template <class Body>
void timed_access(TraceSink& file, Body body) {
  SampledAccesses* passed_over = nullptr;
  TraceSink* const sink = file.of_access(Direction::kWrite, /*collective=*/false, 64, passed_over);
  const i64 start = now_ns();
  const TimedAccess timed(passed_over);
  body();
  if (sink) end_access(sink, 64, now_ns() - start, /*collective=*/false, start);
}

// Among many short ones of the same size, where most are passed over, the last of them at the end.
TEST(RecorderSamples, LongOnesThatArePassedOverCount) {
  const auto recorder = make();
  i64 long_ns = 0;
  const i64 begin = now_ns();
  {
    auto file = recorder->file(named("data"));
    for (i64 i = 0; i < 20'001; ++i) {
      const i64 start = now_ns();
      timed_access(*file, [i] {
        if (i % 2000 == 1000 || i == 20'000) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      });
      if (now_ns() - start >= 10'000'000) long_ns += now_ns() - start;
    }
  }
  const i64 all_ns = now_ns() - begin;
  const auto traces = parse_trace(recorder->snapshot({}));
  ASSERT_TRUE(traces.ok());
  FileTotals totals = totals_of(*recorder);
  const ClassTotals& writes = totals.of(Direction::kWrite, false);
  EXPECT_EQ(writes.calls, 20'001);
  for (const i64 ns : {writes.ns, 2 * totals.storage[1].ns, traces->front().header.held_ns, traces->front().header.busy_ns[1]}) {
    EXPECT_GE(static_cast<double>(ns), 0.95 * static_cast<double>(long_ns));
    EXPECT_LE(static_cast<double>(ns), 1.05 * static_cast<double>(all_ns));
  }
}

// Those of one stratum may differ in size, also where a single one is passed over.
TEST(RecorderSamples, BytesAreExactWhereFewArePassedOver) {
  const auto recorder = make();
  i64 written = 0, looked_at = 0;
  for (i64 i = 0; i < 200; ++i) {
    auto file = recorder->file(named("data"));
    for (i64 k = 0; k < 1 + i % 5; ++k) {
      const i64 bytes = k % 2 == 0 ? 1 : 256;
      looked_at += access(*file, bytes, 100'000) ? 1 : 0;
      written += bytes;
    }
  }
  FileTotals totals = totals_of(*recorder);
  const ClassTotals& writes = totals.of(Direction::kWrite, false);
  EXPECT_LT(looked_at, writes.calls);
  EXPECT_EQ(writes.calls, 600);
  EXPECT_EQ(writes.bytes, written);
  EXPECT_NEAR(static_cast<double>(writes.piece_bytes), static_cast<double>(written), 200.0) << "each is one piece";
}

// Nonblocking accesses: 64 are started, then all of them end.
TEST(RecorderSamples, BytesAreExactWhereAccessesOverlap) {
  const auto recorder = make();
  {
    auto file = recorder->file(named("data"));
    for (i64 round = 0; round < 100; ++round) {
      std::vector<TraceSink*> started;
      SampledAccesses* passed_over = nullptr;   // nobody times them
      for (i64 i = 0; i < 64; ++i) started.push_back(file->of_access(Direction::kWrite, /*collective=*/false, 1024, passed_over));
      for (TraceSink* const sink : started) {
        if (sink) end_access(sink, 1024, 50'000);
      }
    }
  }
  FileTotals totals = totals_of(*recorder);
  EXPECT_EQ(totals.of(Direction::kWrite, false).calls, 6400);
  EXPECT_EQ(totals.of(Direction::kWrite, false).bytes, 6400 * 1024);
}

// What nobody looked at counts; threads at the same time do not take longer than the time that passes.
TEST(RecorderSamples, TheTimeHeldIsNear) {
  for (const i64 threads : {1, 4}) {
    const auto recorder = make();
    const i64 start = now_ns();
    {
      std::vector<std::unique_ptr<TraceSink>> files;
      for (i64 i = 0; i < threads; ++i) files.push_back(recorder->file(named("data" + std::to_string(i))));
      for (i64 step = 0; step < 20'000; ++step) {
        for (auto& file : files) access(*file, 64, 1000, false, start + 1000 * step);
      }
    }
    const auto traces = parse_trace(recorder->snapshot({}));
    ASSERT_TRUE(traces.ok());
    const PieceHeader& header = traces->front().header;
    for (const i64 ns : {header.held_ns, header.busy_ns[1]}) {
      EXPECT_GE(ns, 19'000'000) << threads;
      EXPECT_LE(ns, threads == 1 ? 21'000'000 : header.last_ns) << threads;
    }
  }
}

TEST(RecorderSamples, ThousandsOfFilesTakeTheSameMemory) {
  const auto recorder = make();
  for (i64 i = 0; i < 5'000; ++i) {
    auto file = recorder->file(named("out." + std::to_string(i)));
    access(*file, 1000, 20'000);
  }
  EXPECT_LE(recorder->bytes(), 256 * KiB);
  FileTotals totals = totals_of(*recorder);
  EXPECT_EQ(totals.of(Direction::kWrite, false).calls, 5'000);
  EXPECT_EQ(totals.files, 5'000);
}

TEST(RecorderSamples, NothingIsKeptForATrace) {
  const auto recorder = make();
  auto file = recorder->file(named("data"));
  EXPECT_FALSE(file->keeps_steps());
  EXPECT_FALSE(file->keeps_texts());
  EXPECT_TRUE(file->wants_hints());
  EXPECT_FALSE(recorder->file(named("data"))->wants_hints()) << "opened again";
}

// Plans are counted; of the hints the notes are kept, which findings come from.
TEST(RecorderSamples, OfTextsTheNotesAreKept) {
  const auto recorder = make();
  auto file = recorder->file(named("data"));
  file->note("notes", "cb_nodes=1 (of the program): applied");
  file->note("hints", "cb_nodes=1");
  SampledAccesses* passed_over = nullptr;
  TraceSink* const looking = file->of_access(Direction::kWrite, /*collective=*/true, 64, passed_over);
  EXPECT_FALSE(looking->keeps_texts());
  looking->record(TraceEvent{TraceKind::kPlan, now_ns(), now_ns(), 0, -1, "made"});
  end_access(looking, 64, 1'000'000, /*collective=*/true);
  const auto traces = parse_trace(recorder->snapshot({}));
  ASSERT_TRUE(traces.ok());
  ASSERT_EQ(traces->front().texts.size(), 1);
  EXPECT_EQ(traces->front().texts.front().kind, TextKind::kNotes);
  EXPECT_EQ(traces->front().files.front().totals.plans, 1);
  EXPECT_EQ(traces->front().files.front().totals.plans_reused, 0);
}

}  // namespace
}  // namespace mercutio
