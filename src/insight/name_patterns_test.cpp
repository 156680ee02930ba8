#include "insight/name_patterns.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace mercutio
