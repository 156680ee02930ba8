// The summary of a job: as exact as it says, in bounded bytes, the same whichever way the ranks come together.
#include "insight/job_summary.h"

#include <gtest/gtest.h>

#include "insight/findings.h"
#include "insight/job_for_tests.h"
#include "insight/job_records.h"
#include "insight/name_patterns.h"

namespace mercutio {
namespace {

RankTrace trace_of(i64 rank, i64 ranks, i64 files, const std::function<void(i64, FileTotals&)>& change, const std::string& name = "out.") {
  RankTrace trace;
  trace.header.rank = rank, trace.header.ranks = ranks, trace.header.end_ns = 10 * kSecond, trace.header.bin_ns = 1;
  put_text(trace.header.program, "program");
  for (i64 file = 0; file < files; ++file) {
    FileRecord record;
    put_text(record.name, name + std::to_string(file));
    put_text(record.file_system, "lustre");
    record.totals.ranks = ranks, record.totals.files = rank == 0 ? 1 : 0, record.totals.opens = record.totals.closes = 1;
    change(file, record.totals);
    trace.files.push_back(record);
  }
  return trace;
}

// As MPI does it: over bytes.
JobSummary merged(const std::vector<RankTrace>& traces, i64 files) {
  const SummaryLimits limits = summary_limits(static_cast<i64>(traces.size()), files);
  std::vector<std::vector<std::byte>> parts;
  for (const RankTrace& trace : traces) {
    parts.emplace_back(static_cast<std::size_t>(limits.bytes()));
    JobSummary(trace, limits).encode(parts.back());
  }
  for (std::size_t step = 1; step < parts.size(); step *= 2) {
    for (std::size_t i = 0; i + step < parts.size(); i += 2 * step) {
      JobSummary sum = JobSummary::decode(parts[i]);
      sum.add(JobSummary::decode(parts[i + step]), limits);
      sum.encode(parts[i]);
    }
  }
  return JobSummary::decode(parts.front());
}

void small_writes(i64, FileTotals& totals) {
  calls(totals.of(Direction::kWrite, false), 20'000, 512, 8 * kSecond);
}

TEST(JobSummary, IsAsTheJobForFewRanks) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < 5; ++rank) traces.push_back(trace_of(rank, 5, 1, small_writes));
  const JobSummary summary = merged(traces, 1);
  const std::vector<Finding> exact = find_causes(job_of(traces)), ours = find_causes(summary.job(traces.front()));
  ASSERT_FALSE(exact.empty());
  ASSERT_EQ(ours.size(), exact.size());
  EXPECT_EQ(ours.front().id, exact.front().id);
  EXPECT_DOUBLE_EQ(ours.front().seconds, exact.front().seconds);
  EXPECT_EQ(summary.ranks(), 5);
}

TEST(JobSummary, SumsAreExactWhateverTheNumberOfRanks) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < 1000; ++rank) {
    traces.push_back(trace_of(rank, 1000, 2, [rank](i64 file, FileTotals& totals) { calls(totals.of(Direction::kWrite, file == 1), 3 + rank % 7, 1000, kSecond); }));
  }
  const JobSummary summary = merged(traces, 2);
  EXPECT_EQ(summary.ranks(), 1000);
  i64 expected = 0;
  for (i64 rank = 0; rank < 1000; ++rank) expected += (3 + rank % 7) * 1000;
  ASSERT_EQ(summary.files().size(), 2u);
  EXPECT_EQ(summary.totals(0).bytes(), expected);
  EXPECT_EQ(summary.totals(1).bytes(), expected);
}

// The rules see 64 of the ranks; rates are of all.
TEST(JobSummary, RatesAreThoseOfAllRanks) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < 2000; ++rank) {
    traces.push_back(trace_of(rank, 2000, 1, [rank](i64, FileTotals& totals) {
      calls(totals.of(Direction::kWrite, true), 4, 1000, 2 * kSecond);
      if (rank == 7) calls(totals.of(Direction::kRead, false), 10, 1000, kSecond / 2);
    }));
  }
  const std::string line = job_line(merged(traces, 1), traces.front(), {});
  EXPECT_NE(line.find(R"("read":10000,"written":8000000,"read_rate":20000,"write_rate":4e+06,)"), std::string::npos) << line;
}

TEST(JobSummary, OpensThatFailedAreTimeInIo) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < 4; ++rank) {
    traces.push_back(trace_of(rank, 4, 1, [](i64, FileTotals& totals) { calls(totals.of(Direction::kWrite, false), 10, 512, kSecond); }));
    traces.back().header.failed_opens = 5;
    traces.back().header.failed_open_ns = 3 * kSecond;
    traces.back().header.held_ns = 4 * kSecond;
  }
  const JobSummary summary = merged(traces, 1);
  EXPECT_DOUBLE_EQ(summary.io_seconds(), 4);
  EXPECT_DOUBLE_EQ(summary.held_seconds()[0], 1) << "the file had no part in the others";
  EXPECT_NE(job_line(summary, traces.front(), {"77", "me", 1000}).find(R"("failed_opens":20,)"), std::string::npos);
}

