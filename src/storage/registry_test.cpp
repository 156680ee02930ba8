#include <gtest/gtest.h>

#include "storage/storage.h"

namespace mercutio {
namespace {

void expect_resolved(const std::string& name, const std::string& driver, const std::string& path) {
  const Resolved resolved = resolve(name);
  EXPECT_EQ(resolved.driver->name(), driver) << name;
  EXPECT_EQ(resolved.path, path) << name;
}

TEST(Registry, WholePrefixesChooseTheDriver) {
  for (const char* prefix : {"posix:", "ufs:", "nfs:", "lustre:", "xfs:", "gpfs:", "panfs:", "testfs:"})
    expect_resolved(std::string(prefix) + "/a/b", "posix", "/a/b");
  expect_resolved("memory:a", "memory", "a");
  expect_resolved("null:a", "null", "a");
  expect_resolved("mercutio://host/root/a", "mercutio", "host/root/a");
}

TEST(Registry, EverythingElseIsAPath) {
  for (const char* name : {"/a:b", "u:x", "ufsx:y", "UFS:x", "dir/ufs:x", "./memory:foo", "c:\\x", "ufs", ":x", "", "mercutio:/host/a", "mercutio:a"})
    expect_resolved(name, "posix", name);
}

TEST(Registry, OnePrefixIsStripped) {
  expect_resolved("ufs:memory:x", "posix", "memory:x");
  expect_resolved("memory:ufs:x", "memory", "ufs:x");
}

TEST(Registry, PlainPathsMayLiveElsewhere) {
  const auto expect = [](const std::string& name, const std::string& driver, const std::string& path) {
    const Resolved resolved = resolve(name, "/remote=mercutio://,/far=mercutio://there/data");
    EXPECT_EQ(resolved.driver->name(), driver) << name;
    EXPECT_EQ(resolved.path, path) << name;
  };
  expect("/far/x", "mercutio", "there/data/x");
  expect("ufs:/far/x", "mercutio", "there/data/x");
  expect("/remote/host/root/x", "mercutio", "host/root/x");
  expect("/farther/x", "posix", "/farther/x");
  expect("memory:/far/x", "memory", "/far/x");
}

}  // namespace
}  // namespace mercutio
