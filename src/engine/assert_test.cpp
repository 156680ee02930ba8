// Assertions are enabled in the tests of engine/, and a failed one ends the program.
#include "base/assert.h"

#include <gtest/gtest.h>

#include "engine/coverage.h"

namespace mercutio {
namespace {

TEST(AssertDeathTest, ReportsFileAndLineAndEndsTheProgram) {
  EXPECT_DEATH(MERCUTIO_ASSERT(1 + 1 == 3), "assert_test.cpp:[0-9]+: 1 \\+ 1 == 3 does not hold");
}

TEST(AssertDeathTest, AreEnabledInTheLibraryUnderTest) {
  Coverage coverage;
  coverage.reset(100);
  EXPECT_DEATH(coverage.add(90, 101), "coverage.cpp");
}

}  // namespace
}  // namespace mercutio
