// The rules for data that moves only because it lies between what is asked for.
#include <gtest/gtest.h>

#include "insight/findings.h"
#include "insight/job_for_tests.h"

namespace mercutio {
namespace {

// What a remedy of a finding would save; -1: there is none.
double saved_by(const Job& job, const std::string& id, const std::string& remedy) {
  for (const Finding& one : all_findings(job)) {
    for (const Remedy& other : one.remedies)
      if (one.id == id && other.text.find(remedy) != std::string::npos) return other.seconds;
  }
  return -1;
}

double gain_of(const Job& job, const std::string& id) { return saved_by(job, id, ""); }

void phase(ClassTotals& part, Phase phase, double seconds) {
  part.phase_ns[static_cast<std::size_t>(phase)] = static_cast<i64>(seconds * 1e9);
  part.ns += static_cast<i64>(seconds * 1e9);
}

// Collective writes of 4 KiB blocks with holes as large, of which one in `every` merges. Most of their time is waiting.
Job job_that_writes_holes(i64 every, double merging) {
  Job job = job_with(2, [=](i64, FileTotals& f) {
    ClassTotals& writes = f.of(Direction::kWrite, true);
    calls(writes, 1000, 256 * KiB, 0);
    writes.strided_calls = 1000, writes.piece_bytes = 1000 * 4 * KiB;
    phase(writes, Phase::kSieve, merging), phase(writes, Phase::kStorage, merging), phase(writes, Phase::kExchange, 0.1);
    phase(writes, Phase::kArrive, 1), phase(writes, Phase::kWait, 3), phase(writes, Phase::kAgree, 1);
    f.merged_bytes = 1000 / every * 512 * KiB, f.storage[1].bytes = writes.bytes + f.merged_bytes / 2;
    f.end_offset = 1, f.last_ns = 10 * kSecond;
  });
  job.files[0].file_system = "tmpfs";
  return job;
}

// Two ranks write every other 256 bytes, and the file grows meanwhile: much of what lies between is not there yet when it is read.
TEST(Findings, PiecesOfAGrowingFileAreAllCounted) {
  Job job = job_with(2, [](i64, FileTotals& f) {
    ClassTotals& writes = f.of(Direction::kWrite, false);
    calls(writes, 10, 8 * MiB, kSecond / 10);
    writes.strided_calls = 10, writes.piece_bytes = 10 * 256;
    phase(writes, Phase::kSieve, 0.05), phase(writes, Phase::kStorage, 0.03);
    f.merged_bytes = 81 * MiB, f.storage[1].bytes = 160 * MiB;
    f.end_offset = 1, f.last_ns = kSecond;
  });
  job.files[0].file_system = "tmpfs";
  EXPECT_EQ(saved_by(job, "merged_writes", "romio_ds_write=disable"), -1) << "655,360 writes take longer";
}

// A remedy for what some accesses do gains no waiting of others.
TEST(Findings, WaitingIsNotDueToMerging) {
  const double pieces = 2 * 1000 * 64, apart = pieces * 2 * 0.75e-6 + 1000.0 * 256 * KiB / 10e9;
  EXPECT_NEAR(saved_by(job_that_writes_holes(1, 1), "merged_writes", "romio_ds_write=disable"), 2 - apart, 0.001);
  EXPECT_NEAR(saved_by(job_that_writes_holes(1, 1), "merged_writes", "without holes"), 1 + 1.1 / 2, 0.001) << "half of what is written is new";
  EXPECT_EQ(saved_by(job_that_writes_holes(1, 0.01), "merged_writes", "romio_ds_write=disable"), -1) << "pieces take longer";
  // One in five has a third of what is written. The others are written in pieces already.
  EXPECT_NEAR(saved_by(job_that_writes_holes(5, 1), "merged_writes", "romio_ds_write=disable"), 1 + 1 / 3.0 - apart / 5, 0.001);
}

// On cores that ranks share, each waits while another one works.
TEST(Findings, WaitingForACoreIsDueToWhoHasIt) {
  Job job = job_that_writes_holes(1, 1);
  const double alone = saved_by(job, "merged_writes", "without holes");
  job.cores = {kSecond, kSecond, 1000};
  EXPECT_NEAR(saved_by(job, "merged_writes", "without holes"), 2 * alone, 0.001);
}

// A window that holds half as much data as it could is one of twice as many. Messages carry the data in any case.
TEST(Findings, HolesAreExchangedToo) {
  Job job = job_that_writes_holes(1, 0.1);
  const double in_memory = saved_by(job, "merged_writes", "without holes");
  for (FileTotals& one : job.files[0].by_rank) one.message_bytes = MiB;
  EXPECT_NEAR(in_memory - saved_by(job, "merged_writes", "without holes"), 0.1 / 2, 0.001);
}

// Of what storage moved in ways that mercutio_adapt has chosen, nothing is charged to merging.
TEST(Findings, AccessesThatAreAdaptedDoNotMerge) {
  Job job = job_that_writes_holes(1, 1);
  const double all = saved_by(job, "merged_writes", "without holes");
  FileTotals& totals = job.files[0].all;
  totals.storage[1].bytes *= 4, totals.adapted_stored_bytes = totals.storage[1].bytes / 4 * 3;
  EXPECT_NEAR(saved_by(job, "merged_writes", "without holes"), all - 1.1 / 2 * 3 / 4, 0.001);
}

// A file system locks a file for each write to it, so ranks write in turns.
TEST(Findings, RanksOfANodeWriteInTurns) {
  const auto merging = [](i64 ranks) {
    Job job = job_with(ranks, [ranks](i64, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, false);
      calls(writes, 50, MiB, kSecond);
      writes.strided_calls = 50, writes.piece_bytes = 50 * 512;
      f.merged_bytes = f.storage[1].bytes = 100 * MiB, f.ranks = ranks;
    });
    job.files[0].file_system = "tmpfs";
    return saved_by(job, "merged_writes", "romio_ds_write=disable");
  };
  const double pieces = 50.0 * MiB / 512 * 0.75e-6, bytes = 50.0 * MiB / 10e9;
  EXPECT_NEAR(merging(1), 1 - pieces - bytes, 0.001);
  EXPECT_NEAR(merging(2), 1 - 2 * 2 * pieces - bytes, 0.001) << "and what waiting for the lock costs";
}

// Where ranks wait for a core as long as they have one, what is reckoned for a usual machine takes twice as long.
TEST(Findings, CrowdedCoresCount) {
  Job job = job_with(1, [](i64, FileTotals& f) {
    ClassTotals& writes = f.of(Direction::kWrite, false);
    calls(writes, 50, MiB, 5 * kSecond);
    writes.strided_calls = 50, writes.piece_bytes = 50 * 512;
    f.merged_bytes = 50 * MiB, f.storage[1].bytes = 100 * MiB;
  });
  job.files[0].file_system = "ext4";
  const double apart = 50.0 * MiB / 512 * 0.75e-6 + 50.0 * MiB / 10e9;
  EXPECT_NEAR(gain_of(job, "merged_writes"), 5 - apart, 0.001);
  job.cores = {kSecond, kSecond, 1000};
  EXPECT_NEAR(gain_of(job, "merged_writes"), 5 - 2 * apart, 0.001);
}

// How small the small ones are, among reads of one large piece, is not known: then nobody is told to read piece by piece.
TEST(Findings, PiecesOfMixedReadsAreNotReadApart) {
  const auto reading = [](i64 strided) {
    Job job = job_with(1, [strided](i64, FileTotals& f) {
      ClassTotals& reads = f.of(Direction::kRead, false);
      calls(reads, 20, 4 * MiB, 10 * kSecond);
      reads.strided_calls = strided, reads.piece_bytes = 20 * 64 * KiB;
      f.storage[0].calls = 20, f.storage[0].bytes = 160 * MiB, f.storage[0].ns = 10 * kSecond;
      f.hole_bytes = 80 * MiB;
    });
    job.files[0].file_system = "tmpfs";
    return saved_by(job, "amplified_reads", "romio_ds_read=disable");
  };
  EXPECT_GT(reading(20), 5);
  EXPECT_EQ(reading(10), -1);
}

TEST(Findings, ReadModifyWrite) {
  const auto merging = [](bool overlapping) {
    return [overlapping](i64, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, false);
      calls(writes, 50, MiB, 5 * kSecond);
      writes.strided_calls = 50;
      if (overlapping) writes.begin_place = 1, writes.end_place = 400 * MiB;
      f.merged_bytes = 400 * MiB;
      f.storage[1].bytes = 400 * MiB;
    };
  };
  const Job job = job_with(4, merging(false));
  EXPECT_EQ(first_of(job), "merged_writes");
  const double exchange = 50.0 * MiB / 4e9;
  EXPECT_NEAR(find_causes(job)[0].seconds, 5 * (1 - 50.0 / 850) - exchange, 0.01);
  EXPECT_NEAR(find_causes(job_with(4, merging(true)))[0].seconds, 5 * (1 - 1 / 4.0) - exchange, 0.01) << "all read and write the same windows";
}

