#include "plan/new_file.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

std::vector<i64> counts_of(const Layout& layout) {
  std::vector<i64> counts;
  for (const LayoutComponent& component : layout.components) counts.push_back(component.stripe_count);
  return counts;
}

TEST(NewFile, AServerForEachRankUpToEightANode) {
  EXPECT_TRUE(layout_of_new_file(1, 1).components.empty());
  EXPECT_EQ(counts_of(layout_of_new_file(1, 2)), (std::vector<i64>{1, 2}));
  EXPECT_EQ(counts_of(layout_of_new_file(1, 64)), (std::vector<i64>{1, 8}));
  EXPECT_EQ(counts_of(layout_of_new_file(4, 8)), (std::vector<i64>{1, 8}));
  EXPECT_EQ(counts_of(layout_of_new_file(2, 128)), (std::vector<i64>{1, 8, 16}));
  EXPECT_EQ(counts_of(layout_of_new_file(1000, 128000)), (std::vector<i64>{1, 8, 24, 72, 216}));
}

TEST(NewFile, RangesTileTheFileOnBordersOfStripes) {
  for (const i64 ranks : {2, 8, 20, 100, 10000}) {
    const Layout layout = layout_of_new_file(ranks, ranks);
    i64 at = 0;
    for (const LayoutComponent& component : layout.components) {
      EXPECT_EQ(component.begin, at);
      EXPECT_EQ(component.begin % component.stripe_bytes, 0);
      EXPECT_TRUE(component.end == kEndOfFile || component.end % component.stripe_bytes == 0);
      EXPECT_LE(component.stripe_count, ranks);
      at = component.end;
    }
    EXPECT_EQ(at, kEndOfFile);
  }
}

}  // namespace
}  // namespace mercutio