// One of 4,096 ranks does it all: that is what the group of its own is for.
TEST(JobSummary, KeepsTheRankThatIsUnlikeTheOthers) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < 4096; ++rank) {
    traces.push_back(trace_of(rank, 4096, 1, [rank](i64, FileTotals& totals) {
      totals.nodes = 64;
      if (rank == 1234) calls(totals.of(Direction::kWrite, false), 100, 64 * MiB, 9 * kSecond);
    }));
  }
  const JobSummary summary = merged(traces, 1);
  const std::vector<Finding> found = find_causes(summary.job(traces.front()));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().id, "serial");
}

TEST(JobSummary, TenThousandFilesTakeBoundedBytes) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < 32; ++rank) traces.push_back(trace_of(rank, 32, 300, small_writes, "step" + std::to_string(rank) + "."));
  const JobSummary summary = merged(traces, 300);
  EXPECT_LE(summary_limits(32, 300).bytes(), 256 * KiB);
  ASSERT_EQ(summary.files().size(), 1u);
  EXPECT_EQ(text_in(summary.files()[0].name), "step###.###");
  EXPECT_EQ(summary.totals(0).of(Direction::kWrite, false).calls, 32 * 300 * 20'000);
  const std::string line = job_line(summary, traces.front(), {"77", "me", 1000});
  EXPECT_LE(line.size(), 100'000u);
}

TEST(JobSummary, NamesWithoutAPatternBecomeOthers) {
  RankTrace trace = trace_of(0, 1, 26, small_writes);
  for (std::size_t i = 0; i < trace.files.size(); ++i) put_text(trace.files[i].name, std::string(1, static_cast<char>('a' + i)) + "x");
  trace.files[25].totals.open_ns = 5 * kSecond;
  const JobSummary summary = merged({trace}, 26);
  ASSERT_EQ(summary.files().size(), 12u);
  EXPECT_EQ(text_in(summary.files()[0].name), "zx") << "the longest first";
  EXPECT_EQ(text_in(summary.files()[11].name), kOtherFiles);
  FileTotals all;
  for (std::size_t i = 0; i < 12; ++i) all.add(summary.totals(i));
  EXPECT_EQ(all.calls(), 26 * 20'000);
}

// Each rank has another file that took it longest.
TEST(JobSummary, ARowThatLacksWhatSomeRanksDidSaysSo) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < 4; ++rank) {
    traces.push_back(trace_of(rank, 4, 26, [rank](i64 file, FileTotals& totals) { totals.open_ns = (file == 25 || file / 6 == rank ? 5 : 1) * kSecond; }));
    for (std::size_t i = 0; i < 26; ++i) put_text(traces.back().files[i].name, std::string(1, static_cast<char>('a' + i)) + "x");
  }
  const JobSummary summary = merged(traces, 26);
  i64 opens = 0;
  for (std::size_t i = 0; i < summary.files().size(); ++i) {
    const std::string_view name = text_in(summary.files()[i].name);
    opens += summary.totals(i).opens;
    EXPECT_TRUE(is_other_files(name) ? !summary.is_partial(i) : summary.totals(i).opens == 4 || summary.is_partial(i)) << name;
    EXPECT_FALSE(name == "zx" && summary.is_partial(i)) << "all ranks know it";
  }
  EXPECT_EQ(opens, 4 * 26);
  const auto job = parse_job_line(job_line(summary, traces.front(), {"77", "me", 1000}));
  ASSERT_TRUE(job.has_value());
  EXPECT_NE(job_line(summary, traces.front(), {"77", "me", 1000}).find(R"("partial":true)"), std::string::npos);
}

// Nobody reads the same data where ranks have parts of their own.
TEST(JobSummary, GroupsKeepRangesApart) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < 256; ++rank) {
    traces.push_back(trace_of(rank, 256, 1, [rank](i64, FileTotals& totals) {
      ClassTotals& reads = totals.of(Direction::kRead, false);
      calls(reads, 5000, 100, 5 * kSecond);
      reads.begin_place = rank * 500'000 + 1, reads.end_place = (rank + 1) * 500'000 + 1;
    }));
  }
  const Job job = merged(traces, 1).job(traces.front());
  for (const Finding& one : find_causes(job)) EXPECT_NE(one.id, "same_data_read");
}

