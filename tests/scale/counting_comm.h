// A Comm that counts the messages between nodes.
#pragma once

#include <algorithm>
#include <vector>

#include "comm/comm.h"

namespace mercutio::scale {

struct Traffic {
  i64 messages = 0, bytes = 0;
};

class NodeTraffic {
 public:
  explicit NodeTraffic(const Topology& topology) : into_(topology.node_names.size()) {}
  void clear() { into_.assign(into_.size(), Traffic{}); }
  void add(i64 node, i64 bytes) {
    Traffic& traffic = into_[static_cast<size_t>(node)];
    ++traffic.messages;
    traffic.bytes += bytes;
  }
  Traffic most() const {
    Traffic most;
    for (const Traffic& node : into_) most = {std::max(most.messages, node.messages), std::max(most.bytes, node.bytes)};
    return most;
  }
  Traffic all() const {
    Traffic all;
    for (const Traffic& node : into_) all = {all.messages + node.messages, all.bytes + node.bytes};
    return all;
  }

 private:
  std::vector<Traffic> into_;
};

class CountingComm final : public Comm {
 public:
  CountingComm(Comm& inner, NodeTraffic& traffic) : inner_(inner), traffic_(traffic) {}
  i64 rank() const override { return inner_.rank(); }
  i64 size() const override { return inner_.size(); }
  Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) override {
    const std::vector<i64>& nodes = topology().node_of_rank;
    const i64 node = nodes[static_cast<size_t>(to)];
    if (node != nodes[static_cast<size_t>(rank())]) traffic_.add(node, static_cast<i64>(data.size()));
    return inner_.send(to, tag, data);
  }
  Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) override { return inner_.receive(from, tag, data); }
  i64 tags() const override { return inner_.tags(); }
  const Topology& topology() const override { return inner_.topology(); }
  std::string host() const override { return inner_.host(); }
  bool concurrent() const override { return false; }
  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string& folder) override { return inner_.make_shared_counter(folder); }
  Segment* segment() override { return inner_.segment(); }
  void backoff(i64 spins) override { inner_.backoff(spins); }

 private:
  Comm& inner_;
  NodeTraffic& traffic_;
};

}  // namespace mercutio::scale
