// How many different files a job has: Job::file_count.
#include <gtest/gtest.h>

#include <functional>

#include "insight/findings.h"
#include "insight/job.h"
#include "insight/recorder.h"
#include "insight/test_support.h"

namespace mercutio {
namespace {

void read_all(TraceSink& sink) {
  constexpr i64 kBytes = 1000;
  Counters counters;
  AccessFacts facts;
  facts.direction = Direction::kRead;
  facts.end_offset = facts.piece_bytes = kBytes;
  TraceEvent event{TraceKind::kAccess, now_ns(), now_ns(), kBytes, 0, "MPI_File_read"};
  event.counters = &counters;
  event.access = &facts;
  sink.record(event);
}

// A file of its own in the table of rank 1 is among the others in that of rank 0.
TEST(FileCount, AFileCountsOnceWhereverRanksHaveIt) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < 2; ++rank) {
    RecorderOptions options;
    options.files = 8, options.rank = rank, options.ranks = 2;
    auto recorder = make(options);
    for (char name = rank == 0 ? 'a' : 'r'; name <= 't'; ++name) {
      FileFacts facts = facts_of(std::string("/run/") + name);
      facts.rank = rank, facts.ranks = 2;
      recorder->file(facts)->record({TraceKind::kOpen, now_ns(), now_ns()});
    }
    traces.push_back(read_back(*recorder));
  }
  EXPECT_EQ(job_of(traces).file_count(), 20);
  EXPECT_EQ(job_of({traces[0]}).file_count(), 20);
  EXPECT_EQ(job_of({traces[1]}).file_count(), 3) << "nothing else is known of them";
}

// Of `ranks` that open `files` each on their own, by the name that `name_of` makes of rank and number, in its order.
std::vector<RankTrace> opened_alone_by(i64 ranks, i64 files, const std::function<std::string(i64 rank, i64 number)>& name_of) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < ranks; ++rank) {
    RecorderOptions options;
    options.rank = rank, options.ranks = ranks;
    auto recorder = make(options);
    for (i64 number = 0; number < files; ++number) {
      auto sink = recorder->file(facts_of(name_of(rank, number)));
      sink->record({TraceKind::kOpen, now_ns(), now_ns()});
      read_all(*sink);
    }
    traces.push_back(read_back(*recorder));
  }
  return traces;
}

TEST(FileCount, FilesThatSeveralRanksOpenAloneCountOnce) {
  const auto name_of = [](i64 number) { return "/run/in." + std::to_string(number); };
  const Job same = job_of(opened_alone_by(4, 300, [&](i64, i64 number) { return name_of(number); }));
  EXPECT_EQ(same.file_count(), 300);
  for (const Finding& finding : all_findings(same)) EXPECT_NE(finding.id, "same_data_read") << finding.evidence;
  EXPECT_EQ(job_of(opened_alone_by(4, 300, [&](i64 rank, i64 number) { return name_of((number + 75 * rank) % 300); })).file_count(), 300) << "in another order";
  EXPECT_EQ(job_of(opened_alone_by(4, 300, [&](i64 rank, i64 number) { return name_of(300 * rank + number); })).file_count(), 1200) << "each its own";
  EXPECT_NEAR(static_cast<double>(job_of(opened_alone_by(4, 300, [&](i64 rank, i64 number) { return name_of(150 * rank + number); })).file_count()), 750, 200) << "half of them";
}

}  // namespace
}  // namespace mercutio
