// Several files with one fault, and what the verdict says for people.
#include <gtest/gtest.h>

#include <algorithm>

#include "insight/findings.h"
#include "insight/job_for_tests.h"

namespace mercutio {
namespace {

// A program that writes a file each step has one fault, not one for each file.
TEST(Findings, TheSameFaultOfManyFilesIsOne) {
  const Job job = job_of_files(4, 60, [](i64, i64 file, FileTotals& f) {
    calls(f.of(Direction::kWrite, false), 750, 512, (file == 17 ? 2 : 1) * kSecond * 3 / 20);
  });
  const std::vector<Finding> found = find_causes(job);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "small_writes");
  EXPECT_EQ(found[0].file, "out.###");
  EXPECT_EQ(found[0].files, 60);
  EXPECT_NEAR(found[0].seconds, 61 * 0.15, 0.05);
  EXPECT_NEAR(found[0].factor, 10 / (10 - 61 * 0.15), 1);
  ASSERT_EQ(found[0].worst.size(), 3u);
  EXPECT_EQ(found[0].worst[0].first, "out.17");
  EXPECT_NEAR(found[0].worst[0].second, 0.3, 1e-6);
  const std::string text = verdict(job);
  EXPECT_NE(text.find("out.### (60 files): 180,000 calls of 512 B"), std::string::npos) << text;
  EXPECT_NE(text.find("longest: out.17 300 ms"), std::string::npos) << text;
}

// Files of other names, too.
TEST(Findings, TheSameFaultOfDifferentFilesIsOne) {
  const Job job = job_of_files(4, 2, [](i64, i64, FileTotals& f) { calls(f.of(Direction::kWrite, false), 2000, 512, kSecond); });
  Job both = job;
  for (const char* name : {"velocity", "pressure", "energy"}) {
    JobFile file = job.files[0];
    file.name = name;
    both.files.push_back(file);
  }
  for (RankTrace& trace : both.traces) trace.header.held_ns = 5 * kSecond;
  const std::vector<Finding> found = find_causes(both);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].files, 5);
  EXPECT_NEAR(found[0].seconds, 5, 0.05);
  EXPECT_EQ(found[0].file, "out.### (2 files), velocity, pressure and 1 more");
}

// Each rank a file of its own, all at the same time: their times aren't summed, and nobody does the work of all.
TEST(Findings, AFileForEachRankIsNeitherSerialNorManyFiles) {
  const Job job = job_of_files(16, 16, [](i64 rank, i64 file, FileTotals& f) {
    if (rank != file) f = {};
    if (rank == file) calls(f.of(Direction::kWrite, false), 100'000, 100, 4 * kSecond);
  });
  const std::vector<Finding> found = find_causes(job);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "small_writes");
  EXPECT_NEAR(found[0].seconds, 4, 0.1);
}

// 300 files opened once each are not one that is opened 300 times; and not the other way round.
TEST(Findings, ManyFilesAreNotOneThatIsReopened) {
  const auto writing = [](i64, i64, FileTotals& f) {
    f.open_ns = f.close_ns = kSecond / 100;
    calls(f.of(Direction::kWrite, true), 4, 512 * KiB, kSecond / 200);
  };
  const std::vector<Finding> many = find_causes(job_of_files(4, 300, writing));
  ASSERT_FALSE(many.empty());
  EXPECT_EQ(many[0].id, "many_files");
  EXPECT_NEAR(many[0].seconds, 6 * 299 / 300.0, 0.01);
  EXPECT_EQ(find_causes(job_of_files(4, 5, writing)).size(), 0u);
  const std::vector<Finding> again = all_findings(job_of_files(4, 300, [&](i64 rank, i64 file, FileTotals& f) {
    writing(rank, file, f);
    if (file == 7) f.opens = 40, f.reopens = 39, f.open_ns = kSecond;
  }));
  const auto reopened = std::find_if(again.begin(), again.end(), [](const Finding& one) { return one.id == "reopened"; });
  ASSERT_NE(reopened, again.end());
  EXPECT_EQ(reopened->file, "out.7");
  EXPECT_EQ(reopened->files, 1);
}

