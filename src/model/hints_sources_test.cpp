// Where hints come from and who wins; and what is told about them. Files and variables are this test's own.
#include "model/hints_sources.h"

#include "base/program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "model/hints_report.h"

namespace mercutio {
namespace {

constexpr const char* kVariables[] = {"MERCUTIO_HINTS", "MERCUTIO_HINTS_FILE", "MERCUTIO_PROFILE", "MERCUTIO_SITE_HINTS", "MERCUTIO_PRINT_HINTS",
                                      "MERCUTIO_WARN", "ROMIO_HINTS", "ROMIO_PRINT_HINTS", "MPICH_MPIIO_HINTS", "MPICH_MPIIO_HINTS_DISPLAY",
                                      "OMPI_MCA_io_ompio_num_aggregators", "OMPI_MCA_sharedfp", "OMPI_MCA_fbtl_posix_read_datasieving",
                                      "OMPI_MCA_fcoll"};

// A directory of its own, and an environment without hints.
class HintSourcesTest : public ::testing::Test {
 protected:
  HintSourcesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "mercutio-hints-XXXXXX").string();
    folder = ::mkdtemp(name.data());
    for (const char* variable : kVariables) ::unsetenv(variable);
    set("XDG_CONFIG_HOME", folder);
    set("MERCUTIO_SITE_HINTS", "/dev/null");
  }
  ~HintSourcesTest() override {
    for (const char* variable : kVariables) ::unsetenv(variable);
    ::unsetenv("XDG_CONFIG_HOME");
    std::filesystem::remove_all(folder);
  }
  static void set(const char* variable, const std::string& value) { ::setenv(variable, value.c_str(), 1); }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  HintSet set_for(const std::string& path, const InfoItems& info = {}) {
    HintSet all;
    apply_hints(all, sources.asked_for(path).hints, HintTime::kOpen);
    apply_hints(all, info, HintSource::kInfo, HintTime::kOpen);
    return all;
  }
  static const HintNote& note_of(const HintSet& all, const std::string& key, const std::string& value) {
    static const HintNote kNone{"none", "", {}, HintStatus::kUnknown, "no such note"};
    for (const HintNote& note : all.notes)
      if (note.key == key && note.value == value) return note;
    return kNone;
  }

  std::string folder;
  HintSources sources;
};

TEST_F(HintSourcesTest, EachSourceWinsOverTheWeakerOnes) {
  EXPECT_EQ(set_for("f").values, Hints{});
  set("MERCUTIO_SITE_HINTS", write("site.toml", "cb_nodes = 1\n"));
  EXPECT_EQ(set_for("f").values.cb_nodes, 1);
  set("MERCUTIO_PROFILE", write("profile.toml", "cb_nodes = 2\n"));
  EXPECT_EQ(set_for("f").values.cb_nodes, 2);
  write("mercutio/hints.toml", "cb_nodes = 3\n");
  EXPECT_EQ(set_for("f").values.cb_nodes, 3);
  set("MERCUTIO_HINTS_FILE", write("job.toml", "cb_nodes = 4\n"));
  EXPECT_EQ(set_for("f").values.cb_nodes, 4);
  set("MPICH_MPIIO_HINTS", "*:cb_nodes=5");
  EXPECT_EQ(set_for("f").values.cb_nodes, 5);
  set("OMPI_MCA_io_ompio_num_aggregators", "6");
  EXPECT_EQ(set_for("f").values.cb_nodes, 6);
  set("ROMIO_HINTS", write("romio", "cb_nodes 7\n"));
  EXPECT_EQ(set_for("f").values.cb_nodes, 7);
  set("MERCUTIO_HINTS", "cb_nodes=8");
  EXPECT_EQ(set_for("f").values.cb_nodes, 8);
  const HintSet all = set_for("f", {{"num_aggregators", "9"}});
  EXPECT_EQ(all.values.cb_nodes, 9);
  for (int weaker = 1; weaker <= 8; ++weaker) {
    EXPECT_EQ(note_of(all, "cb_nodes", std::to_string(weaker)).status, HintStatus::kOverruled) << weaker;
  }
  EXPECT_NE(note_of(all, "cb_nodes", "8").why_not.find("MPI_Info says 9"), std::string::npos) << note_of(all, "cb_nodes", "8").why_not;
  EXPECT_TRUE(note_of(all, "num_aggregators", "9").applied());
}

