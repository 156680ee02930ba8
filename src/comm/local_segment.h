// A Segment in private memory of the process, for ranks that are threads or tasks of it, and for a rank that is alone on its node.
// Ranks sleep only briefly in backoff(), so wake-ups are not needed.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.h"

namespace mercutio {

// Zeroed memory; pages are allocated when they are touched. Null and errno if there is no address space.
std::shared_ptr<std::byte> map_memory(i64 bytes);

class LocalSegment final : public Segment {
 public:
  explicit LocalSegment(std::shared_ptr<std::byte> memory) : memory_(std::move(memory)) {}
  std::byte* data() override { return memory_.get(); }
  void wake(i64) override {}

 private:
  std::shared_ptr<std::byte> memory_;
};

// A Segment of segment_bytes for each rank of a topology. None if each node has one rank, or if there is no address space.
std::vector<std::unique_ptr<Segment>> make_local_segments(Topology& topology);

}  // namespace mercutio
