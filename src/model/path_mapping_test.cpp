#include "model/path_mapping.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace mercutio {
namespace {

constexpr char kHint[] = "/remote/far=mercutio://far/data, /remote = mercutio:// ,/scratch/there/=mercutio://near/s/";

TEST(PathMapping, PathsBelowAPrefixAreRemote) {
  EXPECT_EQ(map_path(kHint, "/remote/far/run1/x.nc"), "mercutio://far/data/run1/x.nc");
  EXPECT_EQ(map_path(kHint, "/remote/other/root/x.nc"), "mercutio://other/root/x.nc") << "host and root from the path";
  EXPECT_EQ(map_path(kHint, "/scratch/there/x"), "mercutio://near/s/x");
  EXPECT_EQ(map_path(kHint, "/remote//far/./a/../x"), "mercutio://far/data/x");
}

TEST(PathMapping, EverythingElseStaysHere) {
  for (const char* path : {"/remote", "/remote/far/../../etc/x", "/remotely/x", "/scratch/therefore", "/scratch/there", "x", ""})
    EXPECT_EQ(map_path(kHint, path), "") << path;
  EXPECT_EQ(map_path("", "/remote/far/x"), "");
}

TEST(PathMapping, RelativePathsCountFromTheWorkingDirectory) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(map_path(here + "=mercutio://far/data", "sub/x"), "mercutio://far/data/sub/x");
  EXPECT_EQ(map_path(here + "=mercutio://far/data", "../x"), "");
}

TEST(PathMapping, MistakesAreToldOf) {
  EXPECT_EQ(check_path_mapping(kHint), "");
  EXPECT_EQ(check_path_mapping(""), "");
  for (const char* wrong : {"/remote", "/=mercutio://far/data", "remote=mercutio://far/data", "/remote=/elsewhere", "/remote=mercutio:///data", "/a=mercutio://b/c,,"})
    EXPECT_NE(check_path_mapping(wrong), "") << wrong;
}

}  // namespace
}  // namespace mercutio
