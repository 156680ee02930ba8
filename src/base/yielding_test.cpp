#include "base/yielding.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

i64 waits_without(Yielding& yielding) {
  i64 waits = 0;
  while (!yielding.worth_trying()) ++waits;
  return waits;
}

TEST(Yielding, IsTriedAsLongAsItTakesNoTime) {
  Yielding yielding;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(yielding.worth_trying());
    EXPECT_TRUE(yielding.took(2'000));
  }
}

TEST(Yielding, IsLeftOutForLongerEachTimeItTakesASlice) {
  Yielding yielding;
  for (const i64 waits : {8, 64, 128, 256, 512, 1024, 2048, 4096, 4096}) {
    EXPECT_FALSE(yielding.took(3'000'000));
    EXPECT_EQ(waits_without(yielding), waits);
  }
}

TEST(Yielding, IsSlowOnlyIfItTakesLongerThanExpected) {
  Yielding yielding;
  yielding.expect(3'200'000);
  yielding.expect(600'000);
  EXPECT_TRUE(yielding.took(3'100'000));
  EXPECT_EQ(waits_without(yielding), 0);
  EXPECT_FALSE(yielding.took(3'200'000));
  EXPECT_EQ(waits_without(yielding), 8);
}

TEST(Yielding, ComesBackOnceTheCoreIsFree) {
  Yielding yielding;
  for (int i = 0; i < 10; ++i) yielding.took(3'000'000);
  EXPECT_EQ(waits_without(yielding), 4096);
  for (int i = 0; i < 100; ++i) yielding.took(2'000);
  yielding.took(3'000'000);
  EXPECT_EQ(waits_without(yielding), 8);
}

TEST(Yielding, IsKnownToBeSlowUntilItIsForgotten) {
  Yielding yielding;
  yielding.took(2'000);
  EXPECT_FALSE(yielding.were_slow());
  yielding.took(3'000'000);
  EXPECT_EQ(waits_without(yielding), 8);
  EXPECT_TRUE(yielding.were_slow());
  yielding.forget();
  EXPECT_FALSE(yielding.were_slow());
  EXPECT_EQ(waits_without(yielding), 0);
}

}  // namespace
}  // namespace mercutio
