#include "model/layout.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

LayoutComponent component(i64 begin, i64 end, i64 stripe_bytes, i64 stripe_count) {
  LayoutComponent out;
  out.begin = begin, out.end = end, out.stripe_bytes = stripe_bytes, out.stripe_count = stripe_count;
  return out;
}

TEST(Layout, PlainOnesAreTheSameEverywhere) {
  const Layout plain{MiB, 4, 2};
  EXPECT_EQ(stripes_of(plain, 5, 10), (std::vector<StripeRange>{{5, 10, MiB, 4}}));
  EXPECT_EQ(within(plain, 5, 10), plain);
  EXPECT_TRUE(stripes_of(Layout{}, 0, 100).empty());
}

TEST(Layout, RangesTileWhatIsAskedFor) {
  Layout layout{MiB, 1};
  layout.components = {component(0, 8, 2, 1), component(8, 100, 2, 1), component(100, 200, 4, 3), component(210, 300, 8, 5)};
  EXPECT_EQ(stripes_of(layout, 0, kEndOfFile), (std::vector<StripeRange>{{0, 100, 2, 1}, {100, 200, 4, 3}, {200, kEndOfFile, 8, 5}}));
  EXPECT_EQ(stripes_of(layout, 150, 160), (std::vector<StripeRange>{{150, 160, 4, 3}}));
  EXPECT_EQ(stripes_of(layout, 400, 500), (std::vector<StripeRange>{{400, 500, 8, 5}}));
  const Layout one = within(layout, 150, 160);
  EXPECT_TRUE(one.components.empty());
  EXPECT_EQ(one.stripe_count, 3);
  const Layout several = within(layout, 90, 190);
  ASSERT_EQ(several.components.size(), 2U);
  EXPECT_EQ(several.stripe_bytes, 4) << "most of it";
}

TEST(Layout, ServersAreThoseOfTheMirrorInUse) {
  Layout layout;
  layout.mirror = 2;
  layout.components = {component(0, kEndOfFile, 4, 2), component(0, kEndOfFile, 4, 2)};
  layout.components[0].mirror = 1, layout.components[0].servers = {1, 2};
  layout.components[1].mirror = 2, layout.components[1].servers = {7, 8};
  EXPECT_EQ(layout.server_at(3), 7);
  EXPECT_EQ(layout.server_at(5), 8);
  EXPECT_EQ(layout.server_at(8), 7);
}

}  // namespace
}  // namespace mercutio
