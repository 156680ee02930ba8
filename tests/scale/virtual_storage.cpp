#include "virtual_storage.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace mercutio::scale {
namespace {

class VirtualTransfer final : public Transfer {
 public:
  VirtualTransfer(VirtualCluster& cluster, i64 done_at, i64 bytes) : cluster_(cluster), done_at_(done_at), bytes_(bytes) { cluster.look_at(cluster.rank(), done_at); }
  bool done() override { return cluster_.now() >= done_at_; }
  Result<i64> wait() override {
    cluster_.spend(std::max<i64>(0, done_at_ - cluster_.now()));
    return bytes_;
  }

 private:
  VirtualCluster& cluster_;
  i64 done_at_, bytes_;
};

// The engine finds out that a storage blocks by the clock and the context switches of its thread. So a transfer that takes long blocks indeed.
void block() { std::this_thread::sleep_for(std::chrono::microseconds(300)); }
constexpr i64 kLongNs = 200'000;

}  // namespace

VirtualServers::VirtualServers(VirtualCluster& cluster, const StorageModel& model)
    : cluster_(cluster), model_(model), busy_until_(static_cast<size_t>(model.servers), 0) {
  traits_.file_system = model.servers > 0 ? "lustre" : "memory";
  traits_.metadata_is_remote = model.servers > 0;
  if (model.servers > 0) traits_.block_bytes = model.stripe_bytes;
}

i64 VirtualServers::serve(Direction direction, std::span<const IoPiece> pieces) {
  const i64 node = cluster_.topology().node_of_rank[static_cast<size_t>(cluster_.rank())];
  ++counts_.calls;
  cluster_.spend(model_.call_ns);
  if (model_.servers == 0) {
    cluster_.spend(time_of(bytes_of(pieces), model_.memory_bytes_per_s));
    return cluster_.now();
  }
  const i64 sent_at = cluster_.now() + model_.round_trip_ns / 2;
  i64 done_at = sent_at;
  for (const IoPiece& piece : pieces) {
    for (i64 at = piece.offset, end = piece.offset + piece.bytes; at < end;) {
      const i64 stripe = at / model_.stripe_bytes, next = std::min(end, (stripe + 1) * model_.stripe_bytes);
      i64& busy_until = busy_until_[static_cast<size_t>(stripe % model_.servers)];
      busy_until = std::max(busy_until, sent_at) + model_.request_ns + time_of(next - at, model_.server_bytes_per_s);
      if (direction == Direction::kWrite) {
        const auto [holder, is_new] = lock_holders_.try_emplace(stripe, node);
        if (!is_new && holder->second != node) {
          ++counts_.revocations;
          busy_until += model_.revoke_ns;
          holder->second = node;
        }
      }
      ++counts_.requests;
      done_at = std::max(done_at, busy_until);
      at = next;
    }
  }
  return done_at + model_.round_trip_ns / 2;
}

Result<i64> VirtualStorage::move(Direction direction, std::span<const IoPiece> pieces) {
  VirtualCluster& cluster = servers_.cluster();
  const i64 waits = servers_.serve(direction, pieces) - cluster.now();
  if (waits >= kLongNs) block();
  cluster.spend(std::max<i64>(0, waits));
  return bytes_of(pieces);
}

std::unique_ptr<Transfer> VirtualStorage::start(Direction direction, std::vector<IoPiece> pieces) {
  const i64 done_at = servers_.serve(direction, pieces);
  return std::make_unique<VirtualTransfer>(servers_.cluster(), done_at, bytes_of(pieces));
}

Layout VirtualStorage::layout() {
  Layout layout;
  if (servers_.model().servers == 0) return layout;
  layout.stripe_bytes = servers_.model().stripe_bytes;
  layout.stripe_count = servers_.model().servers;
  return layout;
}

}  // namespace mercutio::scale
