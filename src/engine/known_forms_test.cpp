#include "engine/known_forms.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

KnownForms::Form form(int value, size_t bytes = 16) { return KnownForms::Form(bytes, static_cast<std::byte>(value)); }

TEST(KnownForms, EqualFormsAreFound) {
  KnownForms known;
  known.begin(100);
  EXPECT_EQ(known.find(form(1)), KnownForms::kNowhere);
  EXPECT_EQ(known.keep(form(1)), 0);
  EXPECT_EQ(known.keep(form(2, 5)), 1);
  EXPECT_EQ(known.find(form(2, 5)), 1);
  EXPECT_EQ(known.find(form(2, 6)), KnownForms::kNowhere);
  EXPECT_EQ(known.find(form(1)), 0);
}

TEST(KnownForms, WithoutRoomWhatIsInUseStays) {
  KnownForms known;
  known.begin(32);
  known.keep(form(1));
  known.keep(form(2));
  EXPECT_EQ(known.keep(form(3)), KnownForms::kNowhere);
  EXPECT_EQ(known.find(form(1)), 0);
  known.begin(32);   // form 1 was of use
  EXPECT_EQ(known.find(form(1)), 0);
  EXPECT_EQ(known.keep(form(3)), KnownForms::kNowhere);
  known.begin(32);
  EXPECT_EQ(known.keep(form(3)), KnownForms::kNowhere);
  known.begin(32);   // none was, and there was no room
  EXPECT_EQ(known.find(form(1)), KnownForms::kNowhere);
  EXPECT_EQ(known.keep(form(3)), 0);
}

TEST(KnownForms, LessRoomThanBeforeIsANewBeginning) {
  KnownForms known;
  known.begin(32);
  known.keep(form(1));
  known.keep(form(2));
  known.begin(16);
  EXPECT_EQ(known.find(form(1)), KnownForms::kNowhere);
  EXPECT_EQ(known.keep(form(2)), 0);
}

TEST(KnownForms, TheAggregatorTakesThemInOrder) {
  KnownForms known;
  EXPECT_FALSE(known.expected(0));
  EXPECT_TRUE(known.expect(0, 16, 32));
  EXPECT_TRUE(known.expect(1, 16, 32));
  EXPECT_TRUE(known.at(1).empty());
  known.fill(1, form(2));
  EXPECT_EQ(known.at(1), form(2));
  EXPECT_TRUE(known.at(0).empty());
  EXPECT_FALSE(known.expect(2, 1, 32)) << "no room";
  EXPECT_FALSE(known.expect(3, 0, 32)) << "one left out";
  EXPECT_FALSE(known.expected(2));
  EXPECT_FALSE(known.expected(-1));
  EXPECT_TRUE(known.expect(0, 32, 32)) << "a new beginning";
  EXPECT_FALSE(known.expected(1));
}

}  // namespace
}  // namespace mercutio