// Files that are used in turns, again and again: what ranks wait in closing them because of small calls is due to these, for the time with
// all of them is no longer than the run.
TEST(Findings, FilesThatAreUsedInTurnsDontMakeTheRunLonger) {
  const auto cost = [](bool in_turns) {
    return find_causes(job_of_files(4, 10, [in_turns](i64, i64 file, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), 10'000, 64, kSecond / 2);
      f.closes = 9, f.close_ns = f.late_opening_ns = kSecond / 4;
      f.first_ns = in_turns ? 1 : 1 + file * kSecond, f.last_ns = f.first_ns + (in_turns ? 10 : 1) * kSecond;
    }))[0].seconds;
  };
  EXPECT_NEAR(cost(true), cost(false), 0.01);
  EXPECT_NEAR(cost(true), 5 + 2.5 * 5 / (10 - 2.5), 0.05);
}

// Beyond the table there are totals by pattern only.
TEST(Findings, APatternOfManyFilesIsNotOneFile) {
  Job job = job_of_files(4, 1, [](i64 rank, i64, FileTotals& f) {
    f.opens = f.closes = 200, f.files = rank == 0 ? 200 : 0, f.open_ns = 3 * kSecond;
    f.syncs = 200, f.sync_ns = 1;
  });
  job.files[0].is_pattern = true;
  const std::vector<Finding> found = find_causes(job);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "many_files");
  EXPECT_EQ(found[0].files, 200);
}

// As factors compare with the run without it.
TEST(Verdict, SaysWhatRecordingTook) {
  Job job = job_with(4, [](i64, FileTotals& f) { calls(f.of(Direction::kWrite, true), 50, MiB, kSecond); });
  job.recording = 0.5;
  EXPECT_EQ(verdict(job).find("recording took"), std::string::npos) << verdict(job);
  job.recording = 5;
  EXPECT_NE(verdict(job).find("recording took 5.0 s of it: the run without it, of 5.0 s"), std::string::npos) << verdict(job);
}

TEST(Verdict, WhereThereIsLittleIoThereIsNothingToGain) {
  const std::string text = verdict(job_with(4, [](i64, FileTotals& f) { calls(f.of(Direction::kWrite, false), 5000, 64, kSecond / 5); }));
  EXPECT_NE(text.find("I/O is 2 % of the run: nothing to gain here"), std::string::npos) << text;
  EXPECT_EQ(text.find("to do"), std::string::npos) << text;
  const std::string one_rank = verdict(job_with(40, [](i64 rank, FileTotals& f) {
    if (rank == 0) calls(f.of(Direction::kWrite, false), 100, MiB, 5 * kSecond);
  }));
  EXPECT_NE(one_rank.find("[serial]"), std::string::npos) << "on average it is 1 %";
}

