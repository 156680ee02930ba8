// Rules of calls that move no data: what they cost is what they take.
#include <gtest/gtest.h>

#include "insight/findings.h"
#include "insight/job_for_tests.h"

namespace mercutio {
namespace {

TEST(Findings, AskingForTheSizeCostsWhatItTakes) {
  const auto asking = [](i64 calls, i64 ns) {
    return job_with(2, [=](i64, FileTotals& f) { f.size_calls = calls, f.size_ns = ns; });
  };
  EXPECT_EQ(first_of(asking(300'000, 3 * kSecond)), "size_queries");
  EXPECT_EQ(first_of(asking(300'000, kSecond / 10)), "") << "no seconds that matter";
  EXPECT_EQ(first_of(asking(10, 3 * kSecond)), "");
}

TEST(Findings, ViewsAndSettingsCostWhatTheyTake) {
  const auto viewing = [](i64 views, i64 ns, const char* library = "") {
    Job job = job_with(4, [=](i64, FileTotals& f) {
      calls(f.of(Direction::kWrite, true), views, 4 * MiB, 3 * kSecond);
      f.views = views, f.view_ns = ns;
    });
    job.files[0].library = library;
    return job;
  };
  EXPECT_EQ(first_of(viewing(1000, 3 * kSecond)), "many_views");
  EXPECT_NEAR(find_causes(viewing(1000, 3 * kSecond)).at(0).seconds, 3 * 0.999, 0.01);
  EXPECT_EQ(first_of(viewing(8, kSecond)), "") << "a few large accesses, each with a view of its own";
  EXPECT_EQ(first_of(viewing(100, kSecond / 50)), "") << "no seconds that matter";
  const auto remedy = [&](const char* library) { return find_causes(viewing(1000, 3 * kSecond, library)).at(0).remedies.at(0).text; };
  EXPECT_NE(remedy("").find("set the view once"), std::string::npos) << remedy("");
  EXPECT_NE(remedy("hdf5").find("H5Dwrite"), std::string::npos) << "which sets the view itself: " << remedy("hdf5");
  EXPECT_NE(verdict(viewing(1000, 3 * kSecond)).find("opening, closing, syncing, sizes, views 100 %"), std::string::npos);

  const auto setting = [](bool all, i64 ns) {
    return job_with(4, [=](i64 rank, FileTotals& f) {
      if (all || rank == 0) f.settings = 5000, f.setting_ns = ns;
    });
  };
  EXPECT_EQ(first_of(setting(true, 3 * kSecond)), "many_settings");
  EXPECT_FALSE(find_causes(setting(true, 3 * kSecond)).at(0).at_most);
  EXPECT_TRUE(find_causes(setting(false, 3 * kSecond)).at(0).at_most) << "the others may compute as long";
  EXPECT_EQ(first_of(setting(false, kSecond)), "");
  EXPECT_NE(verdict(setting(true, 3 * kSecond)).find("sizes, views 100 %"), std::string::npos);
}

TEST(Findings, SettingsAreNamedByTheCallsThatTakeTheirTime) {
  const auto found = [](i64 info_ns, i64 seek_ns) {
    Job job = job_with(4, [=](i64, FileTotals& f) { f.settings = 5000, f.setting_ns = 3 * kSecond; });
    RankTrace& trace = job.traces[1];
    trace.texts = {{TextKind::kCall, 0, 1, "MPI_File_set_info"}, {TextKind::kCall, 0, 1, "MPI_File_seek_shared"}};
    for (std::uint8_t call = 1; call <= 2; ++call) {
      EventRecord event;
      event.kind = static_cast<std::uint8_t>(TraceKind::kSetting), event.call = call, event.file = 0, event.ns = call == 1 ? info_ns : seek_ns;
      if (event.ns > 0) trace.events.push_back(event);
    }
    const Finding first = find_causes(job).at(0);
    return first.evidence + " -> " + first.remedies.at(0).text;
  };
  EXPECT_EQ(found(1000, 100), "5,000 calls a rank (MPI_File_set_info), 3.0 s -> call MPI_File_set_info once, before the loop");
  EXPECT_EQ(found(1, 1000), "5,000 calls a rank (MPI_File_seek_shared), 3.0 s -> in place of MPI_File_seek_shared, count in the program, and give offsets");
  EXPECT_NE(found(1000, 1000).find("(MPI_File_seek_shared and MPI_File_set_info)"), std::string::npos) << found(1000, 1000);
  EXPECT_NE(found(0, 0).find("(MPI_File_get_info, MPI_File_get_position_shared, MPI_File_seek_shared, MPI_File_set_atomicity and MPI_File_set_info)"), std::string::npos)
      << "no event was kept";
}

}  // namespace
}  // namespace mercutio
