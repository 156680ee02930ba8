#include "model/hints_files.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

std::string problem_of(const std::string& toml) {
  const auto problems = check_hint_file(parse_hint_toml(toml));
  return problems.empty() ? "" : std::to_string(problems[0].line) + ": " + problems[0].text;
}

TEST(HintFiles, TomlKeepsTheOrderInWhichItIsWritten) {
  const HintFile file = parse_hint_toml("romio_ds_write = false\ncb_nodes = 8\n[\"z*\"]\nstriping_unit = \"4MiB\"\n[\"a*\"]\nromio_no_indep_rw = true\n");
  EXPECT_TRUE(file.problems.empty());
  EXPECT_EQ(file.sections, (std::vector<HintSection>{{"*", {{"romio_ds_write", "false", 1}, {"cb_nodes", "8", 2}}},
                                                     {"z*", {{"striping_unit", "4MiB", 4}}},
                                                     {"a*", {{"romio_no_indep_rw", "true", 6}}}}));
}

TEST(HintFiles, TomlPermissionsAreOctalInAnySpelling) {
  for (const char* text : {"file_perm = 0o640", "file_perm = 640", "file_perm = \"640\""}) {
    EXPECT_EQ(parse_hint_toml(text).sections.at(0).hints.at(0).value, "640") << text;
  }
}

TEST(HintFiles, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(problem_of("cb_nodes = 4\n"), "");
  EXPECT_EQ(problem_of("cb_nodes = 4\n\ncb_buffer = \"1MiB\"\n[\"*.nc\"]\ncb_ndoes = 1\n"), "3: cb_buffer = 1MiB: unknown key");
  EXPECT_EQ(problem_of("cb_ndoes = 1\n"), "1: cb_ndoes = 1: unknown key; did you mean cb_nodes?");
  EXPECT_EQ(problem_of("\ncb_buffer_size = \"5g\"\n"), "2: cb_buffer_size = 5g: must be from 64 to 1GiB");
  EXPECT_EQ(problem_of("[out.nc]\ncb_nodes = 1\n").find("1: nc: a section's name needs quotes"), 0u) << problem_of("[out.nc]\ncb_nodes = 1\n");
  EXPECT_EQ(problem_of("cb_nodes = 1.5\n").find("1: cb_nodes: a value must be text"), 0u);
  EXPECT_EQ(problem_of("a = 1\n[*.nc]\n").find("2: "), 0u) << problem_of("a = 1\n[*.nc]\n");
  EXPECT_EQ(problem_of("romio_visibility_immediate = false\n"), "1: romio_visibility_immediate = false: only reports, can't be set");
  EXPECT_EQ(problem_of("romio_cb_pfr = true\n").find("1: romio_cb_pfr = true: has no effect here"), 0u);
  EXPECT_EQ(problem_of("force = \"cb_nodes\"\n").find("1: force: must be a list"), 0u);
  EXPECT_EQ(problem_of("force = [\"cb_nodes\"]\n"), "1: force: cb_nodes: no section gives it a value");
  EXPECT_EQ(problem_of("force = [\"cb_node\"]\ncb_nodes = 1\n"), "1: force: cb_node: unknown key; did you mean cb_nodes?");
  EXPECT_EQ(problem_of("force = [\"cb_nodes\",\n5]\ncb_nodes = 1\n").find("2: force: the name of a hint must be text"), 0u);
  EXPECT_EQ(parse_hint_toml("force = [5, \"cb_nodes\"]\ncb_nodes = 1\n").force, (std::vector<HintLine>{{"cb_nodes", "", 1}}));
}

TEST(HintFiles, PatternsKnowRemoteFilesByTheirWholeName) {
  EXPECT_TRUE(glob_matches("mercutio://far/*", "mercutio://far/data/x.nc"));
  EXPECT_TRUE(glob_matches("*.nc", "mercutio://far/data/x.nc"));
  EXPECT_TRUE(glob_matches("/*", "x.nc"));
  EXPECT_FALSE(glob_matches("/*", "mercutio://far/data/x.nc")) << "it is in no local directory";
}

TEST(HintFiles, ASectionCalledHintsIsForEveryFile) {
  const HintFile file = parse_hint_toml("[hints]\ncb_nodes = 4\n[\"*.nc\"]\ncb_nodes = 8\n");
  EXPECT_TRUE(file.problems.empty());
  EXPECT_EQ(file.sections, (std::vector<HintSection>{{"*", {}}, {"*", {{"cb_nodes", "4", 2}}}, {"*.nc", {{"cb_nodes", "8", 4}}}}));
  EXPECT_EQ(parse_hint_toml("[\"hints\"]\ncb_nodes = 4\n").sections.at(1).glob, "hints") << "a file of this name";
  EXPECT_EQ(problem_of("[scratch]\ncb_nodes = 4\n").find("1: [scratch]: only files of this name"), 0u);
  for (const char* quoted : {"[\"scratch\"]\ncb_nodes = 4\n", "['scratch']\ncb_nodes = 4\n", "[\"\u00e9\u00e9\"]\ncb_nodes = 4\n"}) EXPECT_EQ(problem_of(quoted), "") << quoted;
}

