#include "comm/local_segment.h"

#include <sys/mman.h>

namespace mercutio {

std::shared_ptr<std::byte> map_memory(i64 bytes) {
  const auto size = static_cast<size_t>(bytes);
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(at), [size](std::byte* memory) { ::munmap(memory, size); }};
}

std::vector<std::unique_ptr<Segment>> make_local_segments(Topology& topology) {
  struct NodeMemory {
    std::shared_ptr<std::byte> data;
    i64 bytes = 0;
  };
  if (topology.ranks() <= topology.nodes()) return {};
  std::vector<NodeMemory> nodes(static_cast<size_t>(topology.nodes()));
  for (const i64 node : topology.node_of_rank) nodes[static_cast<size_t>(node)].bytes += kSegmentBytesPerRank;
  for (NodeMemory& node : nodes) {
    node.data = map_memory(node.bytes);
    if (!node.data) return {};
  }
  std::vector<std::unique_ptr<Segment>> segments;
  for (const i64 node : topology.node_of_rank) segments.push_back(std::make_unique<LocalSegment>(nodes[static_cast<size_t>(node)].data));
  topology.segment_bytes = kSegmentBytesPerRank;
  return segments;
}

}  // namespace mercutio
