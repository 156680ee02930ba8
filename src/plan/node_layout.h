// How the memory that the ranks of a node share is divided: control data of each of them; a result of a collective of all ranks; counters of
// every rank of the job, as a domain may be any one's; and an area a rank for the windows it keeps. What is left for windows shrinks with the
// ranks of the job.
#pragma once

#include "model/topology.h"

namespace mercutio {

struct NodeLayout {
  i64 result_at = 0, domains_at = 0, finished_at = 0, areas_at = 0;
  i64 area_bytes = 0;   // of a rank; below 0: the counters alone are too many
};
inline constexpr i64 kControlBytes = 1920;      // of a rank of the node
inline constexpr i64 kDomainCounterBytes = 64;    // of a domain
inline constexpr i64 kAreaCounterBytes = 4096;  // at the start of an area; then half for the valid map and half for data

// Address space of a rank that shares no memory and so is a node of its own; memory is spent where it is touched.
inline constexpr i64 kPrivateBytes = 36 * MiB;

inline constexpr i64 kResultHeaderBytes = 512;
// What a collective of all ranks may result in on each node.
constexpr i64 result_bytes(i64 ranks) { return 128 * KiB + 32 * ranks; }

// O(1).
NodeLayout node_layout(const Topology& topology, i64 members);
// Of a rank that is a node of its own; its area has kPrivateBytes.
NodeLayout private_layout(i64 ranks);
inline constexpr i64 kPrivateWindowRoom = (kPrivateBytes - kAreaCounterBytes) / 2;
// For the windows that any rank of any node keeps, at least; 0: none fit, or no memory is shared. O(ranks).
i64 window_room(const Topology& topology);

}  // namespace mercutio
