// The layout of the memory that the ranks of a node share: lines for gathers, and control data, of each rank of the node; the result
// of a collective of all ranks; counters of every rank of the job, as any rank may own a domain; and one area per rank of the node
// for the windows that it keeps. The space for windows shrinks with the number of ranks of the job.
#pragma once

#include "model/topology.h"

namespace mercutio {

struct NodeLayout {
  i64 controls_at = 0, result_at = 0, domains_at = 0, finished_at = 0, areas_at = 0;
  i64 area_bytes = 0;   // per rank; below 0: the counters alone need more than there is
};
inline constexpr i64 kGatherLineBytes = 128, kControlBytes = 1984;   // per rank of the node
inline constexpr i64 kDomainCounterBytes = 64;    // per domain
inline constexpr i64 kAreaCounterBytes = 4096;  // at the start of an area; half of the rest is the valid map, half is data

// Address space of a rank that shares no memory, and so is a node of its own. Pages are allocated when they are touched.
inline constexpr i64 kPrivateBytes = 36 * MiB;

inline constexpr i64 kResultHeaderBytes = 512;
// The maximum size of the result of a collective on each node.
constexpr i64 result_bytes(i64 ranks) { return 128 * KiB + 32 * ranks; }

// O(1).
NodeLayout node_layout(const Topology& topology, i64 members);
// For a rank that is a node of its own; its area has kPrivateBytes.
NodeLayout private_layout(i64 ranks);
inline constexpr i64 kPrivateWindowRoom = (kPrivateBytes - kAreaCounterBytes) / 2;
// The minimum over all nodes of the bytes for the windows of one rank; 0: none fit, or no memory is shared. O(ranks).
i64 window_room(const Topology& topology);

}  // namespace mercutio
