// From what ranks did to a script: loops are one line, and no rank gets a collective call that others lack.
#include "insight/replay.h"

#include <gtest/gtest.h>

#include "insight/recorder.h"
#include "model/flat_type.h"

namespace mercutio {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* from = reinterpret_cast<const std::byte*>(text.data());
  return {from, from + text.size()};
}

// What one rank does, said as the file layer says it.
class Rank {
 public:
  Rank(i64 rank, i64 ranks, RecorderOptions options = {}) {
    options.rank = rank;
    options.ranks = ranks;
    recorder_ = std::move(*Recorder::make(options));
  }
  void open(const std::string& name, const std::string& amode = "rdwr|create", const std::string& members = "world", const std::string& hints = "") {
    FileFacts facts;
    facts.name = name;
    facts.file_system = "ext4";
    sink_ = recorder_->file(facts);
    const std::string text = members + "\n" + amode + "\n" + name + "\n" + hints;
    TraceStep step;
    step.kind = StepKind::kOpen;
    step.collective = true;
    step.shape = sink_->shape("open " + text, [&](i64) { return bytes_of(text); });
    sink_->step(step);
  }
  void view(i64 displacement, const FlatTypeRef& type) {
    TraceStep step;
    step.kind = StepKind::kView;
    step.collective = true;
    step.offset = displacement;
    step.bytes = 1;
    step.shape = sink_->shape("type " + std::to_string(type->hash()), [&](i64) {
      std::vector<std::byte> out;
      type->serialize(out);
      return out;
    });
    sink_->step(step);
  }
  void access(bool write, bool collective, i64 offset, i64 bytes, StepForm form = StepForm::kBlocking) {
    TraceStep step;
    step.form = form;
    step.write = write;
    step.collective = collective;
    step.offset = offset;
    step.bytes = bytes;
    sink_->step(step);
  }
  void simple(StepKind kind) {
    TraceStep step;
    step.kind = kind;
    step.collective = true;
    sink_->step(step);
  }
  void waited(i64 start_ns = 0, i64 end_ns = 0) { recorder_->waited("f", start_ns, end_ns); }
  // Said when the access has ended, as the fast ways do.
  void write_between(i64 start_ns, i64 end_ns, i64 offset) {
    TraceStep step;
    step.write = step.collective = true;
    step.offset = offset;
    step.bytes = 64;
    step.start_ns = start_ns;
    sink_->record({TraceKind::kStorageWrite, start_ns + 1000, end_ns - 1000, 64, offset});
    sink_->step(step);
    Counters counters;
    AccessFacts facts{Direction::kWrite, /*collective=*/true, /*waited=*/true};
    sink_->record({TraceKind::kAccess, start_ns, end_ns, 64, offset, "MPI_File_write_at_all", &counters, &facts});
  }
  void simple_between(StepKind kind, TraceKind event, i64 start_ns, i64 end_ns) {
    TraceStep step;
    step.kind = kind;
    step.collective = true;
    step.start_ns = start_ns;
    sink_->step(step);
    sink_->record({event, start_ns, end_ns});
  }
  void asks_size(i64 start_ns, i64 end_ns) { sink_->record({TraceKind::kSize, start_ns, end_ns}); }
  RankTrace trace(const PieceLimits& limits = {}) { return std::move(parse_trace(recorder_->snapshot(limits))->front()); }

 private:
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<TraceSink> sink_;
};

Job job_of_ranks(std::initializer_list<Rank*> ranks) {
  std::vector<RankTrace> traces;
  for (Rank* rank : ranks) traces.push_back(rank->trace());
  return job_of(std::move(traces));
}

std::string part(const Replay& replay, std::size_t rank) {
  const auto from = static_cast<std::size_t>(replay.starts[rank]);
  return replay.body.substr(from, replay.body.find("q\n", from) + 2 - from);
}

TEST(Replay, ALoopIsOneLine) {
  Rank a(0, 1);
  a.open("out/data", "wronly|create", "world", "cb_nodes=2\n");
  for (i64 i = 0; i < 1000; ++i) a.access(true, true, i * 64, 64);
  for (i64 i = 0; i < 8; ++i) a.access(true, false, 0, 8, StepForm::kStarted);
  for (i64 i = 0; i < 8; ++i) a.waited();
  a.simple(StepKind::kSync);
  a.simple(StepKind::kClose);
  const RankTrace trace = a.trace();
  EXPECT_EQ(trace.steps.size(), 6u);
  const auto replay = make_replay(job_of_ranks({&a}));
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->missing, "");
  EXPECT_EQ(replay->calls, 1008);
  ASSERT_EQ(replay->files.size(), 1u);
  EXPECT_EQ(replay->files[0].name, "out/data");
  EXPECT_EQ(replay->files[0].needed_bytes, -1) << "the program creates it";
  EXPECT_EQ(replay->files[0].file_system, "ext4");
  EXPECT_EQ(part(*replay, 0), "o 0 0 0 0 10 0\na 0 3 0 64 1000 64 0\na 0 5 0 8 8 0 0\nw 8 0\ns 0 1 0\nc 0 0\nq\n");
  const std::string script = script_of(*replay, {"new"});
  EXPECT_NE(script.find("files 1\n-1 new\ngroups 1\n1 0\ninfos 1\n1\ncb_nodes=2\n"), std::string::npos) << script;
}

