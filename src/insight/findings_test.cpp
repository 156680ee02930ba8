// Each rule on a job made up for it, and what must not set it off.
#include "insight/findings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "insight/job_for_tests.h"

namespace mercutio {
namespace {

TEST(Findings, SmallIndependentCalls) {
  const Job writes =
      job_with(4, [](i64, FileTotals& f) { calls(f.of(Direction::kWrite, false), 100'000, 64, 4 * kSecond); });
  EXPECT_EQ(first_of(writes), "small_writes");
  const Finding found = find_causes(writes)[0];
  EXPECT_NEAR(found.seconds, 4, 0.1);
  EXPECT_NEAR(found.factor, 10 / 6.0, 0.05);
  EXPECT_EQ(
      first_of(job_with(4, [](i64, FileTotals& f) { calls(f.of(Direction::kRead, false), 100'000, 64, 4 * kSecond); })),
      "small_reads");
  EXPECT_EQ(
      first_of(job_with(4, [](i64, FileTotals& f) { calls(f.of(Direction::kWrite, false), 100, 64, 4 * kSecond); })),
      "");
  EXPECT_EQ(
      first_of(job_with(4, [](i64, FileTotals& f) { calls(f.of(Direction::kWrite, false), 4000, MiB, 4 * kSecond); })),
      "");
}

// What the job itself shows of rates is what is reckoned with, and time of the trace is none of the run.
TEST(Findings, TheJobsOwnRatesCount) {
  const auto slow = [](i64, FileTotals& f) {
    calls(f.of(Direction::kWrite, false), 100'000, 1000, 4 * kSecond);
    f.storage[1].large_bytes = 100 * MiB;
    f.storage[1].ns = f.storage[1].large_ns = 2 * kSecond;
  };
  const Finding found = find_causes(job_with(4, slow))[0];
  EXPECT_NEAR(found.seconds, 4 - 1e8 / (50 * MiB), 0.01);
  const auto strided_seconds = [](Direction direction) {   // beside collective writes of 50 MiB/s
    const auto both = [direction](i64, FileTotals& f) {
      calls(f.of(direction, false), 50, MiB, 3 * kSecond);
      f.of(direction, false).strided_calls = 50;
      calls(f.of(Direction::kWrite, true), 25, MiB, kSecond);
      f.of(Direction::kWrite, true).strided_calls = 25;
      f.of(Direction::kWrite, true).phase_ns[static_cast<std::size_t>(Phase::kArrive)] = kSecond / 2;
    };
    const std::vector<Finding> all = find_causes(job_with(4, both));
    const auto strided = std::find_if(all.begin(), all.end(), [](const Finding& one) { return one.id.rfind("strided", 0) == 0; });
    return strided == all.end() ? -1 : strided->seconds;
  };
  EXPECT_NEAR(strided_seconds(Direction::kWrite), 3 - 2 * 0.5, 0.01);
  EXPECT_NEAR(strided_seconds(Direction::kRead), 3 - 200.0 * MiB / 1e9, 0.01) << "reads need not take as long";
  Job job = job_with(4, slow);
  job.recording = 5;
  EXPECT_NEAR(find_causes(job)[0].factor, 5 / (5 - found.seconds), 0.01);
}

// What lies between small calls is no I/O, so that their cost is consistent with how long I/O held the ranks.
TEST(Findings, ACostIsNoMoreThanWhatHeldTheRanks) {
  Job job = job_with(4, [](i64, FileTotals& f) {
    calls(f.of(Direction::kWrite, false), 100'000, 64, 4 * kSecond);
    f.between_ns = kSecond, f.first_ns = 1, f.last_ns = 1 + 9 * kSecond;
  });
  EXPECT_NEAR(find_causes(job)[0].seconds, 4, 0.05);
  EXPECT_LE(find_causes(job)[0].seconds, job.held_seconds(0));
  job.cores = {kSecond, kSecond, 1000};
  job.host_cores = 2;
  EXPECT_NEAR(find_causes(job)[0].seconds, 4, 0.05);
  job.recording = 9;
  EXPECT_EQ(all_findings(job)[0].factor, 1) << "nothing is left of the run";
  job.recording = 0;
  for (RankTrace& trace : job.traces) trace.header.held_ns = 3 * kSecond;
  EXPECT_NEAR(find_causes(job)[0].seconds, 3, 0.05) << "of ranks whose threads were held at the same time";
}

// Where all ranks make the same calls, all are held, even if some were much faster. Where some make none, it is not known what they do meanwhile.
TEST(Findings, OnlyRanksWithoutSuchCallsMakeItAtMost) {
  const auto writing = [](i64 others) {
    return find_causes(job_with(4, [others](i64 rank, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), rank == 0 ? 100'000 : others, 64, rank == 0 ? 8 * kSecond : kSecond / 4);
    })).at(0);
  };
  EXPECT_FALSE(writing(100'000).at_most);
  EXPECT_TRUE(writing(1).at_most);
}

// Each collective call is a meeting, which takes as long as even the rank waits in the job's own that waits least.
TEST(Findings, ACollectiveCallIsAMeeting) {
  const auto reading = [](i64 wait_ns) {
    return seconds_of(job_with(4, [=](i64 rank, FileTotals& f) {
      calls(f.of(Direction::kRead, false), 50, MiB, 5 * kSecond);
      f.of(Direction::kRead, false).strided_calls = 50;
      ClassTotals& writes = f.of(Direction::kWrite, true);
      calls(writes, 10, MiB, kSecond);
      writes.phase_ns[static_cast<std::size_t>(Phase::kWait)] = rank == 1 ? wait_ns : 2 * wait_ns;
      writes.phase_ns[static_cast<std::size_t>(Phase::kAgree)] = wait_ns;
    }), "strided_reads");
  };
  const double moving = 200.0 * MiB / 1e9;
  EXPECT_NEAR(reading(0), 5 - moving, 0.01);
  EXPECT_NEAR(reading(kSecond / 10), 5 - moving - 50 * 2 * 0.01, 0.01);
}

// Pages that are written for the first time take longer than those that are there.
TEST(Findings, NewPagesTakeTime) {
  const auto writing = [](i64 end, Direction direction) {
    Job job = job_with(4, [=](i64, FileTotals& f) {
      calls(f.of(direction, false), 1'000'000, 16 * KiB, 9 * kSecond);
      f.end_offset = end;
    });
    job.files[0].file_system = "tmpfs";
    return seconds_of(job, direction == Direction::kWrite ? "small_writes" : "small_reads");
  };
  const double mine = 1e6 * 16 * KiB;
  EXPECT_NEAR(writing(static_cast<i64>(4 * mine), Direction::kWrite), 9 - mine / 4e9, 0.01);
  EXPECT_NEAR(writing(MiB, Direction::kWrite), 9 - mine / 10e9, 0.01) << "over and over";
  EXPECT_NEAR(writing(static_cast<i64>(4 * mine), Direction::kRead), 9 - mine / 10e9, 0.01);
}

// Where others use the cores, too, a meeting takes some turns on them; ranks that only have each other on a core let each other go on.
TEST(Findings, OthersOnTheCoresMakeMeetingsLong) {
  const auto reading = [](i64 host_cores) {
    Job job = job_with(4, [](i64, FileTotals& f) {
      calls(f.of(Direction::kRead, false), 50, MiB, 5 * kSecond);
      f.of(Direction::kRead, false).strided_calls = 50;
    });
    job.cores = {kSecond, kSecond, 100};
    job.host_cores = host_cores;
    return seconds_of(job, "strided_reads");
  };
  EXPECT_NEAR(reading(2), 5 - 200.0 * MiB / 1e9, 0.01);
  EXPECT_NEAR(reading(4), 5 - 200.0 * MiB / 1e9 - 50 * 3 * 0.01, 0.01);
}

// Where a file is opened for each collective access, that isn't only opening and closing: the first one of an open takes longer.
TEST(Findings, TheFirstCollectiveOfAnOpenIsASlowOne) {
  const auto opened = [](i64 calls_of_rank) {
    return seconds_of(job_with(4, [=](i64, FileTotals& f) {
      f.opens = f.closes = 50, f.reopens = 49, f.open_ns = f.close_ns = kSecond;
      calls(f.of(Direction::kWrite, true), calls_of_rank, 64, 2 * kSecond);
    }), "reopened");
  };
  EXPECT_NEAR(opened(50), (2 + 2 - 50 * 20e-6) * 0.98, 0.001);
  EXPECT_NEAR(opened(200), 2 * 0.98, 0.001);
}

TEST(Findings, FirstAccessesOfAnOpenMayBeSlow) {
  const auto opened = [](i64 calls_of_rank, const char* file_system) {
    Job job = job_with(2, [=](i64, FileTotals& f) {
      f.opens = f.closes = 1000, f.reopens = 999, f.open_ns = 4 * kSecond;
      calls(f.of(Direction::kWrite, false), calls_of_rank, 64, 2 * kSecond);
    });
    job.files[0].file_system = file_system;
    return seconds_of(job, "reopened");
  };
  EXPECT_NEAR(opened(1000, "tmpfs"), (4 + 2) * 0.999, 0.01);
  EXPECT_NEAR(opened(4000, "tmpfs"), 4 * 0.999, 0.01) << "most are none";
  EXPECT_NEAR(opened(1000, "lustre"), 4 * 0.999, 0.01) << "what they take there is not known";
}

// On cores that ranks share, what all of them wait in accesses stays.
TEST(Findings, OnSharedCoresAccessesWaitWithoutOpening) {
  const auto opened = [](i64 host_cores) {
    Job job = job_with(4, [](i64, FileTotals& f) {
      f.opens = f.closes = 50, f.reopens = 49, f.open_ns = 4 * kSecond;
      ClassTotals& writes = f.of(Direction::kWrite, true);
      calls(writes, 50, 64, 3 * kSecond);
      writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = 2 * kSecond;
      writes.phase_ns[static_cast<std::size_t>(Phase::kAgree)] = kSecond / 2;
    });
    job.host_cores = host_cores;
    return seconds_of(job, "reopened");
  };
  EXPECT_NEAR(opened(4), (4 + 1 + 2) * 0.98, 0.01);
  EXPECT_NEAR(opened(2), (4 + 0.5 + 2) * 0.98, 0.01);
}

// Ranks that are late in turns may be so because of what they did before, but not for longer than that took.
TEST(Findings, OpeningMakesRanksLateOnlyAsLongAsItTakes) {
  const auto opened = [](i64 arrive_ns) {
    return seconds_of(job_with(4, [=](i64, FileTotals& f) {
      f.opens = f.closes = 50, f.reopens = 49, f.open_ns = f.close_ns = kSecond / 2;
      calls(f.of(Direction::kWrite, true), 1000, 64, 5 * kSecond);
      f.of(Direction::kWrite, true).phase_ns[static_cast<std::size_t>(Phase::kArrive)] = arrive_ns;
    }), "reopened");
  };
  EXPECT_NEAR(opened(kSecond / 4), 1.25 * 0.98, 0.001);
  EXPECT_NEAR(opened(4 * kSecond), 2 * 0.98, 0.001);
}

TEST(Findings, WithoutOpeningTheAccessesStay) {
  const Job job = job_with(4, [](i64 rank, FileTotals& f) {
    f.opens = f.closes = 100, f.reopens = 99, f.open_ns = (rank == 0 ? 6 : 1) * kSecond;
    calls(f.of(Direction::kWrite, true), 100, 8 * MiB, (rank == 0 ? 3 : 9) * kSecond);
  });
  EXPECT_NEAR(seconds_of(job, "reopened"), 0.99 * (10 - 400 * 8.0 * MiB / 1e9), 0.01);
}

// What ranks wait for a late one stays with larger stripes.
TEST(Findings, SmallStripesAreNotWaitedFor) {
  const auto costs = [](double late) {
    return seconds_of(job_with(4, [late](i64, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, true);
      calls(writes, 10, MiB, static_cast<i64>((1 + late) * 1e9));
      writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = static_cast<i64>(late * 1e9);
      f.storage[1].calls = 1000, f.storage[1].bytes = 10 * MiB;
    }, "striping_unit=4096 (MPI_Info): applied"), "small_stripes");
  };
  EXPECT_GT(costs(0), 0.5);
  EXPECT_NEAR(costs(5), costs(0), 0.001);
}

TEST(Findings, WhatCostsNothingIsThereButNotSaid) {
  const Job job = job_with(2, [](i64, FileTotals& f) { f.syncs = 100, f.sync_ns = 1; });
  EXPECT_EQ(first_of(job), "");
  ASSERT_EQ(all_findings(job).size(), 1u);
  EXPECT_FALSE(all_findings(job)[0].worth);
}

TEST(Findings, StridedIndependentCalls) {
  const auto strided = [](Direction direction) {
    return [direction](i64, FileTotals& f) {
      calls(f.of(direction, false), 50, MiB, 3 * kSecond);
      f.of(direction, false).strided_calls = 50;
    };
  };
  EXPECT_EQ(first_of(job_with(4, strided(Direction::kRead))), "strided_reads");
  EXPECT_EQ(first_of(job_with(4, strided(Direction::kWrite))), "strided_writes");
  EXPECT_EQ(first_of(job_with(1, strided(Direction::kRead))), "");
}

// However little they cost. A tenth more is nothing, and neither is what a single small call moves.
TEST(Findings, ReadsThatMoveMoreThanIsAskedFor) {
  EXPECT_EQ(first_of(job_that_reads({MiB, MiB})), "");
  EXPECT_EQ(first_of(job_that_reads({MiB, MiB + MiB / 11, MiB / 11})), "");
  EXPECT_EQ(first_of(job_that_reads({MiB, MiB + MiB / 9, MiB / 9})), "amplified_reads");
  EXPECT_EQ(first_of(job_that_reads({1 * KiB, 16 * KiB, 15 * KiB})), "");
  EXPECT_EQ(first_of(job_that_reads({1 * KiB, 18 * KiB, 17 * KiB})), "amplified_reads") << "of four ranks";
  EXPECT_EQ(first_of(job_that_reads({0, MiB})), "") << "nothing was read";
  EXPECT_EQ(first_of(job_that_reads({4 * MiB, 2 * MiB, MiB, 0, false, true})), "amplified_reads") << "each byte once for all ranks";
  const Job dear = job_that_reads({MiB, 4 * MiB, 3 * MiB, 0, true}, 4 * kSecond);
  ASSERT_EQ(first_of(dear), "amplified_reads") << "and not the pieces themselves";
  EXPECT_NEAR(find_causes(dear)[0].seconds, 4, 0.1) << "together they would take next to nothing";
  EXPECT_NEAR(find_causes(job_that_reads({MiB, 4 * MiB, 3 * MiB}, 4 * kSecond))[0].seconds, 3, 0.1);
}

TEST(Findings, WhatIsReadToBeWrittenBackIsNotAskedOfReads) {
  const Job job = job_with(1, [](i64, FileTotals& f) {
    calls(f.of(Direction::kRead, false), 1, MiB, kSecond);
    calls(f.of(Direction::kWrite, false), 1, MiB, kSecond);
    f.storage[0].bytes = 3 * MiB, f.merged_bytes = 2 * MiB;
  });
  EXPECT_EQ(seconds_of(job, "amplified_reads"), -1);
}

TEST(Findings, TheCauseOfMoreReadsDecidesWhatToDo) {
  const auto looked = [](const TestReads& moved, const std::string& notes = "", const std::string& file_system = "") {
    Job job = job_that_reads(moved, kSecond, notes);
    job.files[0].file_system = file_system;
    const std::vector<Finding> found = find_causes(job);
    std::string text = found.empty() ? "" : found[0].evidence + " |";
    for (std::size_t i = 0; !found.empty() && i < found[0].remedies.size(); ++i) text += " " + found[0].remedies[i].text;
    return text;
  };
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  const std::string holes = looked({MiB, 4 * MiB, 3 * MiB, 0, true}, "romio_ds_read=enable (info): applied\n", "ext4");
  EXPECT_TRUE(has(holes, "16.0 MiB read for 4.0 MiB asked for, 12.0 MiB of it holes between pieces | ")) << holes;
  EXPECT_TRUE(has(holes, "MPI_File_read_all")) << holes;
  EXPECT_TRUE(has(holes, "drop romio_ds_read=enable")) << holes;
  EXPECT_TRUE(has(looked({MiB, 4 * MiB, 3 * MiB, 0, true}), "MPI_File_read_all"));
  EXPECT_FALSE(has(looked({MiB, 4 * MiB, 3 * MiB, 0, true}), "romio_ds_read")) << "nobody asked for it";
  EXPECT_TRUE(has(looked({MiB, 4 * MiB, 3 * MiB}, "", "ext4"), "romio_ds_read=disable"));
  EXPECT_FALSE(has(looked({MiB, 4 * MiB, 3 * MiB}, "", "lustre"), "romio_ds_read=disable")) << "what a request costs is not known";
  EXPECT_TRUE(has(looked({MiB, 4 * MiB, 3 * MiB, 0, true, true}, "", "ext4"), "romio_cb_read=disable"));
  const std::string ahead = looked({MiB, 4 * MiB, 0, 3 * MiB});
  EXPECT_TRUE(has(ahead, "12.0 MiB of it in advance and unused | ")) << ahead;
  EXPECT_TRUE(has(ahead, "mercutio_read_ahead")) << ahead;
  const std::string windows = looked({MiB, 4 * MiB, 0, MiB});
  EXPECT_TRUE(has(windows, "8.0 MiB of it in windows of collective reads | ")) << windows;
  EXPECT_TRUE(has(windows, "4.0 MiB of it in advance and unused")) << windows;
}

TEST(Findings, OneAggregatorOnlyWhereItWasAskedFor) {
  const auto through_one = [](i64 rank, FileTotals& f) {
    calls(f.of(Direction::kWrite, true), 10, MiB, 4 * kSecond);
    f.storage[1].calls = rank == 0 ? 10 : 0;
    f.of(Direction::kWrite, true).phase_ns[static_cast<std::size_t>(rank == 0 ? Phase::kStorage : Phase::kWait)] = 3 * kSecond;
  };
  EXPECT_EQ(first_of(job_with(4, through_one, "cb_nodes=1 (info): applied\n")), "one_aggregator");
  const std::string said = find_causes(job_with(4, through_one, "romio_cb_write=enable (MPI_Info): applied\ncb_nodes=1 (user file hints.toml:1): applied\n"))[0].remedies[0].text;
  EXPECT_EQ(said.find("drop the hint cb_nodes=1 (of user file hints.toml:1): "), 0u) << said;
  EXPECT_EQ(first_of(job_with(4, through_one)), "");
  EXPECT_EQ(first_of(job_with(4, through_one, "cb_nodes=16 (info): applied\n")), "");
}

TEST(Findings, TheStragglerIsNamed) {
  const Job job = job_with(4, [](i64 rank, FileTotals& f) {
    ClassTotals& writes = f.of(Direction::kWrite, true);
    calls(writes, 10, MiB, rank == 2 ? kSecond / 10 : 3 * kSecond);
    writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == 2 ? 1000 : 3 * kSecond;
  });
  ASSERT_EQ(first_of(job), "straggler");
  EXPECT_NE(find_causes(job)[0].remedies[0].text.find("rank 2"), std::string::npos);
}

TEST(Findings, SerialAccess) {
  EXPECT_EQ(first_of(job_with(4,
                              [](i64 rank, FileTotals& f) {
                                if (rank == 0) calls(f.of(Direction::kWrite, false), 100, MiB, 5 * kSecond);
                              })),
            "serial");
  EXPECT_EQ(
      first_of(job_with(4, [](i64, FileTotals& f) { calls(f.of(Direction::kWrite, false), 100, MiB, 5 * kSecond); })),
      "");
}

// The first open of a job is a slow one, and is made in any case.
TEST(Findings, TheFirstOpenStays) {
  EXPECT_NEAR(seconds_of(job_with(4, [](i64, FileTotals& f) {
                f.opens = f.closes = 100, f.reopens = 99, f.open_ns = 3 * kSecond, f.first_open_ns = kSecond;
              }), "reopened"), 2, 0.001);
}

// A usual meeting takes 48 ms on these cores, but each file was opened and read together in 20 ms.
TEST(Findings, FilesThatAreReadLittleAreFoundOnBusyCores) {
  Job job = job_of_files(2, 300, [](i64, i64, FileTotals& f) {
    calls(f.of(Direction::kRead, true), 1, 1000, 5 * kSecond / 1000);
    f.open_ns = f.close_ns = 10 * kSecond / 1000;
  });
  job.cores = {kSecond / 5, 16 * kSecond, 1000};
  EXPECT_EQ(first_of(job), "many_files");
  EXPECT_NEAR(seconds_of(job, "many_files"), 6, 0.1);
}

TEST(Findings, TheOrderOfTheSharedFilePointerIsKept) {
  const auto said = [](i64 shared) {
    return find_causes(job_with(4, [shared](i64, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), 20'000, 48, 3 * kSecond);
      f.shared_calls = shared;
    }))[0].remedies[0].text;
  };
  EXPECT_NE(said(20'000).find("MPI_File_write_ordered"), std::string::npos) << said(20'000);
  EXPECT_EQ(said(20'000).find("set_view"), std::string::npos) << said(20'000);
  EXPECT_EQ(said(100).find("ordered"), std::string::npos) << said(100);
  const Job ordered = job_with(4, [](i64, FileTotals& f) {
    calls(f.of(Direction::kWrite, true), 2000, 48, 3 * kSecond);
    f.shared_calls = 2000;
  });
  EXPECT_NE(find_causes(ordered)[0].remedies[0].text.find("MPI_File_write_ordered"), std::string::npos);
}

// A meeting for each record. What ranks wait in turns is due to the calls.
TEST(Findings, ManySmallCollectiveCalls) {
  const auto appending = [](i64 count, i64 bytes, i64 opens = 1) {
    return job_with(4, [=](i64, FileTotals& f) {
      f.opens = opens;
      ClassTotals& writes = f.of(Direction::kWrite, true);
      calls(writes, count, bytes, 4 * kSecond);
      writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = 2 * kSecond;
    });
  };
  ASSERT_EQ(first_of(appending(20'000, 64)), "small_collectives");
  EXPECT_NEAR(find_causes(appending(20'000, 64))[0].seconds, 4, 0.05);
  EXPECT_EQ(seconds_of(appending(500, 64), "small_collectives"), -1);
  EXPECT_EQ(seconds_of(appending(20'000, MiB), "small_collectives"), -1);
  EXPECT_EQ(seconds_of(appending(20'000, 64, 4000), "small_collectives"), -1) << "each open has few";
  const Job in_turn = job_with(4, [](i64 rank, FileTotals& f) {   // three of four ranks have nothing to write
    f.opens = 1;
    ClassTotals& writes = f.of(Direction::kWrite, true);
    calls(writes, 20'000, rank == 0 ? 64 : 0, 4 * kSecond);
    writes.small_calls = rank == 0 ? 20'000 : 0;
  });
  EXPECT_EQ(first_of(in_turn), "small_collectives");
}

TEST(Findings, OpenedAndSynchronisedAgainAndAgain) {
  EXPECT_EQ(first_of(job_with(2, [](i64, FileTotals& f) { f.opens = f.closes = 100, f.reopens = 99, f.open_ns = 3 * kSecond; })),
            "reopened");
  EXPECT_EQ(first_of(job_with(2, [](i64, FileTotals& f) { f.opens = f.closes = 2, f.reopens = 1, f.open_ns = 3 * kSecond; })), "");
  EXPECT_EQ(first_of(job_with(2, [](i64, FileTotals& f) { f.syncs = 100, f.sync_ns = 3 * kSecond; })), "many_syncs");
}

TEST(Findings, TheSameDataForEverybody) {
  const auto reading = [](i64 file_bytes) {
    return [file_bytes](i64, FileTotals& f) {
      calls(f.of(Direction::kRead, false), 100, MiB, 2 * kSecond);
      f.of(Direction::kRead, false).begin_place = 1;
      f.of(Direction::kRead, false).end_place = file_bytes + 1;
    };
  };
  EXPECT_EQ(first_of(job_with(4, reading(MiB))), "same_data_read");
  EXPECT_EQ(first_of(job_with(4, reading(400 * MiB))), "");
  EXPECT_EQ(first_of(job_with(4,
                              [](i64 rank, FileTotals& f) {  // each a part of its own
                                calls(f.of(Direction::kRead, false), 100, MiB, 2 * kSecond);
                                f.of(Direction::kRead, false).begin_place = rank * MiB + 1;
                                f.of(Direction::kRead, false).end_place = (rank + 1) * MiB + 1;
                              })),
            "");
}

// Out of a page cache each rank reads as fast as another one could hand it on: only reading it again and again costs something.
TEST(Findings, TheSameDataInAPageCacheIsKept) {
  const auto reading = [](i64 passes, const char* file_system, i64 bytes, i64 opens = 1) {
    Job job = job_with(4, [=](i64, FileTotals& f) {
      f.opens = f.closes = opens, f.open_ns = opens > 1 ? 3 * kSecond : 0;
      calls(f.of(Direction::kRead, false), passes * 64 * MiB / bytes, bytes, 4 * kSecond);
      f.of(Direction::kRead, false).begin_place = 1, f.of(Direction::kRead, false).end_place = 64 * MiB + 1;
    });
    job.files[0].file_system = file_system;
    return job;
  };
  EXPECT_EQ(seconds_of(reading(1, "tmpfs", MiB), "same_data_read"), -1);
  EXPECT_EQ(first_of(reading(1, "tmpfs", 64)), "small_reads") << "which has another remedy then";
  EXPECT_NEAR(seconds_of(reading(10, "tmpfs", MiB), "same_data_read"), 4 * 0.9, 0.01);
  for (const Finding& one : find_causes(reading(10, "tmpfs", MiB))) {
    for (const Remedy& remedy : one.remedies) EXPECT_EQ(remedy.text.find("MPI_Bcast"), std::string::npos) << remedy.text;
  }
  EXPECT_NEAR(seconds_of(reading(1, "nfs", MiB), "same_data_read"), 4 * 0.75, 0.1);
  EXPECT_NEAR(seconds_of(reading(10, "tmpfs", MiB, 10), "same_data_read"), (4 + 3) * 0.9, 0.01) << "who keeps it opens it once";
}

// Files with the same fault are one finding, whatever their names.
TEST(Findings, ManyFilesOfUnlikeNamesAreOneFinding) {
  const auto each = [](i64 ns) {
    return [ns](i64, i64 file, FileTotals& f) {
      if (file > 0) f.open_ns = ns, calls(f.of(Direction::kWrite, false), 100, 64, ns);
      if (file == 0) calls(f.of(Direction::kWrite, false), 1, 100 * MiB, kSecond / 100);   // is no part of that
    };
  };
  const std::vector<Finding> found = find_causes(job_of_files(2, 41, each(kSecond / 20), "out.", /*alike=*/false));
  ASSERT_EQ(found.size(), 2u);
  for (const Finding& one : found) {
    EXPECT_TRUE(one.id == "many_files" || one.id == "small_writes") << one.id;
    EXPECT_EQ(one.files, one.id == "many_files" ? 41 : 40);
    EXPECT_NEAR(one.seconds, 2, 0.1);
  }
  EXPECT_TRUE(find_causes(job_of_files(2, 5, each(kSecond / 20), "out.", /*alike=*/false)).empty()) << "which are few";
}

TEST(Findings, OneStripe) {
  const auto moved = [](i64 bytes, i64 stripes) {
    return [=](i64, FileTotals& f) {
      calls(f.of(Direction::kWrite, true), 100, MiB, 4 * kSecond);
      f.stripe_bytes = MiB;
      f.stripe_count = stripes;
      f.ranks = 4;
      f.storage[1].calls = 100;
      f.storage[1].bytes = bytes;
      f.storage[1].ns = 3 * kSecond;
    };
  };
  EXPECT_EQ(first_of(job_with(4, moved(100 * MiB, 1))), "one_stripe");
  EXPECT_EQ(first_of(job_with(4, moved(100 * MiB, 4))), "");
  EXPECT_EQ(first_of(job_with(4, moved(10 * MiB, 1))), "");
}

TEST(Findings, SmallStripesAndMisalignedRequests) {
  const auto requests = [](i64 bytes, i64 misaligned) {
    return [=](i64, FileTotals& f) {
      calls(f.of(Direction::kWrite, true), 100, MiB, 4 * kSecond);
      f.storage[1].calls = 1000;
      f.storage[1].bytes = 1000 * bytes;
      f.storage[1].ns = 3 * kSecond;
      f.storage[1].misaligned_calls = misaligned;
    };
  };
  EXPECT_EQ(first_of(job_with(4, requests(4096, 0), "striping_unit=4096 (info): applied\n")), "small_stripes");
  EXPECT_EQ(first_of(job_with(4, requests(4096, 0))), "");
  EXPECT_EQ(first_of(job_with(4, requests(20'000, 900))), "misaligned");
  EXPECT_EQ(first_of(job_with(4, requests(20'000, 100))), "");
  // Holes between the pieces are what makes these begin anywhere, and are what is named, whatever costs more.
  const Job holes = job_with(4, [&](i64 rank, FileTotals& f) {
    requests(20'000, 900)(rank, f);
    f.of(Direction::kWrite, true) = {};
    calls(f.of(Direction::kWrite, false), 100, MiB, kSecond);
    f.of(Direction::kWrite, false).strided_calls = 100;
  });
  const std::vector<Finding> found = find_causes(holes);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "strided_writes");
}

}  // namespace
}  // namespace mercutio
