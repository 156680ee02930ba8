// What ranks wait for each other: which part of it is due to their I/O, and which to what else they do.
#include <gtest/gtest.h>

#include <algorithm>

#include "insight/findings.h"
#include "insight/job_for_tests.h"

namespace mercutio {
namespace {

// Ranks whose calls take them different times wait for each other in the next open, close or sync: that is due to the calls.
TEST(Findings, WaitingInTheNextCollectiveCallBecauseOfTheCallsIsTheirs) {
  const auto waiting = [](double late, bool in_sync) {
    return seconds_of(job_with(4, [=](i64 rank, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), 100'000, 64, (rank == 2 ? 7 : 5) * kSecond);
      f.first_ns = 1, f.last_ns = 1 + 10 * kSecond;
      (in_sync ? f.sync_ns : f.close_ns) = (rank == 2 ? 1 : 3) * kSecond;
      (in_sync ? f.late_sync_ns : f.late_opening_ns) = static_cast<i64>((rank == 2 ? late : 2 + late) * kSecond);
    }), "small_writes");
  };
  for (const bool in_sync : {false, true}) {
    EXPECT_NEAR(waiting(0, in_sync), 7 + 2 * 0 / 7.0, 0.05) << "the slowest does not wait";
    EXPECT_NEAR(waiting(0.8, in_sync), 7 + 0.8 * 7 / (10 - 1), 0.02) << "as far as the calls fill the time between";
  }
}

// What a read takes because of holes, others wait for.
TEST(Findings, WaitingForReadsOfHolesIsTheirs) {
  const auto cost = [](i64 close_ns) {
    return seconds_of(job_with(4, [=](i64, FileTotals& f) {
      calls(f.of(Direction::kRead, false), 10, MiB, 5 * kSecond);
      f.storage[0].calls = 10, f.storage[0].bytes = f.hole_bytes = 100 * MiB, f.storage[0].ns = 5 * kSecond;
      f.first_ns = 1, f.last_ns = 1 + 10 * kSecond;
      f.closes = 10, f.close_ns = f.late_opening_ns = close_ns;
    }), "amplified_reads");
  };
  EXPECT_NEAR(cost(kSecond) - cost(1), 5.0 / 9, 0.02);
}

// What the others wait for the rank that does the I/O is not due to its work.
TEST(Findings, ARankThatIsLateForItsIoIsNoStraggler) {
  const auto waiting = [](double io) {
    return seconds_of(job_with(4, [io](i64 rank, FileTotals& f) {
      f.opens = f.closes = 1;
      if (rank == 1) calls(f.of(Direction::kWrite, false), 100, MiB, static_cast<i64>(io * kSecond));
      if (rank != 1) f.close_ns = f.late_opening_ns = 4 * kSecond;
    }), "straggler");
  };
  EXPECT_EQ(seconds_of(job_with(4, [](i64 rank, FileTotals& f) {   // rank 0 makes the files, and leaves later
              f.opens = f.closes = 100, f.open_ns = 2 * kSecond, f.late_opening_ns = rank == 0 ? 0 : kSecond;
            }), "straggler"), -1);
  EXPECT_EQ(waiting(4), -1);
  EXPECT_NEAR(waiting(1), 3, 0.01);
}

// In a collective open, close or sync the others wait for the rank that comes last. That is the work of that rank.
TEST(Findings, WaitingForALateRankIsNotOpeningOrSynchronising) {
  const auto with_late = [](bool syncs) {
    return job_with(4, [=](i64 rank, FileTotals& f) {
      const i64 late = rank == 3 ? 0 : 4 * kSecond, own = kSecond / 20;
      if (syncs) f.syncs = 100, f.sync_ns = own + late, f.late_sync_ns = late;
      if (!syncs) f.opens = f.closes = 100, f.reopens = 99, f.open_ns = own + late, f.late_opening_ns = late, f.close_ns = own;
    });
  };
  for (const bool syncs : {false, true}) {
    const std::vector<Finding> found = find_causes(with_late(syncs));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].id, "straggler");
    EXPECT_NEAR(found[0].seconds, 4, 0.01);
    EXPECT_NE(found[0].remedies[0].text.find("rank 3"), std::string::npos);
    EXPECT_NEAR(seconds_of(with_late(syncs), syncs ? "many_syncs" : "reopened"), (syncs ? 0.05 : 0.1) * 0.99, 0.005);
    EXPECT_NE(verdict(with_late(syncs)).find("waiting for late ranks 9"), std::string::npos) << verdict(with_late(syncs));
  }
}

