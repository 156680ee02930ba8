// Segment over node memory, with a doorbell for each rank of the node: a futex on which the rank sleeps in backoff(). Other ranks
// ring it after writing something that the rank may wait for.
#pragma once

#include "comm/comm.h"
#include "mpi/node_memory.h"

namespace mercutio {

class MpiSegment final : public Segment {
 public:
  MpiSegment(std::shared_ptr<NodeMemory> memory, i64 ranks);
  static i64 doorbell_bytes(i64 ranks) { return (ranks * kDoorbellBytes + 4095) / 4096 * 4096; }

  std::byte* data() override { return memory_->data() + doorbell_bytes(ranks_); }
  void wake(i64 rank) override;
  void expect_wake() override;
  bool core_each() const override { return ranks_per_core_ == 1; }
  i64 ranks_per_core() const { return ranks_per_core_; }   // rounded up
  bool take_expected();   // whether this thread has called expect_wake() since it last called this function
  std::uint32_t rings(i64 rank) const;   // number of rings so far
  // Returns when the doorbell has rung more than `seen` times, or after `longest_ns`.
  void sleep(i64 rank, std::uint32_t seen, i64 longest_ns);

 private:
  static constexpr i64 kDoorbellBytes = 64;
  std::uint32_t* doorbell(i64 rank) const { return reinterpret_cast<std::uint32_t*>(memory_->data() + rank * kDoorbellBytes); }
  std::shared_ptr<NodeMemory> memory_;
  const i64 ranks_;
  const i64 ranks_per_core_;
};

}  // namespace mercutio
