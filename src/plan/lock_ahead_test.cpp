// When aggregators lock ahead (plan/domains.cpp).
#include <gtest/gtest.h>

#include "plan/plan.h"

namespace mercutio {
namespace {

TEST(LockAhead, AggregatorsThatShareAServerLockAhead) {
  const Layout two_servers{65536, 2, 0};
  Topology two_nodes;
  two_nodes.node_of_rank = {0, 0, 1, 1};
  two_nodes.node_names = {"a", "b"};
  const auto locks_ahead = [&](const Layout& layout, i64 aggregators, i64 ratio, Toggle wish, WantedDomains domains = WantedDomains::kAuto,
                               Direction direction = Direction::kWrite) {
    Hints hints;
    hints.romio_cb_write = hints.romio_cb_read = Toggle::kEnable;
    hints.cb_nodes = aggregators;
    hints.romio_lustre_co_ratio = ratio;
    hints.mercutio_lock_ahead = wish;
    hints.mercutio_domains = domains;
    Pattern p = summarise(Direction::kWrite, false, std::vector<RankSummary>(4, RankSummary{1 << 20, 0, 4 << 20}));
    p.direction = direction;
    return make_plan(p, hints, two_nodes, layout).lock_ahead;
  };
  const auto kAuto = Toggle::kAutomatic, kEnable = Toggle::kEnable, kDisable = Toggle::kDisable;
  EXPECT_TRUE(locks_ahead(two_servers, 4, 2, kAuto));
  EXPECT_FALSE(locks_ahead(two_servers, 4, 2, kDisable));
  EXPECT_FALSE(locks_ahead(two_servers, 4, 2, kAuto, WantedDomains::kAuto, Direction::kRead));
  for (const Toggle wish : {kAuto, kEnable}) {
    EXPECT_FALSE(locks_ahead(two_servers, 4, 1, wish));   // a server each
    EXPECT_FALSE(locks_ahead(two_servers, 1, 2, wish));
  }
  EXPECT_FALSE(locks_ahead(two_servers, 4, 1, kAuto, WantedDomains::kAligned));
  EXPECT_TRUE(locks_ahead(two_servers, 4, 1, kEnable, WantedDomains::kAligned));
  EXPECT_FALSE(locks_ahead({}, 4, 1, kAuto));
  EXPECT_TRUE(locks_ahead({}, 4, 1, kEnable));   // no stripes are known, as on GPFS
}

}  // namespace
}  // namespace mercutio