TEST_F(HintSourcesTest, ProfilesAreForTheRunsTheyWereMeasuredWith) {
  const std::string mine = program_name(), place = "mercutio/tuned/" + mine + "-1.toml", here = file_system_key("/proc/x");
  const auto profile = [&](const std::string& application, i64 ranks, const std::string& file_system, i64 nodes) {
    return "[profile]\napplication = \"" + application + "\"\nranks = " + std::to_string(ranks) + "\nfile_system = \"" + file_system +
           "\"\ngain = 1.5\n[\"*.dat\"]\ncb_nodes = " + std::to_string(nodes) + "\n";
  };
  const auto nodes = [&](const std::string& path, i64 ranks) {
    HintSet all;
    apply_hints(all, sources.asked_for(path, ranks).hints, HintTime::kOpen);
    return all.values.cb_nodes;
  };
  ASSERT_NE(here, "");
  write(place, profile(mine, 4, here, 3));
  EXPECT_EQ(nodes("/proc/a.dat", 4), 3);
  EXPECT_EQ(nodes("/proc/a.dat", 8), 0) << "other ranks";
  EXPECT_EQ(nodes("/proc/a.nc", 4), 0) << "another file";
  EXPECT_EQ(nodes(folder + "/a.dat", 4), 0) << "another file system";
  write("mercutio/tuned/" + mine + "-2.toml", profile(mine, 4, here, 5));
  EXPECT_EQ(nodes("/proc/a.dat", 4), 5) << "the newer one";
  EXPECT_TRUE(sources.asked_for("/proc/a.dat", 4).problems.empty());
  EXPECT_EQ(origin_text(sources.asked_for("/proc/a.dat", 4).hints.back().origin).rfind("tuner ", 0), 0u);
  set("MERCUTIO_PROFILE", "0");
  EXPECT_EQ(nodes("/proc/a.dat", 4), 0) << "switched off";
  set("MERCUTIO_PROFILE", write("one.toml", profile("other", 64, "0x1", 7)));
  EXPECT_EQ(nodes("/proc/a.dat", 4), 7) << "a profile that is named counts for every run";
  ::unsetenv("MERCUTIO_PROFILE");
  write(place, profile("other", 4, here, 3));
  write("mercutio/tuned/" + mine + "-2.toml", profile("other", 4, here, 3));
  EXPECT_EQ(nodes("/proc/a.dat", 4), 0) << "another program";
}

TEST_F(HintSourcesTest, MistakesOfAWholeFileAreSaidInJobs) {
  set("MERCUTIO_SITE_HINTS", write("site.toml", "force = [\"cb_ndoes\"]\njobs = \"/logs/%u\"\ncb_nodes = 4\n"));
  AskedHints asked = sources.asked_for("a.nc");
  ASSERT_EQ(asked.problems.size(), 1u);
  EXPECT_NE(asked.problems[0].find("site.toml:1: force: cb_ndoes: unknown key; did you mean cb_nodes?"), std::string::npos) << asked.problems[0];
  set("MERCUTIO_SITE_HINTS", "/dev/null");
  set("MERCUTIO_HINTS_FILE", write("job.toml", "jobs = \"/logs/%u\"\n[\"*.h5\"]\ncb_nodes = 1\nnum_aggregators = 2\n"));
  asked = sources.asked_for("a.nc");
  ASSERT_EQ(asked.problems.size(), 1u);
  EXPECT_NE(asked.problems[0].find("job.toml:1: jobs: only the site's file"), std::string::npos) << asked.problems[0];
  EXPECT_EQ(sources.asked_for("a.h5").problems.size(), 2u) << "a conflict where the section counts";
  ::unsetenv("MERCUTIO_HINTS_FILE");
  set("MERCUTIO_HINTS", "cb_nodes=1; num_aggregators=2");
  asked = sources.asked_for("a.nc");
  ASSERT_EQ(asked.problems.size(), 1u);
  EXPECT_EQ(asked.problems[0].find("MERCUTIO_HINTS: num_aggregators = 2: cb_nodes = 1 sets cb_nodes, too"), 0u) << asked.problems[0];
}

TEST_F(HintSourcesTest, WhatTheSiteForcesStays) {
  set("MERCUTIO_SITE_HINTS", write("site.toml", "force = [\"romio_ds_write\", \"num_aggregators\"]\nromio_ds_write = \"disable\"\ncb_buffer_size = \"4MiB\"\n"
                                                "[\"*.nc\"]\ncb_nodes = 4\n"));
  set("MERCUTIO_HINTS", "romio_ds_write=enable;cb_nodes=3");
  HintSet all = set_for("a.nc", {{"cb_nodes", "2"}, {"cb_buffer_size", "1MiB"}});
  EXPECT_EQ(all.values.romio_ds_write, Toggle::kDisable);
  EXPECT_EQ(all.values.cb_nodes, 4);
  EXPECT_EQ(all.values.cb_buffer_size, 1 * MiB) << "not forced";
  EXPECT_EQ(note_of(all, "cb_nodes", "2").status, HintStatus::kForced);
  EXPECT_NE(note_of(all, "cb_nodes", "2").why_not.find("site.toml:5"), std::string::npos) << note_of(all, "cb_nodes", "2").why_not;
  apply_hints(all, {{"cb_nodes", "1"}}, HintSource::kInfo, HintTime::kAnyTime);
  EXPECT_EQ(all.values.cb_nodes, 4) << "later, too";
  EXPECT_EQ(set_for("a.h5").values.cb_nodes, 3) << "nothing is forced where the site gives no value";
  set("MERCUTIO_HINTS_FILE", write("job.toml", "force = [\"cb_nodes\"]\ncb_nodes = 1\n"));
  const AskedHints asked = sources.asked_for("a.h5");
  ASSERT_EQ(asked.problems.size(), 1u);
  EXPECT_NE(asked.problems[0].find("only the site's file may force"), std::string::npos);
}

