// Assertions are enabled in the tests of engine/, and a failed one ends the program.
#include "base/assert.h"

#include <gtest/gtest.h>

#include "engine/window/pending_io.h"

namespace mercutio {
namespace {

TEST(AssertDeathTest, ReportsFileAndLineAndEndsTheProgram) {
  EXPECT_DEATH(MERCUTIO_ASSERT(1 + 1 == 3), "assert_test.cpp:[0-9]+: 1 \\+ 1 == 3 does not hold");
}

TEST(AssertDeathTest, AreEnabledInTheLibraryUnderTest) {
  const EngineFile file;
  PendingIo pending(file, Direction::kWrite);
  EXPECT_DEATH(pending.start(0, IoPiece{}), "pending_io.cpp");
}

}  // namespace
}  // namespace mercutio