// Then all ranks wait equally long, unless I/O explains it, or that others have the cores.
TEST(Findings, RanksThatAreLateInTurnsAreFound) {
  const auto waiting = [](i64 own, i64 queued) {
    Job job = job_with(4, [own](i64, FileTotals& f) {
      ClassTotals& reads = f.of(Direction::kRead, true);
      calls(reads, 20, MiB, 3 * kSecond + own);
      reads.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = 3 * kSecond;
    });
    job.cores = {40 * kSecond, 4 * queued, 1000};
    return job;
  };
  ASSERT_EQ(first_of(waiting(kSecond / 10, 0)), "straggler");
  const Finding found = find_causes(waiting(kSecond / 10, 0))[0];
  EXPECT_NEAR(found.seconds, 2.9 * 4 / 3, 0.01);
  EXPECT_NE(found.evidence.find("another one each time"), std::string::npos);
  EXPECT_EQ(seconds_of(waiting(3 * kSecond, 0), "straggler"), -1);
  EXPECT_EQ(seconds_of(waiting(kSecond / 10, 3 * kSecond), "straggler"), -1);
}

// Ranks that are late by different amounts: without the latest, the others wait for the next one.
TEST(Findings, WithoutTheLatestRankTheNextOneIsLate) {
  const auto late = [](i64 of_rank_1) {
    return find_causes(job_with(4, [=](i64 rank, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, true);
      writes.calls = 5;
      writes.ns = writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == 2 ? 0 : 6 * kSecond - (rank == 1 ? of_rank_1 : 0);
    }))[0];
  };
  const Finding two = late(2 * kSecond);
  EXPECT_EQ(two.id, "straggler");
  EXPECT_NEAR(two.seconds, 4, 0.01);
  EXPECT_NE(two.evidence.find("rank 1 is late, too"), std::string::npos) << two.evidence;
  EXPECT_NE(two.remedies[0].text.find("see what rank 2 does"), std::string::npos) << two.remedies[0].text;
  const Finding one = late(0);
  EXPECT_NEAR(one.seconds, 6, 0.01);
  EXPECT_EQ(one.evidence.find("late, too"), std::string::npos) << one.evidence;
  const Finding as_late = late(5'900'000'000);
  EXPECT_NEAR(as_late.seconds, 6, 0.01);
  EXPECT_NE(as_late.remedies[0].text.find("see what ranks 1 and 2 do"), std::string::npos) << as_late.remedies[0].text;
}

// All ranks computed on shared cores before they opened the file, which makes none of them late.
TEST(Findings, ALateRankLacksACoreOnlyWhereOthersHadOne) {
  const auto said = [](i64 queued_of_late, i64 queued_of_others) {
    Job job = job_with(4, [=](i64 rank, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, true);
      writes.calls = 5;
      writes.ns = writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == 2 ? 0 : 2 * kSecond;
    });
    for (RankTrace& trace : job.traces) trace.header.cores.queued_ns = trace.header.rank == 2 ? queued_of_late : queued_of_others;
    return find_causes(job)[0].remedies[0].text;
  };
  EXPECT_NE(said(2 * kSecond, 2 * kSecond).find("see what rank 2 does"), std::string::npos) << said(2 * kSecond, 2 * kSecond);
  EXPECT_NE(said(2 * kSecond, kSecond / 10).find("give rank 2 a core of its own: it was ready to run but had none for 2.0 s, the others for 100 ms"), std::string::npos)
      << said(2 * kSecond, kSecond / 10);
}

TEST(Findings, OnlyThoseThatWaitLongAreSaidToWait) {
  const Job job = job_with(4, [](i64 rank, FileTotals& f) {
    ClassTotals& writes = f.of(Direction::kWrite, true);
    calls(writes, 10, MiB, rank < 2 ? kSecond / 10 : 3 * kSecond);
    writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == 0 ? 1000 : rank == 1 ? 2000 : 3 * kSecond;
  });
  ASSERT_EQ(first_of(job), "straggler");
  EXPECT_NE(find_causes(job)[0].evidence.find("2 of 4 ranks wait 3.0 s each for others, among them rank 0"), std::string::npos)
      << find_causes(job)[0].evidence;
}