TEST_F(HintSourcesTest, SectionsAreForFilesOfTheirName) {
  write("mercutio/hints.toml", "cb_nodes = 1\n[\"*.nc\"]\ncb_nodes = 2\n[\"out?.nc\"]\ncb_nodes = 3\n[\"/scratch/*\"]\ncb_nodes = 4\n[\"runs/*.h5\"]\ncb_nodes = 5\n");
  EXPECT_EQ(set_for("x.txt").values.cb_nodes, 1);
  EXPECT_EQ(set_for("/home/u/x.nc").values.cb_nodes, 2);
  EXPECT_EQ(set_for("out1.nc").values.cb_nodes, 3) << "the later section";
  EXPECT_EQ(set_for("/scratch/me/deep/out1.nc").values.cb_nodes, 4);
  EXPECT_EQ(set_for("runs/a.h5").values.cb_nodes, 5);
  EXPECT_EQ(set_for("others/runs/a.h5").values.cb_nodes, 1);
}

TEST_F(HintSourcesTest, AFileIsReadAgainWhenItChanged) {
  write("mercutio/hints.toml", "cb_nodes = 1\n");
  EXPECT_EQ(set_for("f").values.cb_nodes, 1);
  write("mercutio/hints.toml", "cb_nodes = 22\n");
  EXPECT_EQ(set_for("f").values.cb_nodes, 22);
  std::filesystem::remove(folder + "/mercutio/hints.toml");
  EXPECT_EQ(set_for("f").values.cb_nodes, 0);
}

