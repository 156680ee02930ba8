// Memory of this process as a Segment: for ranks that are threads or tasks of it, and for a rank that is alone on its node. Nobody sleeps long
// in backoff() there, so nobody has to be woken.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.h"

namespace mercutio {

// Zero at first; pages come when they are touched. Null: there is no address space (errno).
std::shared_ptr<std::byte> map_memory(i64 bytes);

class LocalSegment final : public Segment {
 public:
  LocalSegment(std::shared_ptr<std::byte> memory, i64 bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  std::byte* data() override { return memory_.get(); }
  i64 bytes() const override { return bytes_; }
  void wake(i64) override {}

 private:
  std::shared_ptr<std::byte> memory_;
  i64 bytes_;
};

// A Segment for each rank of a topology, and its segment_bytes; none where nodes have a rank each or there is no address space.
std::vector<std::unique_ptr<Segment>> make_local_segments(Topology& topology);

}  // namespace mercutio