TEST(JobSummary, ALineIsReadBack) {
  std::vector<RankTrace> traces = {trace_of(0, 2, 2, small_writes, "a\"\\\n\xff#."), trace_of(1, 2, 2, small_writes, "a\"\\\n\xff#.")};
  traces[0].header.wall_start_ns = 1'700'000'000 * kSecond;
  const std::string line = job_line(merged(traces, 2), traces.front(), {"12[3]", "m\xc3\xa9", 1000});
  ASSERT_EQ(line.back(), '\n');
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto job = parse_job_line(std::string_view(line).substr(0, line.size() - 1));
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->job, "12[3]");
  EXPECT_EQ(job->user, "m\xc3\xa9");
  EXPECT_EQ(job->ranks, 2);
  EXPECT_EQ(job->start, 1'700'000'000);
  EXPECT_EQ(job->written, 2 * 2 * 20'000 * 512);
  ASSERT_FALSE(job->findings.empty());
  EXPECT_EQ(job->findings[0].id, "small_writes");
  EXPECT_EQ(job->findings[0].file_system, "lustre");
  ASSERT_EQ(job->files.size(), 2u);
  EXPECT_EQ(job->files[0].name.substr(0, 3), "a\"\\");
}

TEST(JobSummary, WhatIsNoCharacterBecomesSomethingThatIs) {
  const std::pair<const char*, const char*> texts[] = {{"\xed\xa0\x80", R"("\\xed\\xa0\\x80")"},   // half a pair of UTF-16
                                                       {"\xe0\x80\xaf", R"("\\xe0\\x80\\xaf")"},   // "/" in three bytes
                                                       {"\xf0\x80\x80\xaf", R"("\\xf0\\x80\\x80\\xaf")"},
                                                       {"\xf4\x90\x80\x80", R"("\\xf4\\x90\\x80\\x80")"},
                                                       {"\xed\x9f\xbf\xf4\x8f\xbf\xbf\xe0\xa0\x80", "\"\xed\x9f\xbf\xf4\x8f\xbf\xbf\xe0\xa0\x80\""}};
  for (const auto& [text, json] : texts) EXPECT_EQ(json_text(text), json);
}

TEST(JobRecords, PairsOfUtf16AreOneCharacterAndHalvesAreNone) {
  const auto user = [](const std::string& escaped) {
    const auto job = parse_job_line(R"({"format":"mercutio-job","version":1,"ranks":1,"findings":[],"files":[],"user":")" + escaped + "\"}");
    return job ? job->user : "no record";
  };
  EXPECT_EQ(user(R"(\ud83d\ude00)"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(user(R"(a\ud83db)"), "a\xef\xbf\xbd" "b");
  EXPECT_EQ(user(R"(\ude00)"), "\xef\xbf\xbd");
  EXPECT_EQ(user(R"(a\\xff\\x5cxff)"), "a\xff\\xff") << "bytes that are no text";
  EXPECT_EQ(user(R"(\ud83d\u0041)"), "\xef\xbf\xbd" "A");
  EXPECT_EQ(user(R"(\ud83d\u12)"), "no record");
}

TEST(JobRecords, TimesAreThoseThatARunCanHave) {
  const auto is_record = [](const std::string& seconds, const std::string& sums) {   // of 10,000 ranks
    return parse_job_line(R"({"format":"mercutio-job","version":1,"ranks":10000,"seconds":)" + seconds + R"(,"io_seconds":)" + sums +
                          R"(,"findings":[],"files":[{"name":"a","seconds":)" + sums + "}]}").has_value();
  };
  EXPECT_TRUE(is_record("86400", "8e8")) << "sums are of all ranks";
  EXPECT_TRUE(is_record("3e7", "3e11"));
  EXPECT_FALSE(is_record("1e9", "8e8"));
  EXPECT_FALSE(is_record("86400", "1e12"));
}

TEST(JobRecords, OtherTextIsNoRecord) {
  const std::string good = R"({"format":"mercutio-job","version":1,"ranks":1,"later":[{"x":[1,null,true]}],"findings":[],"files":[]})";
  EXPECT_TRUE(parse_job_line(good).has_value());
  for (std::size_t i = 0; i < good.size(); ++i) EXPECT_FALSE(parse_job_line(good.substr(0, i)).has_value()) << i;
  for (const char* bad : {"", "{}", "[]", "x", R"({"format":"mercutio-job","version":2,"ranks":1})", R"({"format":"mercutio-job","version":1,"ranks":-1})",
                          R"({"format":"mercutio-job","version":1,"ranks":1,"seconds":-1})", R"({"format":"mercutio-job","version":1,"ranks":1,"start":1e300})",
                          R"({"format":"mercutio-job","version":1,"ranks":1} x)", R"({"format":"mercutio-job","version":1,"ranks":1,"job":"\u12"})"})
    EXPECT_FALSE(parse_job_line(bad).has_value()) << bad;
  EXPECT_FALSE(parse_job_line("{\"x\":" + std::string(100'000, '[')).has_value());
}

}  // namespace
}  // namespace mercutio