TEST_F(HintSourcesTest, WhatIsKeptIsLookedAtAgainAfterItsTimeOrAnotherVariable) {
  HintSources kept(i64{3600} * 1'000'000'000);
  const auto nodes = [&] {
    HintSet all;
    apply_hints(all, kept.asked_for("f").hints, HintTime::kOpen);
    return all.values.cb_nodes;
  };
  EXPECT_EQ(nodes(), 0);
  write("mercutio/hints.toml", "cb_nodes = 1\n");
  write("mercutio/measured", "[" + folder + "]\ncb_buffer_size 1048576\n");
  EXPECT_EQ(nodes(), 0);
  EXPECT_TRUE(kept.asked_for(folder + "/f").measured.empty());
  kept.forget();
  EXPECT_EQ(nodes(), 1);
  EXPECT_EQ(kept.asked_for(folder + "/f").measured.size(), 1u);
  set("MERCUTIO_HINTS_FILE", write("job.toml", "cb_nodes = 2\n"));
  EXPECT_EQ(nodes(), 2);
}

TEST_F(HintSourcesTest, WhatCantBeReadIsAProblemAndNothingElse) {
  set("MERCUTIO_HINTS_FILE", folder + "/none.toml");
  set("MERCUTIO_PROFILE", folder);
  set("MERCUTIO_HINTS", "cb_nodes;cb_buffer_size=1MiB");
  write("mercutio/hints.toml", "cb_nodes = 4\n[broken\n");
  const AskedHints asked = sources.asked_for("f");
  ASSERT_EQ(asked.problems.size(), 4u);
  EXPECT_NE(asked.problems[0].find("no plain file"), std::string::npos) << asked.problems[0];
  EXPECT_NE(asked.problems[1].find("hints.toml:2: "), std::string::npos) << asked.problems[1];
  EXPECT_NE(asked.problems[2].find("No such file"), std::string::npos) << asked.problems[2];
  EXPECT_NE(asked.problems[3].find("'cb_nodes' must be key=value"), std::string::npos) << asked.problems[3];
  EXPECT_EQ(set_for("f").values.cb_nodes, 0) << "a file with an error of syntax counts as a whole";
  EXPECT_EQ(set_for("f").values.cb_buffer_size, 1 * MiB);
}

TEST_F(HintSourcesTest, OmpiosParameters) {
  set("OMPI_MCA_io_ompio_num_aggregators", "-1");
  set("OMPI_MCA_sharedfp", "sm");
  set("OMPI_MCA_fcoll", "vulcan");
  set("OMPI_MCA_fbtl_posix_read_datasieving", "0");
  const HintSet all = set_for("f");
  EXPECT_EQ(all.values.cb_nodes, 0);
  EXPECT_EQ(all.values.mercutio_strategy, WantedStrategy::kVulcan);
  EXPECT_EQ(all.values.romio_ds_read, Toggle::kDisable);
  EXPECT_EQ(note_of(all, "OMPI_MCA_sharedfp", "sm").status, HintStatus::kForeign);
}

struct Captured {
  std::vector<std::string> lines;
  HintReporter reporter{[this](const std::string& text) { lines.push_back(text); }};
};

TEST_F(HintSourcesTest, OneWarningForEachMistakeInWhatIsWrittenForMercutio) {
  write("mercutio/hints.toml", "cb_ndoes = 4\n[\"*\"]\ncb_buffer_size = \"5 parsecs\"\n");
  set("MPICH_MPIIO_HINTS", "*:cray_cb_write_lock_mode=2:other_layer=1:cb_nodse=3");
  Captured captured;
  const HintSet all = set_for("f", {{"nc_header_align_size", "512"}, {"romio_ds_wirte", "enable"}});
  captured.reporter.warn(all);
  captured.reporter.warn(set_for("g"));
  ASSERT_EQ(captured.lines.size(), 3u);
  EXPECT_NE(captured.lines[0].find("did you mean cb_nodes?"), std::string::npos) << captured.lines[0];
  EXPECT_NE(captured.lines[0].find("hints.toml:1"), std::string::npos) << captured.lines[0];
  EXPECT_NE(captured.lines[1].find("unknown unit 'parsecs'"), std::string::npos) << captured.lines[1];
  EXPECT_NE(captured.lines[2].find("cb_nodse=3 (MPICH_MPIIO_HINTS)"), std::string::npos) << captured.lines[2];
  set("MERCUTIO_WARN", "1");
  captured.reporter.warn(all);
  ASSERT_EQ(captured.lines.size(), 4u) << "Info only when asked for, and foreign keys never";
  EXPECT_NE(captured.lines[3].find("romio_ds_wirte=enable (MPI_Info)"), std::string::npos) << captured.lines[3];
  set("MERCUTIO_WARN", "0");
  Captured silent;
  silent.reporter.warn(all);
  silent.reporter.warn({"a problem"});
  EXPECT_TRUE(silent.lines.empty());
}

TEST_F(HintSourcesTest, TheTableSaysWhereEachCameFrom) {
  set("MERCUTIO_HINTS", "cb_nodes=64;cb_buffer_size=5x");
  HintSet all = set_for("f", {{"romio_cb_read", "enable"}, {"mystery", "a\nb"}});
  Hints now = all.values;
  now.cb_nodes = 4;
  note_ineffective(all, effective_hints(now), true);
  const std::vector<HintRow> rows = hint_rows(all, effective_hints(now));
  const auto row_of = [&](const std::string& key) {
    for (const HintRow& row : rows)
      if (row.key == key) return row.value + "|" + row.from + "|" + row.remark;
    return std::string("none");
  };
  EXPECT_EQ(row_of("romio_cb_read"), "enable|MPI_Info|");
  EXPECT_EQ(row_of("romio_cb_write"), "automatic|default|");
  EXPECT_EQ(row_of("cb_buffer_size"), "8MiB|default|MERCUTIO_HINTS asked 5x: unknown unit 'x'");
  EXPECT_EQ(row_of("cb_nodes").find("4|this file|MERCUTIO_HINTS asked 64: 4 aggregate"), 0u) << row_of("cb_nodes");
  EXPECT_EQ(row_of("mystery"), "-|unused|MPI_Info asked a?b: unknown key");
  EXPECT_EQ(row_of("stripe_size"), "none") << "other names aren't rows";
  Captured captured;
  EXPECT_FALSE(captured.reporter.shows_tables());
  for (const char* variable : {"MERCUTIO_PRINT_HINTS", "ROMIO_PRINT_HINTS", "MPICH_MPIIO_HINTS_DISPLAY"}) {
    set(variable, "1");
    EXPECT_TRUE(captured.reporter.shows_tables()) << variable;
    set(variable, "0");
  }
  captured.reporter.show("hints of 'f'", all, effective_hints(now));
  EXPECT_EQ(captured.lines.at(0).find("mercutio: hints of 'f'\n  romio_cb_read "), 0u) << captured.lines[0];
}

}  // namespace
}  // namespace mercutio