TEST(Verdict, SaysAtWhatRate) {
  const Job job = job_with(4, [](i64 rank, FileTotals& f) {
    calls(f.of(Direction::kWrite, false), 100, 1'000'000, rank == 0 ? 2 * kSecond : kSecond);
    calls(f.of(Direction::kRead, true), 1, 12'345, kSecond);
  });
  EXPECT_NE(verdict(job).find("read; writing 200 MB/s, reading 0.049 MB/s\n"), std::string::npos) << verdict(job);
  EXPECT_EQ(rate_text(12.3e9), "12.3 GB/s");
}

TEST(Verdict, CountsOfFilesAreText) {
  const std::string text = file_counts(job_with(4, [](i64 rank, FileTotals& f) {
    f.opens = 1;
    if (rank < 3) calls(f.of(Direction::kWrite, false), 10, 4096, kSecond);
    f.storage[1].calls = rank == 0 ? 5 : 0, f.storage[1].bytes = rank == 0 ? 120 * KiB : 0, f.storage[1].misaligned_calls = rank == 0 ? 1 : 0;
  }));
  for (const char* line : {"| MPI-IO access counts for f\n", "|   independent writes         = 30\n", "|   independent writers        = 3\n",
                           "|   total bytes for writes     = 122880 = 120 KiB\n", "|   ave system write size      = 24576\n",
                           "|   aligned system writes      = 4 (to 4096)\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_EQ(text.find("reads"), std::string::npos) << text;
}

// Those in one trace may all have made its calls, or a few of them.
TEST(Verdict, CountsOfJoinedRanksAreBounds) {
  const auto counts = [](i64 calls) {
    RankTrace alone, joined;
    for (RankTrace* const trace : {&alone, &joined}) {
      trace->header.ranks = 500, trace->header.bin_ns = 1;
      trace->files.resize(1);
      trace->files[0].name[0] = 'f';
    }
    joined.header.rank = 1, joined.header.members = 499;
    alone.files[0].totals.of(Direction::kRead, false).calls = 1000;
    joined.files[0].totals.of(Direction::kRead, false).calls = calls;
    return file_counts(job_of({alone, joined}));
  };
  EXPECT_NE(counts(1000).find("|   independent readers        = at most 500\n"), std::string::npos) << counts(1000);
  EXPECT_NE(counts(7).find("|   independent readers        = at most 8\n"), std::string::npos) << counts(7);
  EXPECT_NE(counts(1).find("|   independent readers        = 2\n"), std::string::npos) << counts(1);
}

TEST(Verdict, HasAtMostTwentyLinesAndSaysWhatToDo) {
  const std::string text = verdict(job_with(4, [](i64, FileTotals& f) {
    calls(f.of(Direction::kWrite, false), 100'000, 64, 4 * kSecond);
    f.of(Direction::kWrite, false).phase_ns[static_cast<std::size_t>(Phase::kStorage)] = 4 * kSecond;
    f.syncs = 100, f.sync_ns = kSecond;
    f.opens = 100, f.reopens = 99, f.open_ns = kSecond;
  }));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 20);
  for (const char* part : {"4 ranks on 1 node", "60 % of the run", "storage 67 %",
                           "1. many small independent writes [small_writes]", "to do: ", "smaller finding"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Verdict, SaysSoWhereReadsMoveMoreThanIsAskedFor) {
  EXPECT_NE(verdict(job_that_reads({MiB, MiB}, kSecond)).find("nothing stands out"), std::string::npos);
  const std::string text = verdict(job_that_reads({MiB, 2 * MiB, 0, MiB}, kSecond));
  EXPECT_EQ(text.find("nothing stands out"), std::string::npos) << text;
  EXPECT_NE(text.find("1. storage reads more than is asked for [amplified_reads]"), std::string::npos) << text;
}

TEST(Verdict, SaysWhenRanksHadNoCore) {
  Job job = job_with(4, [](i64, FileTotals& f) { calls(f.of(Direction::kWrite, false), 100, MiB, kSecond); });
  EXPECT_EQ(verdict(job).find("no core"), std::string::npos);
  job.cores = {4 * kSecond, 4 * 2 * kSecond, 1000};
  EXPECT_NE(verdict(job).find("had no core for 2.0 s on average (20 % of the run)"), std::string::npos) << verdict(job);
}

TEST(Verdict, SaysThatEstimatesAreUnsureWhereRanksShareCores) {
  Job job = job_with(4, [](i64, FileTotals& f) { calls(f.of(Direction::kWrite, false), 100'000, 64, 4 * kSecond); });
  job.host_cores = 4;
  EXPECT_EQ(verdict(job).find("unsure"), std::string::npos) << verdict(job);
  job.host_cores = 2;
  EXPECT_NE(verdict(job).find("the ranks share cores: times depend on who had one when, and the estimates below are unsure\n"), std::string::npos) << verdict(job);
  job.host_cores = 4, job.cores = {kSecond, 2 * kSecond, 100};
  EXPECT_NE(verdict(job).find("share cores with other processes"), std::string::npos) << verdict(job);
}

// Each rank's table may have a name of its own for them.
TEST(Verdict, SaysWhichOtherFiles) {
  std::vector<RankTrace> traces(2);
  for (i64 rank = 0; rank < 2; ++rank) {
    RankTrace& trace = traces[static_cast<std::size_t>(rank)];
    trace.header.rank = rank, trace.header.ranks = 2, trace.header.end_ns = 10 * kSecond, trace.header.bin_ns = 1;
    trace.files.resize(1);
    put_text(trace.files[0].name, rank == 0 ? "(other files) /run/a/*.dat" : "(other files) /run/b/*.dat");
    trace.files[0].is_pattern = 1;
    FileTotals& totals = trace.files[0].totals;
    totals.ranks = 1, totals.files = 60, totals.opens = totals.closes = 60, totals.open_ns = 5 * kSecond;
  }
  const std::string text = verdict(job_of(std::move(traces)));
  EXPECT_NE(text.find("(other files) /run/*.dat (120 files): 60 different files"), std::string::npos) << text;
}

// What is worth knowing whatever it costs has no factor where that is 1.
TEST(Verdict, NothingIsOneTimesAsFast) {
  const std::string text = verdict(job_that_reads({MiB, 4 * MiB, 3 * MiB, 0, true}, kSecond / 2, "cb_nods=4 (info): not applied, unknown hint\n"));
  EXPECT_EQ(text.find(" 1 times as fast"), std::string::npos) << text;
  const std::string little = verdict(job_that_reads({MiB, 4 * MiB, 3 * MiB, 0, true}, kSecond / 1000));
  EXPECT_NE(little.find("[amplified_reads]\n"), std::string::npos) << little;
  EXPECT_EQ(little.find("times as fast"), std::string::npos) << little;
}

TEST(Verdict, SaysWhatAdaptingFound) {
  const auto text_with = [](const std::vector<std::string>& found) {
    Job job = job_with(2, [](i64, FileTotals& f) { calls(f.of(Direction::kWrite, true), 10, MiB, kSecond); });
    for (const std::string& one : found) job.files[0].texts.push_back(TraceText{TextKind::kAdapted, 0, 1, one});
    return verdict(job);
  };
  const std::string begin = "\n  mercutio_adapt found for 'f': collective ", better = "access=write\nstate=decided\nbytes=1048576\nway=depth=2\ngain_percent=152\n";
  const std::string unsure = "access=read\nstate=decided\nbytes=4096\nway=cb_nodes=1\ngain_percent=0\n", same = "access=write\nstate=decided\nbytes=4096\nway=\ngain_percent=0\n";
  const auto has = [&](const std::vector<std::string>& found, const std::string& part) { return text_with(found).find(begin + part) != std::string::npos; };
  EXPECT_TRUE(has({better}, "writes of 1.0 MiB go faster by depth=2 (1.5 times as fast as the default)\n")) << text_with({better});
  EXPECT_TRUE(has({unsure}, "reads of 4.0 KiB go faster by cb_nodes=1; by how much is not sure\n")) << text_with({unsure});
  EXPECT_TRUE(has({same}, "writes of 4.0 KiB are fastest as they are\n"));
  EXPECT_TRUE(has({same, better}, "writes of 1.0 MiB go faster by depth=2 (1.5 times as fast as the default), and something for 1 other pattern\n"));
  EXPECT_EQ(text_with({}).find("mercutio_adapt"), std::string::npos);
  EXPECT_EQ(text_with({"access=write\nstate=undecided\nbytes=4096\n"}).find("mercutio_adapt"), std::string::npos);
}

// For whom a rank waits is only known from the others.
TEST(Verdict, OneRankAloneDoesNotKnowWhoIsLate) {
  const auto waiting = [](i64 known, i64 ns) {
    Job job = job_with(known, [ns](i64, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, true);
      calls(writes, 10, MiB, 2 * ns);
      writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = ns;
    });
    job.ranks = 2;
    return verdict(job);
  };
  EXPECT_NE(waiting(1, kSecond).find("nothing stands out; which ranks are late is not known"), std::string::npos) << waiting(1, kSecond);
  EXPECT_EQ(waiting(1, kSecond / 3).find("not known"), std::string::npos) << waiting(1, kSecond / 3);
  EXPECT_EQ(waiting(2, kSecond).find("not known"), std::string::npos) << waiting(2, kSecond);
}

TEST(Verdict, AccessesThatFailedAreCounted) {
  const auto failing = [](i64 failed) {
    return verdict(job_with(2, [failed](i64 rank, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, false);
      calls(writes, 1000, 0, kSecond);
      writes.failed_calls = rank == 1 ? failed : 0;
    }));
  };
  EXPECT_NE(failing(600).find("  of 2,000 accesses, 600 failed, most of them of 'f'\n"), std::string::npos) << failing(600);
  EXPECT_EQ(failing(0).find("failed"), std::string::npos) << failing(0);
  const auto writing = [](i64 failed) {   // without a finding
    return verdict(job_with(2, [failed](i64, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), 10, MiB, kSecond);
      f.of(Direction::kWrite, false).failed_calls = failed;
    }));
  };
  EXPECT_NE(writing(1).find("\n  nothing else stands out\n"), std::string::npos) << writing(1);
  EXPECT_NE(writing(0).find("\n  nothing stands out\n"), std::string::npos) << writing(0);
}

}  // namespace
}  // namespace mercutio
