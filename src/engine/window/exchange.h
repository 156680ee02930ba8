// The data movement of a two-phase access.
//
// Every rank copies its data once between its buffer and the windows in the shared memory of its node. If the aggregator of a
// domain is on this node, these are the aggregator's windows. Otherwise they are the windows of a node buffer
// (plan/node_buffers.h), whose leader exchanges them with the aggregator through a node stream. A rank that shares no memory is a
// node of its own: it has windows only as an aggregator, and one stream to each other aggregator (engine/window/rank_streams.cpp).
//
// A window uses one of plan.depth slots. Writing: ranks copy their bytes into the slot and publish `finished`. When all have, the
// leader writes the window or sends it to the aggregator, and publishes `completed`, which frees the slot. Reading: the leader
// fills the slot and publishes `completed`; ranks copy their bytes out of it and publish `finished`, which frees the slot. If a
// stream is involved, or the read is sparse, ranks first publish `requested`. The counters count windows, so a rank skips windows
// in which it has no data. A rank advances its own endpoints and all its domains in turn. It never blocks on one domain while
// another can progress.
//
// Why this cannot deadlock: take the unfinished window with the lowest number in any domain. All windows before it are finished, so
// its slot is free on all nodes. Every rank with bytes in it can copy them and finish it, the leaders can then send it, and the
// aggregator can receive and complete it. A leader may put the window into a parcel instead of sending it at once. That frees its
// slot, and the leader continues until the parcel is full or the domain ends, and then sends the parcel.
//
// Memory: `depth` windows with valid maps for each node buffer, plus one window for each that is in flight between nodes. Time
// besides the copies: three look-ups of O(depth log n) per window and rank.
#pragma once

#include "engine/agreement/collectives.h"
#include "engine/window/agreed.h"
#include "engine/window/window_endpoint.h"

namespace mercutio {

// Moves the data of all ranks. `arena`: of the node; with ExchangeKind::kMessages, the private arena of this rank.
Task<Outcome> exchange(const EngineFile& file, const Channel& channel, NodeArena& arena, const Agreed& agreed,
                       const RankAccess& mine);

}  // namespace mercutio