TEST(Replay, PausesAreWhatTheProgramDidBetweenItsCalls) {
  Rank a(0, 1);
  a.open("data");
  const i64 ms = 1'000'000;
  i64 now = now_ns() + 1000 * ms;
  a.simple_between(StepKind::kSync, TraceKind::kSync, now, now + 10 * ms);
  now += 10 * ms;
  for (i64 i = 0; i < 4; ++i, now += 30 * ms) a.write_between(now + 20 * ms, now + 30 * ms, i * 64);
  a.access(true, false, 0, 8, StepForm::kStarted);
  a.waited(now + 5 * ms, now + 6 * ms);
  a.asks_size(now + 9 * ms, now + 10 * ms);   // which is not repeated
  a.simple_between(StepKind::kClose, TraceKind::kClose, now + 12 * ms, now + 15 * ms);
  const auto replay = make_replay(job_of_ranks({&a}));
  ASSERT_TRUE(replay.ok());
  const std::string steps = part(*replay, 0);
  EXPECT_NE(steps.find("\na 0 3 0 64 4 64 20000\na 0 5 0 8 1 0 0\nw 1 5000\nc 0 7000\nq\n"), std::string::npos) << steps;
}

TEST(Replay, ANameMayHaveLineBreaks) {
  Rank a(0, 1);
  a.open(std::string("out/a\0b=c", 9), "wronly|create", "world", "cb_nodes=2\n");
  a.access(true, true, 0, 64);
  const auto replay = make_replay(job_of_ranks({&a}));
  ASSERT_TRUE(replay.ok());
  ASSERT_EQ(replay->files.size(), 1u);
  EXPECT_EQ(replay->files[0].name, "out/a\nb=c");
  const std::string script = script_of(*replay, {"new"});
  EXPECT_NE(script.find("infos 1\n1\ncb_nodes=2\n"), std::string::npos) << script;
}

TEST(Replay, ViewsAreTypesAndReadFilesHaveASize) {
  const auto type = FlatType::lower(*make_resized(0, 64, make_vector(2, 8, 16, byte_type())));
  ASSERT_TRUE(type.ok());
  Rank a(0, 1);
  a.open("data", "rdonly");
  a.view(100, *type);
  a.access(false, true, 0, 32);
  a.view(0, *type);
  const auto replay = make_replay(job_of_ranks({&a}));
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(part(*replay, 0), "o 0 0 0 0 1 0\ny 0 64 16 0 s 2 16 r 8\nv 0 100 1 0 0\na 0 2 0 32 1 0 0\nv 0 0 1 0 0\nq\n");
  EXPECT_EQ(replay->files[0].needed_bytes, 100 + 64 + 16 + 8);
}

// As a foreign trace may say. Sanitizers see what it would do to the sum.
TEST(Replay, NoFileReachesBeyondTheLargestOffset) {
  Rank a(0, 1);
  a.open("data", "rdonly");
  a.view(INT64_MAX - 8, contiguous_bytes());
  a.access(false, true, 0, 8);
  a.access(false, true, 100, 16);
  const auto replay = make_replay(job_of_ranks({&a}));
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->files[0].needed_bytes, INT64_MAX);
}

TEST(Replay, EndsForAllRanksWhereOneIsCut) {
  RecorderOptions few;
  few.steps = 3;
  Rank a(0, 2), b(1, 2, few);
  for (Rank* rank : {&a, &b}) {
    rank->open("data");
    for (i64 i = 0; i < 5; ++i) {
      rank->access(true, true, i * 100, 100 + i);   // no loop
      if (rank == &a) rank->access(true, false, 0, 1);
    }
    rank->simple(StepKind::kClose);
  }
  const auto replay = make_replay(job_of_ranks({&a, &b}));
  ASSERT_TRUE(replay.ok());
  EXPECT_NE(replay->missing.find("room for 3 steps of rank 1"), std::string::npos) << replay->missing;
  EXPECT_EQ(part(*replay, 1), "o 0 0 0 0 12 0\na 0 3 0 100 1 0 0\na 0 3 100 101 1 0 0\nq\n");
  EXPECT_EQ(part(*replay, 0), "o 0 0 0 0 12 0\na 0 3 0 100 1 0 0\na 0 1 0 1 1 0 0\na 0 3 100 101 1 0 0\na 0 1 0 1 1 0 0\nq\n");
}

