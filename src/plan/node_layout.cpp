#include "plan/node_layout.h"

#include <algorithm>

namespace mercutio {
namespace {

constexpr i64 kPageBytes = 4096;
i64 whole_pages(i64 bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

NodeLayout counters_layout(i64 ranks, i64 members) {
  NodeLayout layout;
  layout.controls_at = members * kGatherLineBytes;
  layout.result_at = whole_pages(layout.controls_at + members * kControlBytes);
  layout.domains_at = layout.result_at + whole_pages(kResultHeaderBytes + result_bytes(ranks));
  layout.finished_at = layout.domains_at + whole_pages(ranks * kDomainCounterBytes);
  layout.areas_at = layout.finished_at + whole_pages(2 * ranks * members * static_cast<i64>(sizeof(i64)));
  return layout;
}

}  // namespace

NodeLayout private_layout(i64 ranks) {
  NodeLayout layout = counters_layout(ranks, 1);
  layout.area_bytes = kPrivateBytes;
  return layout;
}

NodeLayout node_layout(const Topology& topology, i64 members) {
  NodeLayout layout = counters_layout(topology.ranks(), members);
  layout.area_bytes = (members * topology.segment_bytes - layout.areas_at) / members / kPageBytes * kPageBytes;
  return layout;
}

i64 window_room(const Topology& topology) {
  if (topology.segment_bytes <= 0) return 0;
  std::vector<i64> members(static_cast<size_t>(topology.nodes()), 0);
  for (const i64 node : topology.node_of_rank) ++members[static_cast<size_t>(node)];
  i64 least = topology.segment_bytes;
  for (const i64 count : members) {
    if (count > 0) least = std::min(least, (node_layout(topology, count).area_bytes - kAreaCounterBytes) / 2);
  }
  return std::max<i64>(least, 0);
}

}  // namespace mercutio