// All ranks make as many small writes; one is late for another reason.
TEST(Findings, SmallAccessesAreNotChargedWithWhatMakesARankLate) {
  const auto small_and_late = [](i64 of_late, i64 of_others) {
    return job_with(4, [=](i64 rank, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), 10'000, 64, rank == 3 ? of_late : of_others);
      ClassTotals& together = f.of(Direction::kWrite, true);
      const i64 waits = rank == 3 ? 0 : 4 * kSecond;
      calls(together, 10, MiB, kSecond / 100 + waits);
      together.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = waits;
      f.first_ns = 0;
      f.last_ns = together.ns + (rank == 3 ? of_late + 4 * kSecond : of_others);
    });
  };
  const Job job = small_and_late(kSecond / 2, kSecond / 2);
  EXPECT_EQ(first_of(job), "straggler");
  EXPECT_LT(seconds_of(job, "small_writes"), 0.6);
  EXPECT_GT(seconds_of(small_and_late(3 * kSecond, kSecond / 2), "small_writes"), 2.5) << "it is late because of them";
}

// Without it the run is shorter by all that the others wait; with its work divided, by their mean.
TEST(Findings, TheFactorOfLateRanksIsThatOfNoLateness) {
  const Job job = job_with(4, [](i64 rank, FileTotals& f) {
    f.of(Direction::kWrite, true).calls = 10;
    f.of(Direction::kWrite, true).ns = f.of(Direction::kWrite, true).phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank < 2 ? 0 : 7 * kSecond;
  });
  ASSERT_EQ(first_of(job), "straggler");
  const Finding found = find_causes(job)[0];
  EXPECT_NEAR(found.factor, 10 / 3.0, 0.01);
  ASSERT_EQ(found.remedies.size(), 2u);
  EXPECT_NEAR(found.remedies[1].factor, 10 / 6.5, 0.01);
  EXPECT_NE(found.remedies[1].text.find("evenly"), std::string::npos);
}

// Each half of the ranks has a file of its own: a rank of one half is not late for the other.
TEST(Findings, RanksOfDifferentCommunicatorsDoNotWaitForEachOther) {
  const auto halves = [](bool late_inside) {
    return job_of_files(4, 2, [late_inside](i64 rank, i64 file, FileTotals& f) {
      if (rank / 2 != file) return void(f = FileTotals());
      f.ranks = 2;
      ClassTotals& writes = f.of(Direction::kWrite, true);
      writes.calls = 10;
      writes.ns = writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == 2 && late_inside ? 4 * kSecond : rank < 2 ? 2 * kSecond : 0;
      f.first_ns = 1, f.last_ns = 1 + writes.ns + (late_inside ? kSecond : 0);
    });
  };
  EXPECT_EQ(seconds_of(halves(false), "straggler"), -1) << "those of the first half meet, with nothing in between";
  const std::vector<Finding> found = find_causes(halves(true));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].id, "straggler");
  EXPECT_NEAR(found[0].seconds, 4, 0.01);
  EXPECT_NE(found[0].evidence.find("for rank 3"), std::string::npos) << found[0].evidence;
  EXPECT_TRUE(found[0].at_most) << "the other half may take as long";
}

TEST(Findings, WaitingForALateRankIsNotChangingTheSize) {
  const auto resizing = [](i64 late, i64 own) {
    return job_with(4, [=](i64 rank, FileTotals& f) {
      f.resizes = 100, f.late_resize_ns = rank == 3 ? 0 : late, f.resize_ns = own + f.late_resize_ns;
    });
  };
  EXPECT_EQ(first_of(resizing(4 * kSecond, kSecond / 20)), "straggler");
  EXPECT_EQ(first_of(resizing(0, 4 * kSecond)), "resized");
  EXPECT_NEAR(seconds_of(resizing(0, 4 * kSecond), "resized"), 4 * 0.99, 0.01);
  // Where nothing lies between the calls, to meet is what they cost.
  const Job nothing_else = job_with(4, [](i64, FileTotals& f) {
    f.resizes = 1000, f.resize_ns = 4 * kSecond, f.late_resize_ns = 4 * kSecond - 1000, f.first_ns = 1, f.last_ns = 1 + f.resize_ns;
  });
  EXPECT_EQ(first_of(nothing_else), "resized");
  EXPECT_EQ(seconds_of(nothing_else, "straggler"), -1);
  EXPECT_NEAR(seconds_of(nothing_else, "resized"), 4, 0.01);
}

// An access beside each change of the size meets as well.
TEST(Findings, WhatAnAccessWouldWaitForIsNoCostOfTheSize) {
  const Job job = job_with(4, [](i64, FileTotals& f) {
    calls(f.of(Direction::kWrite, true), 1000, MiB, 3 * kSecond);
    f.resizes = 1000, f.resize_ns = 4 * kSecond, f.late_resize_ns = 3 * kSecond, f.first_ns = 1, f.last_ns = 1 + 7 * kSecond;
  });
  EXPECT_NEAR(seconds_of(job, "resized"), 1 + 3.0 / 2, 0.01);
}

