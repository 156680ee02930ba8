#include "insight/name_patterns.h"

#include <gtest/gtest.h>

#include <array>

#include "insight/format.h"

namespace mercutio {
namespace {

TEST(NamePatterns, NumbersAreLeftOut) {
  EXPECT_EQ(pattern_key("out.001.nc"), "out.###.nc");
  EXPECT_EQ(pattern_key("/scratch/u17/plt00010/Cell_D_3"), "/scratch/u###/plt###/Cell_D_###");
  EXPECT_EQ(pattern_key("7"), "###");
  EXPECT_EQ(pattern_key("restart"), "restart");
  EXPECT_EQ(pattern_key(""), "");
  EXPECT_EQ(pattern_key("step9"), pattern_key("step10"));
  EXPECT_NE(pattern_key("step9.h5"), pattern_key("step.h5"));
  EXPECT_EQ(pattern_key(pattern_key("a1b22")), pattern_key("a1b22"));
}

TEST(NamePatterns, NumbersInWhichAllNamesAgreeStay) {
  EXPECT_EQ(widened_pattern("/u17/out.001.nc", "/u17/out.002.nc"), "/u17/out.###.nc");
  EXPECT_EQ(widened_pattern("/u17/out.###.nc", "/u17/out.003.nc"), "/u17/out.###.nc");
  EXPECT_EQ(widened_pattern("/u17/out.###.nc", "/u18/out.003.nc"), "/u###/out.###.nc");
  EXPECT_EQ(widened_pattern("data", "data"), "data");
  EXPECT_EQ(widened_pattern("9", "10"), "###");
}

TEST(NamePatterns, OtherFilesAreNamedByWhatTheyHaveInCommon) {
  EXPECT_EQ(other_files("/run/a/x.dat", "/run/b/y.dat"), "(other files) /run/*.dat");
  EXPECT_EQ(other_files("(other files) /run/*.dat", "/run/c/z.dat"), "(other files) /run/*.dat");
  EXPECT_EQ(other_files("(other files) /run/*.dat", "(other files) /scratch/*.nc"), "(other files) /*");
  EXPECT_EQ(other_files("/run.d/x", "/run.d/y.nc"), "(other files) /run.d/*");
  EXPECT_EQ(other_files("x", "y"), kOtherFiles);
  EXPECT_EQ(other_files(kOtherFiles, "x.dat"), kOtherFiles);
  EXPECT_EQ(other_files("/" + std::string(250, 'a') + "/x", "/" + std::string(250, 'a') + "/y"), kOtherFiles);
  EXPECT_EQ(record_key("(other files) /run/*"), kOtherFiles);
  EXPECT_EQ(record_key("/run/a"), "/run/a");
}

TEST(NamePatterns, NoNameBeginsInTheMiddleOfACharacter) {
  std::array<char, 8> target{};
  put_text(target, "\u5c71\u5c71\u5c71");
  EXPECT_EQ(text_in(target), "\u5c71\u5c71");
  put_text(target, "\u00fc\u00fc\u00fcab");
  EXPECT_EQ(text_in(target), "\u00fc\u00fcab");
  put_text(target, "abcdefgh");
  EXPECT_EQ(text_in(target), "bcdefgh");
}

}  // namespace
}  // namespace mercutio
