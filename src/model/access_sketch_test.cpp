#include "model/access_sketch.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

TEST(AccessSketch, OfOneRunIsThatRun) {
  const AccessSketch sketch = sketch_of(*default_view(), 100, 50);
  EXPECT_EQ(sketch.runs, (std::vector<SketchRun>{{100, 50}}));
  EXPECT_EQ(sketch_text(sketch), "0 r 50 100 150 50 50 100:50*1");
}

TEST(AccessSketch, OfNothingHasNoRuns) {
  AccessSketch sketch = sketch_of(*default_view(), 100, 0);
  sketch.number = 7;
  EXPECT_TRUE(sketch.runs.empty());
  const auto read = parse_sketch(sketch_text(sketch));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, sketch);
}

// Series of equal distances are one word, and reading gives back what was written.
TEST(AccessSketch, TextKeepsAllOfIt) {
  AccessSketch sketch;
  sketch.number = 3;
  sketch.direction = Direction::kWrite;
  sketch.summary = RankSummary{22, 8, 108, 4, 4};
  sketch.runs = {{8, 4}, {16, 4}, {24, 4}, {32, 4}, {102, 6}};
  EXPECT_EQ(sketch_text(sketch), "3 w 22 8 108 4 4 8:4*4 70:6*1");
  const auto read = parse_sketch(sketch_text(sketch));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, sketch);
}

TEST(AccessSketch, RefusesWhatIsNone) {
  for (const char* text : {"", "1", "1 x 1 0 1 1 1", "1 w -1 0 1 1 1", "1 w 4 0 4 4 4 0:4", "1 w 4 0 4 4 4 0:4*65", "1 w 4 0 4 4 4 -1:4*1",
                           "1 w 4 0 4 4 4 1:4*1", "1 w 4 0 4 4 4 0:0*1", "1 w 4 0 4 4 4 0:4*1x", "1 w 4 9223372036854775807 4 4 4"}) {
    EXPECT_FALSE(parse_sketch(text).ok()) << text;
  }
}

}  // namespace
}  // namespace mercutio
