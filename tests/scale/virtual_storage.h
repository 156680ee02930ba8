// Files of a virtual cluster: no bytes, only what it takes to move them. Either every node has the file in its memory, or it lies in stripes
// on servers, which serve one request at a time, and each stripe has a lock that a node keeps until another one writes it.
#pragma once

#include <unordered_map>
#include <vector>

#include "storage/storage.h"
#include "virtual_cluster.h"

namespace mercutio::scale {

struct StorageModel {
  i64 servers = 0;                   // 0: in memory
  double memory_bytes_per_s = 5e9;   // at which a core copies between its memory and the page cache
  i64 call_ns = 400;                 // of a core, for a call
  double server_bytes_per_s = 1e9;
  i64 stripe_bytes = 1 * MiB;
  i64 round_trip_ns = 100'000;       // of a request to a server
  i64 request_ns = 20'000;           // of a server, for a request
  i64 revoke_ns = 500'000;           // of a server, where another node has written the stripe last
};

struct StorageCounts {
  i64 calls = 0, requests = 0, revocations = 0;
};

// The servers of a file, shared by the storages of all ranks.
class VirtualServers {
 public:
  VirtualServers(VirtualCluster& cluster, const StorageModel& model);
  // The rank that runs makes these requests. Returns when the last one is served; nothing waits.
  i64 serve(Direction direction, std::span<const IoPiece> pieces);
  const StorageModel& model() const { return model_; }
  const Traits& traits() const { return traits_; }
  VirtualCluster& cluster() { return cluster_; }
  const StorageCounts& counts() const { return counts_; }
  void clear_counts() { counts_ = StorageCounts{}; }

 private:
  VirtualCluster& cluster_;
  const StorageModel model_;
  Traits traits_;
  std::vector<i64> busy_until_;                // of each server
  std::unordered_map<i64, i64> lock_holders_;  // node, by stripe
  StorageCounts counts_;
};

class VirtualStorage final : public Storage {
 public:
  VirtualStorage(VirtualServers& servers, i64 file_bytes) : servers_(servers), file_bytes_(file_bytes) {}
  Result<i64> read(std::span<const IoPiece> pieces) override { return move(Direction::kRead, pieces); }
  Result<i64> write(std::span<const IoPiece> pieces) override { return move(Direction::kWrite, pieces); }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override;
  Result<i64> size() override { return file_bytes_; }
  i64 known_size() const override { return file_bytes_; }
  Status set_size(i64) override { return ok_status(); }
  Status preallocate(i64) override { return ok_status(); }
  Status sync() override { return ok_status(); }
  Status close() override { return ok_status(); }
  Result<std::unique_ptr<HeldLock>> lock(i64, i64, bool) override { return std::unique_ptr<HeldLock>(std::make_unique<NoLock>()); }
  const Traits& traits() const override { return servers_.traits(); }
  Layout layout() override;

 private:
  Result<i64> move(Direction direction, std::span<const IoPiece> pieces);
  VirtualServers& servers_;
  i64 file_bytes_;
};

}  // namespace mercutio::scale