// What one rank does alone costs as much as the others are seen to wait for, be it in calls on another file.
TEST(Findings, WhatOneRankDoesAloneCostsAtMostThat) {
  const auto alone = [](i64 waits_elsewhere, const std::function<void(FileTotals&)>& does) {
    return job_of_files(4, 2, [&](i64 rank, i64 file, FileTotals& f) {
      if (file == 0 && rank == 0) f.ranks = 1, does(f);
      if (file == 0 && rank != 0) f = FileTotals();
      if (file == 0) return;
      ClassTotals& writes = f.of(Direction::kWrite, true);
      calls(writes, 10, MiB, 1000 + (rank == 0 ? 0 : waits_elsewhere));
      writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == 0 ? 0 : waits_elsewhere;
    }, "out.", false);
  };
  const std::pair<const char*, std::function<void(FileTotals&)>> faults[] = {
      {"many_syncs", [](FileTotals& f) { f.syncs = 100, f.sync_ns = 4 * kSecond; }},
      {"resized", [](FileTotals& f) { f.resizes = 100, f.resize_ns = 4 * kSecond; }},
      {"reopened", [](FileTotals& f) { f.opens = 100, f.reopens = 99, f.open_ns = 4 * kSecond; }},
      {"small_writes", [](FileTotals& f) { calls(f.of(Direction::kWrite, false), 100'000, 64, 4 * kSecond); }}};
  for (const auto& [id, does] : faults) {
    for (const i64 waits : {i64{0}, 4 * kSecond}) {
      const Job job = alone(waits, does);
      const std::vector<Finding> found = find_causes(job);
      const auto one = std::find_if(found.begin(), found.end(), [id = id](const Finding& finding) { return finding.id == std::string(id); });
      ASSERT_NE(one, found.end()) << id;
      EXPECT_EQ(one->at_most, waits == 0) << id;
    }
  }
}

TEST(Findings, AnotherRankIsLateForEachFile) {
  const Job job = job_of_files(4, 2, [](i64 rank, i64 file, FileTotals& f) {
    ClassTotals& writes = f.of(Direction::kWrite, true);
    writes.calls = 10;
    writes.ns = writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == file + 1 ? 0 : 2 * kSecond;
    f.first_ns = 1, f.last_ns = 1 + 4 * kSecond;
  }, "out.", false);
  const std::vector<Finding> found = find_causes(job);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE((found[0].evidence + found[1].evidence).find("for rank 1"), std::string::npos) << found[0].evidence << found[1].evidence;
  EXPECT_NE((found[0].evidence + found[1].evidence).find("for rank 2"), std::string::npos) << found[0].evidence << found[1].evidence;
}

// Rank 2 makes rank 1 wait in a file of these two, and rank 1 is late because of that in a file that it shares with rank 0.
TEST(Findings, ARankThatWaitsInAnotherFileIsNotToBlame) {
  const auto chained = [](i64 more_of_rank_1, i64 begin_ns) {
    return find_causes(job_of_files(3, 2, [=](i64 rank, i64 file, FileTotals& f) {
      if (rank == (file == 0 ? 0 : 2)) return void(f = FileTotals());
      const i64 waits = file == 0 ? (rank == 1 ? 3 * kSecond : 0) : (rank == 0 ? 3 * kSecond + more_of_rank_1 : 0);
      f.ranks = 2;
      ClassTotals& writes = f.of(Direction::kWrite, true);
      writes.calls = 10;
      writes.ns = writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = waits;
      f.first_ns = file == 0 ? begin_ns : 1, f.last_ns = f.first_ns + waits + kSecond;
    }, "out.", false));
  };
  const std::vector<Finding> found = chained(0, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].evidence.find("for rank 2"), std::string::npos) << found[0].evidence;
  EXPECT_EQ(chained(3 * kSecond, 1).size(), 2u) << "it does something else as well";
  EXPECT_EQ(chained(0, 8 * kSecond).size(), 2u) << "it waits there later";
}

// On shared cores a rank that polls for others is queued as well: it is late by what it is queued outside of that.
TEST(Findings, RanksThatAreLateInTurnsAreFoundOnSharedCores) {
  const auto in_turns = [](i64 waits, i64 queued) {
    Job job = job_with(4, [=](i64, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, true);
      writes.calls = 100;
      writes.ns = writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = waits;
      f.first_ns = 1, f.last_ns = 10 * kSecond;
    });
    job.cores.queued_ns = 4 * queued;
    job.cores.ran_ns = 4 * kSecond;
    return job;
  };
  EXPECT_EQ(first_of(in_turns(8 * kSecond, 8 * kSecond)), "straggler");
  EXPECT_EQ(first_of(in_turns(5 * kSecond, 5 * kSecond)), "") << "half of the run: where ranks have no core, they are late";
}

// Where a view is set for each of many collective accesses, the ranks would wait for each other in these.
TEST(Findings, MeetingToSetAViewIsWhatItCosts) {
  const auto viewing = [](i64 accesses) {
    return job_with(4, [=](i64, FileTotals& f) {
      calls(f.of(Direction::kWrite, true), accesses, MiB, accesses);
      f.views = 1000, f.view_ns = 4 * kSecond, f.late_view_ns = 3 * kSecond, f.first_ns = 1, f.last_ns = 1 + f.view_ns + accesses;
    });
  };
  EXPECT_EQ(first_of(viewing(0)), "many_views");
  EXPECT_NEAR(seconds_of(viewing(0), "many_views"), 4, 0.01);
  EXPECT_NEAR(seconds_of(viewing(1000), "many_views"), 1 + 3.0 / 2, 0.01);
  EXPECT_EQ(seconds_of(viewing(0), "straggler"), -1);
  const Job writing = job_with(4, [](i64, FileTotals& f) {
    calls(f.of(Direction::kWrite, false), 1000, MiB, 2 * kSecond);
    f.views = 1000, f.view_ns = 4 * kSecond, f.late_view_ns = 3 * kSecond, f.first_ns = 1, f.last_ns = 1 + f.view_ns + 2 * kSecond;
  });
  EXPECT_NEAR(seconds_of(writing, "many_views"), 1 + 3 - 2, 0.01) << "others may have written meanwhile";
  const Job late = job_with(4, [](i64 rank, FileTotals& f) {
    f.views = 100, f.late_view_ns = rank == 3 ? 0 : 4 * kSecond, f.view_ns = kSecond / 20 + f.late_view_ns;
  });
  EXPECT_EQ(first_of(late), "straggler");
  EXPECT_NE(verdict(late).find("waiting for late ranks 98 %"), std::string::npos) << verdict(late);
}

// Nobody waits for what goes on in the background.
TEST(Findings, WhatIsHiddenBehindOtherWorkCostsNothing) {
  const auto in_background = [](i64 blocked) {
    return job_with(4, [blocked](i64 rank, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, true);
      const i64 ns = (rank == 0 ? 1 : 6) * kSecond;
      calls(writes, 4000, 64, ns);
      writes.phase_ns[static_cast<std::size_t>(Phase::kArrive)] = rank == 0 ? 0 : 5 * kSecond;
      f.unwaited_calls = 4000, f.unwaited_ns = f.unwaited_class_ns[3] = ns, f.blocked_ns = std::min(ns, blocked);
      f.opens = 1, f.open_ns = kSecond;
    });
  };
  for (const char* id : {"straggler", "small_collectives"}) {
    EXPECT_LE(seconds_of(in_background(1000), id), 0.1) << id;
    EXPECT_GT(seconds_of(in_background(6 * kSecond), id), 0.5) << id;
  }
  EXPECT_EQ(verdict(in_background(1000)).find("waiting for late ranks"), std::string::npos) << verdict(in_background(1000));
}

// One rank has small writes: what they cost depends on what the others do meanwhile.
TEST(Findings, AccessesOfARankThatHasTimeToSpareCostNothing) {
  const auto writing = [](i64 of_writer, i64 of_others) {
    return job_with(4, [=](i64 rank, FileTotals& f) {
      f.opens = f.closes = 1;
      if (rank == 0) calls(f.of(Direction::kWrite, false), 100'000, 64, 4 * kSecond);
      f.close_ns = f.late_opening_ns = rank == 0 ? of_writer : of_others;
    });
  };
  EXPECT_EQ(first_of(writing(5 * kSecond, 0)), "") << "the others compute longer: they are no late ranks";
  EXPECT_LE(seconds_of(writing(5 * kSecond, 0), "small_writes"), 0);
  EXPECT_GT(seconds_of(writing(0, 4 * kSecond), "small_writes"), 3.5);
  EXPECT_EQ(verdict(writing(0, 4 * kSecond)).find("at most"), std::string::npos);
  const std::string unseen = verdict(writing(0, 0));
  EXPECT_NE(unseen.find("costs at most"), std::string::npos) << unseen;
  EXPECT_NE(unseen.find("as far as other ranks wait for it"), std::string::npos) << unseen;
}

}  // namespace
}  // namespace mercutio
