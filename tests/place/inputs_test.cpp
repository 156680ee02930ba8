// What `mercutio place` reads and writes.
#include <gtest/gtest.h>

#include "place/cluster.h"
#include "place/matrix.h"

namespace mercutio::place {
namespace {

TEST(PlacementInputs, MatricesWithAnySeparator) {
  const auto volume = parse_volume("# ranks\n0, 7;0 1\n7\t0 1 0\n\n0 1 0 7.5 # the third\n0 0 7.5 0\n");
  ASSERT_TRUE(volume.ok()) << volume.error().what;
  EXPECT_EQ(volume_text(*volume), "0,7,0,1\n7,0,1,0\n0,1,0,7.5\n1,0,7.5,0\n") << "one direction only is taken as it is";
  const auto both = parse_volume("0 3\n4 0\n");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->at(0, 1), 7);
  const auto costs = parse_costs("0 3\n4 1\n");
  ASSERT_TRUE(costs.ok());
  EXPECT_EQ(costs->at(0, 1), 4);
  EXPECT_EQ(costs->at(1, 0), 4);
  EXPECT_EQ(costs->at(1, 1), 1);
}

TEST(PlacementInputs, WrongMatricesAreNamed) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{{"", "no numbers"}, {"1 2\n3\n", "line 2: 1 numbers"}, {"1 2\n", "square"},
                                                                                   {"0 x\n1 0\n", "'x'"}, {"0 -1\n1 0\n", "'-1'"}, {"0 nan\n1 0\n", "'nan'"}}) {
    const auto volume = parse_volume(text);
    ASSERT_FALSE(volume.ok()) << text;
    EXPECT_NE(volume.error().what.find(why), std::string::npos) << volume.error().what;
  }
}

TEST(PlacementInputs, HostFilesOfAllLaunchers) {
  const auto nodes = parse_hosts("# ours\nn1 slots=4 max_slots=8\nn2:3\n\nn3\nn1 slots=2\n");
  ASSERT_TRUE(nodes.ok()) << nodes.error().what;
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_EQ((*nodes)[0].name, "n1");
  EXPECT_EQ((*nodes)[0].ranks, 6);
  EXPECT_EQ((*nodes)[1].ranks, 3);
  EXPECT_EQ((*nodes)[2].ranks, 0);
  const auto repeated = parse_hosts("a\na\nb\na\n");   // as Slurm lists them
  ASSERT_TRUE(repeated.ok());
  EXPECT_EQ((*repeated)[0].ranks, 3);
  for (const char* text : {"", "#\n", "a:x\n", "a slots=0\n", "a b\n"}) EXPECT_FALSE(parse_hosts(text).ok()) << text;
}

TEST(PlacementInputs, CoresOfNumaDomains) {
  const auto domains = parse_topology(
      R"(<topology version="2.0"><object type="Machine" cpuset="0x0000000f,0xffffffff">
<object type="Package" cpuset="0x1"><object type="NUMANode" os_index="0" cpuset="0x00000003"/><object type="Core" cpuset="0x00000001"/>
<object type="Core" cpuset="0x00000002"><object type="PU" cpuset="0x2"/></object></object>
<object type="NUMANode" os_index="1" cpuset="0x00000003,0x0"/><object type="Core" cpuset="0x00000001,0x0"/>
<object type="Core" cpuset="0x00000002,0x0"/><object type="Core" cpuset="0x00000001,,0x0"/><object type="NUMANode" os_index="2" cpuset=""/></object></topology>)");
  ASSERT_TRUE(domains.ok());
  EXPECT_EQ(*domains, (std::vector<std::vector<i64>>{{0, 1, 4}, {2, 3}}));   // the last is of no domain: the first takes it
  EXPECT_FALSE(parse_topology("<html>").ok());
}

TEST(PlacementInputs, FilesOfTheLaunchers) {
  const std::vector<Seat> seats = {{"b", 0}, {"b", 1}, {"a", 0}, {"b", 2}};
  EXPECT_EQ(open_mpi_rankfile(seats), "rank 0=b slot=0\nrank 1=b slot=1\nrank 2=a slot=0\nrank 3=b slot=2\n");
  EXPECT_EQ(machine_file(seats), "b:2\na:1\nb:1\n");
  EXPECT_EQ(slurm_host_file(seats), "b\nb\na\nb\n");
  EXPECT_TRUE(returns_to_a_host(seats));
  EXPECT_FALSE(returns_to_a_host({{"b", 0}, {"b", 1}, {"a", 0}}));
}

}  // namespace
}  // namespace mercutio::place