TEST(HintFiles, WhatIsOfTheWholeFileStandsBeforeItsSections) {
  EXPECT_EQ(parse_hint_toml("jobs = \"/logs/%u\"\n").jobs, (HintLine{"jobs", "/logs/%u", 1}));
  EXPECT_EQ(problem_of("[\"*.nc\"]\njobs = \"/logs/%u\"\n").find("2: jobs: is of the whole file"), 0u);
  EXPECT_EQ(problem_of("[hints]\nforce = [\"cb_nodes\"]\ncb_nodes = 1\n").find("2: force: is of the whole file"), 0u);
  EXPECT_EQ(problem_of("[jobs]\npattern = \"/logs\"\n").find("1: jobs: must be a pattern"), 0u);
  EXPECT_EQ(problem_of("jobs = 1\n").find("1: jobs: must be a pattern"), 0u);
}

TEST(HintFiles, TwoNamesOfOneHintWithDifferentValuesAreAConflict) {
  EXPECT_EQ(problem_of("cb_nodes = 4\nnum_aggregators = 8\n"), "2: num_aggregators = 8: cb_nodes = 4 in line 1 sets cb_nodes, too; num_aggregators counts");
  EXPECT_EQ(problem_of("cb_nodes = 4\nnum_aggregators = 4\n"), "");
  EXPECT_EQ(problem_of("cb_buffer_size = \"1MiB\"\nbytes_per_agg = 1048576\n"), "");
  EXPECT_EQ(problem_of("cb_nodes = 4\n[\"*.nc\"]\nnum_aggregators = 8\n"), "") << "sections override each other";
  EXPECT_NE(problem_of("collective_buffering = true\nromio_cb_read = \"disable\"\n"), "");
  EXPECT_NE(problem_of("romio_cb_read = \"disable\"\ncollective_buffering = true\n"), "");
  EXPECT_EQ(problem_of("romio_cb_read = \"disable\"\ncollective_buffering = false\n"), "");
}

TEST(HintFiles, CraysVariable) {
  const HintFile file = parse_cray_hints("*.nc:cb_nodes=8 : romio_cb_write=enable, *.h5:striping_factor=4,*:cb_config_list=*:2");
  EXPECT_TRUE(file.problems.empty());
  EXPECT_EQ(file.sections, (std::vector<HintSection>{{"*.nc", {{"cb_nodes", "8", 0}, {"romio_cb_write", "enable", 0}}},
                                                     {"*.h5", {{"striping_factor", "4", 0}}},
                                                     {"*", {{"cb_config_list", "*:2", 0}}}}));
  for (const char* wrong : {"cb_nodes=8", "*.nc", "*.nc:cb_nodes", ":cb_nodes=8", "*.nc:=8"}) {
    EXPECT_EQ(parse_cray_hints(wrong).problems.empty(), false) << wrong;
  }
  EXPECT_EQ(parse_cray_hints(""), HintFile{});
}

TEST(HintFiles, RomioFilesSayWhatTheyLeaveOut) {
  const HintFile file = parse_romio_file("# site\ncb_nodes 4\nbroken\ncb_nodes 5\n");
  EXPECT_EQ(file.sections, (std::vector<HintSection>{{"*", {{"cb_nodes", "4", 2}}}}));
  ASSERT_EQ(file.problems.size(), 2u);
  EXPECT_EQ(file.problems[0].line, 3);
  EXPECT_EQ(file.problems[1].line, 4);
}

TEST(HintFiles, WhatIsCloseToAHint) {
  EXPECT_EQ(closest_hint("cb_ndoes"), "cb_nodes");
  EXPECT_EQ(closest_hint("CB_NODES"), "cb_nodes");
  EXPECT_EQ(closest_hint("romio_cb_wirte"), "romio_cb_write");
  EXPECT_EQ(closest_hint("striping_unitt"), "striping_unit");
  for (const char* other : {"nc_var_align_size", "pnetcdf_subfiling", "mca", "access", "key_nobody_knows_1", "", "x"}) {
    EXPECT_EQ(closest_hint(other), "") << other;
  }
}

}  // namespace
}  // namespace mercutio