TEST(Replay, CutsWithinALoopAndFollowsThroughOtherFiles) {
  Rank a(0, 2), b(1, 2);
  a.open("one");
  b.open("one");
  for (i64 i = 0; i < 10; ++i) a.access(true, true, i, 1);
  for (i64 i = 0; i < 7; ++i) b.access(true, true, i, 1);   // then its trace ends
  a.open("two");   // which b never comes to
  a.access(true, true, 0, 1);
  const auto replay = make_replay(job_of_ranks({&a, &b}));
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(part(*replay, 0), "o 0 0 0 0 12 0\na 0 3 0 1 7 1 0\nq\n");
  EXPECT_EQ(replay->calls, 14);
  EXPECT_NE(replay->missing.find("5 calls"), std::string::npos) << replay->missing;
}

TEST(Replay, SelfAndPartsOfTheWorldAreKeptApart) {
  Rank a(0, 3), b(1, 3), c(2, 3);
  for (Rank* rank : {&a, &b, &c}) {
    rank->open("own", "rdwr|create", "self");
    rank->access(true, true, 0, 8);
  }
  for (Rank* rank : {&a, &c}) {
    rank->open("some", "rdwr|create", "0,2");
    rank->access(true, true, 0, 8);
  }
  const auto replay = make_replay(job_of_ranks({&a, &b, &c}));
  ASSERT_TRUE(replay.ok());
  EXPECT_EQ(replay->missing, "");
  EXPECT_NE(replay->head.find("groups 1\n2 0 2\n"), std::string::npos) << replay->head;
  EXPECT_EQ(part(*replay, 1), "o 2 0 -1 0 12 0\na 2 3 0 8 1 0 0\nq\n");
}

TEST(Replay, AProgramNeedNotAccessWhatItOpens) {
  Rank a(0, 1);
  a.open("data");
  a.simple(StepKind::kSync);
  a.simple(StepKind::kClose);
  const auto replay = make_replay(job_of_ranks({&a}));
  ASSERT_TRUE(replay.ok()) << replay.error().what;
  EXPECT_EQ(part(*replay, 0), "o 0 0 0 0 12 0\ns 0 1 0\nc 0 0\nq\n");
}

TEST(Replay, SaysWhyNothingCanBeRepeated) {
  Rank a(0, 2), b(1, 2);
  EXPECT_NE(make_replay(job_of_ranks({&a})).error().what.find("only 1 of the job's 2 ranks"), std::string::npos);
  EXPECT_NE(make_replay(job_of_ranks({&a, &b})).error().what.find("no opens"), std::string::npos);
  a.open("data", "rdwr|create", "");
  a.access(true, false, 0, 8);
  EXPECT_NE(make_replay(job_of_ranks({&a, &b})).error().what.find("outside MPI_COMM_WORLD"), std::string::npos);
}

TEST(Replay, TheHashIsOfWhatWasDone) {
  const auto hash = [](const std::string& name, i64 bytes, bool wait) {
    Rank a(0, 1);
    a.open(name, "rdwr|create", "world", name + "=1\n");
    a.access(true, false, 0, bytes, StepForm::kStarted);
    if (wait) a.waited();
    return pattern_hash(job_of_ranks({&a}));
  };
  EXPECT_EQ(hash("run1/data", 8, true), hash("run2/data", 8, false));
  EXPECT_NE(hash("run1/data", 8, true), hash("run1/data", 16, true));
  EXPECT_EQ(hash("data", 8, true).size(), 16u);
}

TEST(Recorder, AsksOnceForAShapeThatDoesNotFit) {
  RecorderOptions options;
  options.shape_bytes = 1 * KiB;
  auto recorder = Recorder::make(options);
  ASSERT_TRUE(recorder);
  const auto sink = (*recorder)->file({});
  int asked = 0;
  i64 room = 0;
  const auto of = [&](i64 bytes) {
    return [&, bytes](i64 most) {
      ++asked;
      room = most;
      return std::optional(std::vector<std::byte>(static_cast<size_t>(bytes)));
    };
  };
  EXPECT_EQ(sink->shape("too large", of(1 * KiB)), kNoShape);
  EXPECT_EQ(sink->shape("too large", of(1 * KiB)), kNoShape);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(sink->shape("small", of(8)), 0);
  EXPECT_EQ(sink->shape("the rest", [](i64) { return std::nullopt; }), kNoShape);
  const i64 before = room;
  EXPECT_EQ(sink->shape("another", of(16)), 1);
  EXPECT_LT(room, before);
  EXPECT_EQ(sink->shape("exactly", [](i64 most) { return std::vector<std::byte>(static_cast<size_t>(most)); }), 2);
  EXPECT_EQ(sink->shape("no more", of(0)), kNoShape);
}

TEST(Replay, FewerAreGatheredOfLargeJobs) {
  Rank a(0, 1);
  a.open("data");
  for (i64 i = 0; i < 50; ++i) a.access(true, false, 0, 100 + i);
  PieceLimits limits;
  limits.steps = 11;
  const RankTrace trace = a.trace(limits);
  EXPECT_EQ(trace.steps.size(), 11u);
  EXPECT_EQ(trace.header.steps_left_out, 40);
  limits.shape_bytes = 8;
  EXPECT_TRUE(a.trace(limits).shapes.empty());
}

}  // namespace
}  // namespace mercutio
