#include "file/operation.h"

#include <gtest/gtest.h>

#include "file/test_support.h"
#include "storage/forwarding.h"

using namespace mercutio;

namespace {

// The kept writes of another thread, which have no place any more.
struct Full final : Forwarding {
  Full() : Forwarding(nullptr) {}
  Status flush() override { return Error{ErrorClass::kNoSpace, "full on purpose"}; }
};

}  // namespace

TEST(EndTogether, TellsOfWritesThatWereKeptMeanwhileAndCannotBeWritten) {
  run_ranks(2, [](Comm& comm) {
    Full full;
    Operation operation;
    operation.buffer = &full;   // not that of the collective access
    operation.engine.comm = &comm;
    const Result<i64> ended = end_together(operation, 5);
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().cls, ErrorClass::kNoSpace);
    const Result<i64> failed = end_together(operation, Error{ErrorClass::kIo, "first"});
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().cls, ErrorClass::kIo) << "the Error of the access itself comes first";
  });
}