// A file that grows has nothing to be read in its holes, but they are written.
TEST(Findings, HolesThatAreOnlyWrittenCount) {
  const auto writing = [](i64 written_bytes) {
    return first_of(job_with(1, [=](i64, FileTotals& f) {
      calls(f.of(Direction::kWrite, false), 50, MiB, kSecond / 100);
      f.storage[1].bytes = written_bytes;
    }));
  };
  EXPECT_EQ(writing(50 * MiB), "");
  EXPECT_EQ(writing(54 * MiB), "");
  EXPECT_EQ(writing(100 * MiB), "merged_writes");
}

// What mercutio_adapt tries is not what the program does.
TEST(Findings, TrialsAreNotTheProgramsMerging) {
  const auto writing = [](bool adapted) {
    return gain_of(job_with(4, [adapted](i64, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, true);
      calls(writes, 30, 2 * MiB, 3 * kSecond);
      writes.phase_ns[static_cast<std::size_t>(Phase::kSieve)] = kSecond;
      f.storage[1].bytes = 84 * MiB, f.merged_bytes = 32 * MiB;
      if (adapted) f.adapted_written_bytes = 8 * MiB, f.adapted_stored_bytes = f.adapted_merged_bytes = 32 * MiB;
    }), "merged_writes");
  };
  EXPECT_GT(writing(false), 0);
  EXPECT_EQ(writing(true), -1);
  const Job reads = job_with(4, [](i64, FileTotals& f) {
    calls(f.of(Direction::kRead, true), 10, MiB, kSecond);
    f.storage[0].bytes = 40 * MiB, f.hole_bytes = 30 * MiB;
    f.adapted_read_bytes = 9 * MiB, f.adapted_fetched_bytes = 39 * MiB, f.adapted_hole_bytes = 30 * MiB;
  });
  EXPECT_EQ(gain_of(reads, "amplified_reads"), -1);
}

}  // namespace
}  // namespace mercutio
