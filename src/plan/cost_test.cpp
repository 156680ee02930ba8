// The cost model: what each term must do, whatever the figures.
#include <gtest/gtest.h>

#include "model/machine_file.h"
#include "plan/planner.h"

namespace mercutio::planning {
namespace {

struct Model {
  explicit Model(const std::string& text, i64 bytes = 1024 * MiB) : machine(parse_machine(text).value()) {
    pattern.direction = Direction::kWrite;
    pattern.ranks = pattern.participants = machine.topology.ranks();
    pattern.bytes = pattern.end = bytes;
    pattern.disjoint = false;
  }
  Cost at(i64 aggregators) const { return cost_of(Planner(pattern, hints, machine.topology, machine.layout), aggregators); }
  i64 cheapest(i64 most) const { return cheapest_count(Planner(pattern, hints, machine.topology, machine.layout), most); }
  Machine machine;
  Pattern pattern;
  Hints hints;
};

const char* const kCluster = "nodes 8\nranks_per_node 8\nlink_mb_per_s 1000\nmemory_mb_per_s 4000\nservers 4\nstripe_bytes 1MiB\nserver_mb_per_s 500\n";

TEST(Cost, StorageIsThatOfTheServersReached) {
  const Model model(kCluster);
  const double all = 1024.0 * MiB / 500e6;
  EXPECT_NEAR(model.at(1).storage, all, 1e-9);
  EXPECT_NEAR(model.at(2).storage, all / 2, 1e-9);
  EXPECT_NEAR(model.at(4).storage, all / 4, 1e-9);
  EXPECT_NEAR(model.at(64).storage, all / 4, 1e-9);
}

TEST(Cost, NetworkIsThatOfTheNodesThatAggregate) {
  const Model model(kCluster);
  EXPECT_NEAR(model.at(1).network, 1024.0 * MiB * 7 / 8 / 1000e6, 1e-9);
  EXPECT_NEAR(model.at(8).network, model.at(1).network / 8, 1e-9);
  EXPECT_NEAR(model.at(64).network, model.at(8).network, 1e-12);
  EXPECT_EQ(Model("ranks_per_node 8").at(4).network, 0);
}

TEST(Cost, SharedMemorySavesACopyAndAllMessages) {
  const Model shared("ranks_per_node 8"), apart("ranks_per_node 8\nshared_memory no");
  EXPECT_EQ(shared.at(4).messages, 0);
  EXPECT_GT(apart.at(4).messages, 0);
  EXPECT_LT(shared.at(4).copies, apart.at(4).copies);
}

TEST(Cost, OverlapHidesTheSmallerPart) {
  Model model(kCluster);
  const Cost overlapped = model.at(4);
  EXPECT_GE(overlapped.total(), std::max(overlapped.exchange(), overlapped.storage));
  EXPECT_LT(overlapped.total(), overlapped.exchange() + overlapped.storage);
  model.hints.mercutio_depth = 1;
  EXPECT_DOUBLE_EQ(model.at(4).total(), overlapped.exchange() + overlapped.storage);
}

TEST(Cost, SaturationPointIsWhereAProcessReachesNineTenths) {
  Model model("servers 1\nserver_mb_per_s 100\nstripe_bytes 1MiB", 32 * MiB);
  const double ideal = model.at(1).storage;
  model.hints.mercutio_saturation_bytes = 32 * MiB;
  EXPECT_NEAR(ideal / model.at(1).storage, 0.9, 1e-9);
}

TEST(Cost, ChoiceIsWithinThreePercentOfTheBestPowerOfTwo) {
  for (const char* text : {kCluster, "ranks_per_node 16", "nodes 16\nranks_per_node 2", "nodes 3\nranks_per_node 1 9 2\nlink_mb_per_s 100"}) {
    for (const i64 bytes : {i64{1}, 64 * KiB, 100 * MiB, 65536 * MiB}) {
      const Model model(text, bytes);
      const i64 most = model.pattern.ranks, chosen = model.cheapest(most);
      ASSERT_GE(chosen, 1);
      ASSERT_LE(chosen, most);
      for (i64 count = 1; count <= most; count *= 2) {
        EXPECT_LE(model.at(chosen).total() * 0.97, model.at(count).total() * 1.0001) << text << " " << bytes << " " << count;
      }
    }
  }
}

TEST(Cost, MoreServersNeverMeanFewerAggregators) {
  i64 last = 0;
  for (const i64 servers : {1, 2, 4, 8, 16, 32}) {
    Model model("nodes 8\nranks_per_node 8\nlink_mb_per_s 10000\nstripe_bytes 1MiB\nserver_mb_per_s 200");
    model.machine.layout.stripe_count = servers;
    const i64 chosen = model.cheapest(64);
    EXPECT_GE(chosen, last);
    last = chosen;
  }
  EXPECT_GE(last, 16);
}

}  // namespace
}  // namespace mercutio::planning
