#include "model/elsewhere.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace mercutio {
namespace {

constexpr char kHint[] = "/remote/far=mercutio://far/data, /remote = mercutio:// ,/scratch/there/=mercutio://near/s/";

TEST(Elsewhere, PathsBelowAPrefixAreRemote) {
  EXPECT_EQ(place_elsewhere(kHint, "/remote/far/run1/x.nc"), "mercutio://far/data/run1/x.nc");
  EXPECT_EQ(place_elsewhere(kHint, "/remote/other/root/x.nc"), "mercutio://other/root/x.nc") << "host and root from the path";
  EXPECT_EQ(place_elsewhere(kHint, "/scratch/there/x"), "mercutio://near/s/x");
  EXPECT_EQ(place_elsewhere(kHint, "/remote//far/./a/../x"), "mercutio://far/data/x");
}

TEST(Elsewhere, EverythingElseStaysHere) {
  for (const char* path : {"/remote", "/remote/far/../../etc/x", "/remotely/x", "/scratch/therefore", "/scratch/there", "x", ""})
    EXPECT_EQ(place_elsewhere(kHint, path), "") << path;
  EXPECT_EQ(place_elsewhere("", "/remote/far/x"), "");
}

TEST(Elsewhere, RelativePathsCountFromTheWorkingDirectory) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(place_elsewhere(here + "=mercutio://far/data", "sub/x"), "mercutio://far/data/sub/x");
  EXPECT_EQ(place_elsewhere(here + "=mercutio://far/data", "../x"), "");
}

TEST(Elsewhere, MistakesAreToldOf) {
  EXPECT_EQ(check_elsewhere(kHint), "");
  EXPECT_EQ(check_elsewhere(""), "");
  for (const char* wrong : {"/remote", "/=mercutio://far/data", "remote=mercutio://far/data", "/remote=/elsewhere", "/a=mercutio://b/c,,"})
    EXPECT_NE(check_elsewhere(wrong), "") << wrong;
}

}  // namespace
}  // namespace mercutio
