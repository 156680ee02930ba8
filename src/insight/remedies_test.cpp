// Remedies: only those that the model of costs finds to be faster.
#include "insight/remedies.h"

#include <gtest/gtest.h>

#include "insight/findings.h"
#include "insight/job_for_tests.h"

namespace mercutio {
namespace {

TEST(Remedies, NoRemedyThatCostsMore) {
  const auto merging = [](i64 piece, const std::string& notes) {
    Job job = job_with(4, [piece](i64, FileTotals& f) {
      ClassTotals& writes = f.of(Direction::kWrite, false);
      calls(writes, 50, MiB, kSecond);
      writes.strided_calls = 50, writes.piece_bytes = 50 * piece, writes.begin_place = 1, writes.end_place = 400 * MiB;
      f.merged_bytes = 150 * MiB, f.storage[1].bytes = 200 * MiB;
    }, notes);
    job.files[0].file_system = "ext4";
    std::string text;
    const std::vector<Finding> found = find_causes(job);
    for (std::size_t i = 0; !found.empty() && i < found[0].remedies.size(); ++i) text += found[0].remedies[i].text + "\n";
    return text;
  };
  EXPECT_EQ(merging(64, "").find("romio_ds_write"), std::string::npos) << "a request for each 64 bytes";
  EXPECT_NE(merging(64, "").find("MPI_File_write_all"), std::string::npos);
  EXPECT_NE(merging(64 * KiB, "").find("romio_ds_write=disable"), std::string::npos);
  EXPECT_EQ(merging(64 * KiB, "").find("drop"), std::string::npos) << "nobody asked for it";
  EXPECT_NE(merging(64 * KiB, "romio_ds_write=enable (info): applied\n").find("drop romio_ds_write=enable"), std::string::npos);
}

// Reads in windows that other processes make slow: many short accesses would be a meeting each, and take turns on the cores.
TEST(Remedies, NoCollectiveReadsWhereMeetingsCostMore) {
  const auto reading = [](i64 host_cores) {
    Job job = job_with(4, [](i64, FileTotals& f) {
      ClassTotals& reads = f.of(Direction::kRead, false);
      calls(reads, 200, 64 * KiB, 2 * kSecond);
      reads.strided_calls = 200, reads.begin_place = 1, reads.end_place = 100 * MiB;
      f.storage[0].calls = 200, f.storage[0].bytes = 50 * MiB, f.storage[0].ns = 2 * kSecond, f.hole_bytes = 37 * MiB;
    });
    job.cores = {kSecond, 3 * kSecond, 300};
    job.host_cores = host_cores;
    std::string text;
    for (const Finding& one : all_findings(job))
      for (const Remedy& remedy : one.remedies) text += one.id == "amplified_reads" ? remedy.text + "\n" : "";
    return text;
  };
  EXPECT_NE(reading(1).find("MPI_File_read_all"), std::string::npos) << "the cores are the ranks' own: " << reading(1);
  EXPECT_EQ(reading(4).find("MPI_File_read_all"), std::string::npos) << "200 meetings of 3 turns of 10 ms: " << reading(4);
  EXPECT_NE(reading(4).find("closer together"), std::string::npos) << reading(4);
}

// Holes that are nobody's data are read together, too.
TEST(Remedies, ReadingTogetherMovesTheHolesOfAll) {
  const auto saved = [](bool overlapping) {
    const Job job = job_with(4, [=](i64 rank, FileTotals& f) {
      ClassTotals& reads = f.of(Direction::kRead, false);
      calls(reads, 10, MiB / 10, 2 * kSecond);
      reads.strided_calls = 10, reads.begin_place = overlapping ? 1 : 1 + rank * 500 * MiB, reads.end_place = reads.begin_place + 500 * MiB - 1;
      f.storage[0].calls = 10, f.storage[0].bytes = 500 * MiB, f.storage[0].ns = 2 * kSecond, f.hole_bytes = 499 * MiB;
    });
    for (const Finding& one : all_findings(job))
      for (const Remedy& remedy : one.remedies)
        if (remedy.text.find("read_all") != std::string::npos) return remedy.seconds;
    return 0.0;
  };
  EXPECT_NEAR(saved(true), 2 - 500 * MiB / 1e9, 0.01);
  EXPECT_EQ(saved(false), 0) << "2,000 MiB as before";
}

// In a page cache holes cost little, and the windows of a file are meetings.
TEST(Remedies, FewBytesOfAPageCacheAreNotReadTogether) {
  const auto offered = [](const std::string& file_system, i64 bytes) {
    Job job = job_with(4, [bytes](i64, FileTotals& f) {
      ClassTotals& reads = f.of(Direction::kRead, false);
      calls(reads, 10, bytes / 10, 2 * kSecond);
      reads.strided_calls = 10, reads.begin_place = 1, reads.end_place = 500 * MiB;
      f.storage[0].calls = 10, f.storage[0].bytes = 500 * MiB, f.storage[0].ns = 2 * kSecond, f.hole_bytes = 500 * MiB - bytes;
    });
    for (JobFile& file : job.files) file.file_system = file_system;
    for (const Finding& one : all_findings(job))
      for (const Remedy& remedy : one.remedies)
        if (remedy.text.find("read_all") != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(offered("nfs", MiB));
  EXPECT_FALSE(offered("tmpfs", MiB));
  EXPECT_TRUE(offered("tmpfs", 100 * MiB));
}

// Without what is read in advance, each small read is a request.
TEST(Remedies, ReadAheadIsDroppedOnlyWhereRequestsCostLess) {
  const auto reading = [](i64 absorbed) {
    const Job job = job_with(4, [absorbed](i64, FileTotals& f) {
      calls(f.of(Direction::kRead, false), 10'000, 4096, 4 * kSecond);
      f.storage[0].calls = 100, f.storage[0].bytes = 50 * MiB, f.storage[0].ns = 4 * kSecond;
      f.storage[0].absorbed_calls = absorbed, f.storage[0].unused_bytes = 10 * MiB;
    });
    std::string text;
    for (const Finding& one : all_findings(job))
      for (const Remedy& remedy : one.remedies) text += one.id == "amplified_reads" ? remedy.text + "\n" : "";
    return text;
  };
  EXPECT_NE(reading(0).find("mercutio_read_ahead=disable"), std::string::npos) << "nothing was served from it";
  EXPECT_EQ(reading(10'000).find("mercutio_read_ahead"), std::string::npos) << "10,000 requests in place of 100";
}

std::string said_of(const Job& job) {
  std::string text;
  for (const Finding& one : all_findings(job))
    for (const Remedy& remedy : one.remedies) text += one.id + ": " + remedy.text + "\n";
  return text;
}

// A collective access of the only rank that accesses a file would wait for the others for ever.
TEST(Remedies, OneRankOfAllIsToldOfNoCollectiveAccess) {
  const auto written_by = [](i64 writers) {
    return said_of(job_with(4, [writers](i64 rank, FileTotals& f) {
      if (rank < writers) calls(f.of(Direction::kWrite, false), 1000, 64, kSecond / 10);
    }));
  };
  EXPECT_NE(written_by(1).find("then MPI_File_write\n"), std::string::npos) << written_by(1);
  EXPECT_NE(written_by(4).find("then MPI_File_write_all\n"), std::string::npos) << written_by(4);
}

// Ranks that open a file each, by MPI_COMM_SELF, have no collective accesses.
TEST(Remedies, FilesOfOneRankGetPossibleOnes) {
  const auto each_its_own = [](const std::string& library) {
    Job job = job_of_files(4, 40, [](i64 rank, i64 file, FileTotals& f) {
      if (file % 4 != rank) return void(f = {});
      f.ranks = 1, f.files = 1, f.open_ns = kSecond / 20;
      calls(f.of(Direction::kWrite, false), 1000, 64, kSecond / 10);
      calls(f.of(Direction::kRead, false), 1000, 64, kSecond / 10);
    });
    for (JobFile& file : job.files) file.library = library;
    return said_of(job);
  };
  const std::string own = each_its_own("");
  EXPECT_NE(own.find("small_writes: move many records with one call: describe them with a datatype and MPI_File_set_view, which every rank of its communicator calls; then MPI_File_write\n"), std::string::npos) << own;
  EXPECT_NE(own.find("many_files: keep one file open for many steps, each at an offset of its own: MPI_File_write_at("), std::string::npos) << own;
  for (const char* library : {"", "hdf5", "h5py", "netcdf", "netcdf4-python", "pnetcdf"})
    for (const char* word : {"_all", "COLLECTIVE", "collective"}) EXPECT_EQ(each_its_own(library).find(word), std::string::npos) << library << "\n" << each_its_own(library);
}

// What several ranks open alone they could open together; of a pattern of files nobody knows.
TEST(Remedies, AFileThatAllOpenAloneCanBeOpenedTogether) {
  const auto strided = [](bool pattern) {
    Job job = job_with(4, [](i64, FileTotals& f) {
      f.ranks = 1;
      calls(f.of(Direction::kWrite, false), 50, MiB, 3 * kSecond);
      f.of(Direction::kWrite, false).strided_calls = 50;
    });
    job.files[0].is_pattern = pattern;
    return said_of(job);
  };
  EXPECT_NE(strided(false).find("strided_writes: open the file on MPI_COMM_WORLD"), std::string::npos) << strided(false);
  EXPECT_EQ(strided(true).find("strided_writes"), std::string::npos) << strided(true);
}

// "1 times as fast" is none.
TEST(Remedies, AFactorOfOneIsNoGain) {
  const auto syncing = [](double seconds) {
    return job_with(2, [seconds](i64, FileTotals& f) {
      f.syncs = 1000, f.sync_ns = static_cast<i64>(seconds * kSecond);
      calls(f.of(Direction::kWrite, true), 4, MiB, kSecond);
    });
  };
  EXPECT_TRUE(find_causes(syncing(0.4)).empty()) << "1.04 times";
  ASSERT_EQ(find_causes(syncing(0.6)).size(), 1u);
  EXPECT_EQ(find_causes(syncing(0.6))[0].id, "many_syncs");
  const Job job = job_that_reads({MiB, 4 * MiB, 3 * MiB, 0, true}, 4 * kSecond);
  for (const Finding& one : find_causes(job))
    for (const Remedy& remedy : one.remedies) EXPECT_GE(remedy.factor, kLeastGain) << remedy.text;
}

TEST(Findings, IgnoredHintsComeLast) {
  const std::string notes = "cb_nods=4 (info): not applied, unknown hint\n";
  EXPECT_EQ(first_of(job_with(
                2, [](i64, FileTotals&) {}, notes)),
            "ignored_hints");
  const auto found = find_causes(job_with(
      2, [](i64, FileTotals& f) { f.syncs = 100, f.sync_ns = 3 * kSecond; }, notes));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].id, "ignored_hints");
  EXPECT_NE(found[1].evidence.find("cb_nods"), std::string::npos);
}

// PnetCDF opens a file again on each rank with what MPI_File_get_info has returned and hints of its own.
TEST(Findings, HintsThatALibraryPassesOnAreNotReportedAsIgnored) {
  const auto found_with = [](const std::string& library, const std::string& notes) {
    Job job = job_with(2, [](i64, FileTotals&) {}, notes);
    job.files[0].library = library;
    return find_causes(job).size();
  };
  const std::string type = "romio_filesystem_type=ext4 (MPI_Info): not applied, only reports, can't be set\n";
  const std::string nodes = "cb_nodes=4 (MPI_Info): not applied, 1 aggregate: no more than there are ranks\n";
  const std::string own = "nc_var_align_size=4 (MPI_Info): not applied, unknown key\n";
  EXPECT_EQ(found_with("pnetcdf", type + nodes + own), 0u);
  EXPECT_EQ(found_with("", own), 1u);
  EXPECT_EQ(found_with("", type), 0u);
  EXPECT_EQ(found_with("", nodes), 1u);
  EXPECT_EQ(found_with("pnetcdf", "cb_nods=4 (MPI_Info): not applied, unknown hint\n"), 1u);
}

TEST(Remedies, AreInTheWordsOfTheUsersLibrary) {
  Job job = job_with(4, [](i64, FileTotals& f) {
    calls(f.of(Direction::kWrite, false), 50, MiB, 3 * kSecond);
    f.of(Direction::kWrite, false).strided_calls = 50;
  });
  const auto said = [&](const std::string& library) {
    job.files[0].library = library;
    return find_causes(job)[0].remedies[0].text;
  };
  EXPECT_NE(said("").find("MPI_File_write_all"), std::string::npos);
  EXPECT_NE(said("something new").find("MPI_File_write_all"), std::string::npos);
  EXPECT_NE(said("hdf5").find("H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE); H5Dwrite("), std::string::npos);
  EXPECT_NE(said("h5py").find("with dset.collective: dset[begin:end] = data"), std::string::npos);
  EXPECT_NE(said("netcdf").find("nc_var_par_access(ncid, varid, NC_COLLECTIVE); then nc_put_vara"), std::string::npos);
  EXPECT_NE(said("pnetcdf").find("ncmpi_put_vara_..._all"), std::string::npos);
}

}  // namespace
}  // namespace mercutio
