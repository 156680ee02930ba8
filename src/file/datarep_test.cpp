#include "file/datarep.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

TEST(DatarepRegistry, NamesAreTakenOnce) {
  DatarepRegistry registry;
  auto named = [](const char* name) {
    RegisteredDatarep datarep;
    datarep.name = name;
    return datarep;
  };
  EXPECT_TRUE(registry.add(named("mine")));
  for (const char* taken : {"mine", "native", "internal", "external32"})
    EXPECT_EQ(registry.add(named(taken)).error().cls, ErrorClass::kDupDatarep);
  EXPECT_EQ(registry.add(named("")).error().cls, ErrorClass::kArg);
  EXPECT_TRUE(registry.find("mine"));
  EXPECT_EQ(registry.find("other").error().cls, ErrorClass::kUnsupportedDatarep);
}

}  // namespace
}  // namespace mercutio
