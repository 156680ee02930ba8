// The profile of mercutio_adapt is read as one of the tuner's.
#include "model/profile_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "model/hints_sources.h"

namespace mercutio {
namespace {

FoundHints found_for(const std::string& path) { return {"app", 4, path, {{"cb_nodes", "2"}, {"mercutio_exchange", "messages"}}, "a line\nanother = 1\n"}; }

TEST(ProfileFile, SaysWhatItIsFor) {
  const HintFile file = parse_hint_toml(profile_text(found_for("/tmp/out.nc")));
  EXPECT_TRUE(file.problems.empty());
  EXPECT_EQ(file.profile, (HintProfile{"app", file_system_key("/tmp/out.nc"), 4}));
  ASSERT_FALSE(file.sections.empty());
  const HintSection& last = file.sections.back();
  EXPECT_EQ(last.glob, "*.nc");
  ASSERT_EQ(last.hints.size(), 2u);
  EXPECT_EQ(last.hints[0].value, "2");
  EXPECT_EQ(last.hints[1].value, "messages");
}

TEST(ProfileFile, NamesOfAllKindsLeaveItReadable) {
  for (const char* path : {"out", "/tmp/out.001", "/tmp/a.b\"c", "", ".hidden", "x.\n"}) {
    FoundHints found = found_for(path);
    found.program = "a\"b\\c\n";
    const HintFile file = parse_hint_toml(profile_text(found));
    EXPECT_TRUE(file.problems.empty()) << path;
    EXPECT_EQ(file.profile.application, "a\"b\\c?");
    ASSERT_FALSE(file.sections.empty());
    EXPECT_EQ(file.sections.back().glob, "*") << path;
    EXPECT_EQ(file.sections.back().hints.size(), 2u);
  }
}

TEST(ProfileFile, IsWrittenOnceAndUsedByTheNextRun) {
  const std::string folder = "/tmp/mercutio-profile-test." + std::to_string(::getpid());
  ::setenv("XDG_CONFIG_HOME", folder.c_str(), 1);
  ::unsetenv("MERCUTIO_PROFILE");
  ASSERT_TRUE(write_profile(found_for("/tmp/out.nc")).ok());
  const auto nodes = [] {
    std::string value;
    for (const AskedHint& asked : HintSources().asked_for("/tmp/other.nc", 4, "app").hints)
      if (asked.key == "cb_nodes" && asked.origin.source == HintSource::kTuner) value = asked.value;
    return value;
  };
  EXPECT_EQ(nodes(), "2");
  FoundHints again = found_for("/tmp/out.nc");
  again.hints = {{"cb_nodes", "3"}};
  ASSERT_TRUE(write_profile(again).ok());
  EXPECT_EQ(nodes(), "3");
  const std::string path = folder + "/mercutio/tuned/app-adapted-4-nc.toml";
  std::ofstream(path, std::ios::app) << "\n[profile]\nfrozen = true\n";
  again.hints = {{"cb_nodes", "4"}};
  EXPECT_TRUE(write_profile(again).ok());
  std::ifstream input(path);
  const std::string text((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text.find("cb_nodes = 4"), std::string::npos) << "it is frozen";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mercutio
