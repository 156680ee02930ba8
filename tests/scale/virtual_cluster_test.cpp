// The virtual cluster itself: what messages, cores and servers take, by hand.
#include "virtual_cluster.h"

#include <gtest/gtest.h>

#include "virtual_storage.h"

namespace mercutio::scale {
namespace {

Topology nodes_of(std::vector<i64> node_of_rank, i64 nodes) {
  Topology topology;
  topology.node_of_rank = std::move(node_of_rank);
  for (i64 node = 0; node < nodes; ++node) topology.node_names.push_back("n" + std::to_string(node));
  return topology;
}

ClusterModel plain() {   // 1 GB/s: a byte takes a nanosecond
  ClusterModel model;
  model.message_ns = 100;
  model.latency_ns = 1000;
  model.link_bytes_per_s = 1e9;
  model.eager_bytes = 0;
  return model;
}

// Rank `from` sends to `to`, which receives from `posts_at_ns` on; the others do nothing. Each step looks as far as it can.
struct Transmission {
  i64 from, to, bytes;
  std::vector<std::byte> sent, received;
  std::unique_ptr<Message> out, in;

  Transmission(i64 f, i64 t, i64 b) : from(f), to(t), bytes(b), sent(static_cast<size_t>(b), std::byte{7}), received(static_cast<size_t>(b)) {}
  bool send_step(VirtualCluster& cluster) {
    if (!out) out = cluster.comm(from).send(to, 0, sent).value();
    return out->test().value();
  }
  bool receive_step(VirtualCluster& cluster) {
    if (!in) in = cluster.comm(to).receive(from, 0, received).value();
    return in->test().value();
  }
};

TEST(VirtualCluster, AMessageTakesItsOverheadsLatenciesAndBytes) {
  for (const bool eager : {false, true}) {
    ClusterModel model = plain();
    model.eager_bytes = eager ? 1 * MiB : 0;
    VirtualCluster cluster(model, nodes_of({0, 1}, 2));
    Transmission one(0, 1, 5000);
    ASSERT_TRUE(cluster.run({[&] { return one.send_step(cluster); }, [&] { return one.receive_step(cluster); }}));
    const i64 handshake = eager ? 0 : 2 * 1000;
    EXPECT_EQ(cluster.elapsed_ns(), 100 + handshake + 5000 + 1000 + 100) << eager;
    EXPECT_EQ(one.received, one.sent);
    EXPECT_EQ(cluster.counts().into_node[1].bytes, 5000);
    EXPECT_EQ(cluster.counts().into_node[0].messages, 0);
    EXPECT_EQ(cluster.counts().unasked_steps, 0);
  }
}

TEST(VirtualCluster, MessagesIntoOneNodeShareItsLink) {
  ClusterModel model = plain();
  model.eager_bytes = 1 * MiB;
  VirtualCluster cluster(model, nodes_of({0, 1, 2}, 3));
  Transmission one(0, 2, 10'000), two(1, 2, 10'000);
  ASSERT_TRUE(cluster.run({[&] { return one.send_step(cluster); }, [&] { return two.send_step(cluster); },
                           [&] {
                             const bool first = one.receive_step(cluster), second = two.receive_step(cluster);
                             return first && second;
                           }}));
  EXPECT_EQ(cluster.elapsed_ns(), 100 + 1000 + 20'000 + 100);
}

TEST(VirtualCluster, AnOversubscribedSwitchIsTheLimit) {
  ClusterModel model = plain();
  model.eager_bytes = 1 * MiB;
  model.nodes_of_switch = 2;
  model.uplink_bytes_per_s = 0.5e9;
  VirtualCluster cluster(model, nodes_of({0, 1, 2}, 3));
  Transmission near(0, 1, 10'000), far(0, 2, 10'000);
  bool sent_near = false;
  const auto send = [&] {
    sent_near = sent_near || near.send_step(cluster);
    return sent_near && far.send_step(cluster);
  };
  ASSERT_TRUE(cluster.run({send, [&] { return near.receive_step(cluster); }, [&] { return far.receive_step(cluster); }}));
  EXPECT_EQ(cluster.elapsed_ns(), 100 + 10'000 + 20'000 + 1000 + 100);
}

TEST(VirtualCluster, RanksWithoutACoreOfTheirOwnTakeTurns) {
  ClusterModel model = plain();
  model.cores = 2;
  VirtualCluster cluster(model, nodes_of({0, 0, 0, 0, 0}, 1));
  std::vector<std::function<bool()>> steps(5, [&] {
    cluster.spend(1000);
    return true;
  });
  ASSERT_TRUE(cluster.run(steps));
  EXPECT_EQ(cluster.elapsed_ns(), 3000);
}

TEST(VirtualCluster, ReportsWhenNobodyCanGoOn) {
  VirtualCluster cluster(plain(), nodes_of({0, 1}, 2));
  Transmission one(0, 1, 8);
  EXPECT_FALSE(cluster.run({[] { return true; }, [&] { return one.receive_step(cluster); }}));
}

TEST(VirtualCluster, CountsStepsThatNothingHadAskedFor) {
  VirtualCluster cluster(plain(), nodes_of({0, 0}, 1));
  bool told = false;
  ASSERT_TRUE(cluster.run({[&] {
                             return told;
                           },
                           [&] {
                             told = true;   // without a wake-up
                             return true;
                           }}));
  EXPECT_GT(cluster.counts().unasked_steps, 0);
}

TEST(VirtualStorage, ServersServeOneRequestAtATimeAndRevokeLocks) {
  VirtualCluster cluster(plain(), nodes_of({0, 1}, 2));
  StorageModel model;
  model.servers = 2;
  model.server_bytes_per_s = 1e9;
  model.stripe_bytes = 1000;
  model.call_ns = 0;
  model.round_trip_ns = 200;
  model.request_ns = 50;
  model.revoke_ns = 5000;
  VirtualServers servers(cluster, model);
  VirtualStorage storage(servers, 1 << 20);
  std::vector<std::byte> data(4000);
  const auto write = [&](i64 offset, i64 bytes) {
    const IoPiece piece{offset, data.data(), bytes};
    ASSERT_EQ(storage.write(std::span(&piece, 1)).value(), bytes);
  };
  ASSERT_TRUE(cluster.run({[&] {
                             write(0, 4000);   // two stripes on each server
                             return true;
                           },
                           [] { return true; }}));
  EXPECT_EQ(cluster.elapsed_ns(), 100 + 2 * (50 + 1000) + 100);
  EXPECT_EQ(servers.counts().requests, 4);
  EXPECT_EQ(servers.counts().revocations, 0);
  ASSERT_TRUE(cluster.run({[] { return true; },
                           [&] {
                             write(1000, 500);   // of a stripe that the other node has locked
                             return true;
                           }}));
  EXPECT_EQ(cluster.elapsed_ns(), 100 + 50 + 500 + 5000 + 100);
  EXPECT_EQ(servers.counts().revocations, 1);
}

}  // namespace
}  // namespace mercutio::scale
