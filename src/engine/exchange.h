// Exchange: the data movement of a two-phase access.
//
// Every rank copies its data once between its buffer and the windows in the shared memory of its node. If the aggregator of a
// domain is on this node, these are the aggregator's windows. Otherwise they are the windows of a node buffer
// (plan/node_buffers.h), whose leader exchanges them with the aggregator through a node stream. A rank that shares no memory is a
// node of its own: it has windows only as an aggregator, and one stream to each other aggregator (engine/rank_streams.cpp).
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
// besides the copies: two look-ups of O(depth log n) per window and rank.
#pragma once

#include <vector>

#include "engine/window_endpoint.h"
#include "engine/window_parts.h"

namespace mercutio {

// What all ranks know of an access: the plan, the ranges of the data, and the borders of pieces.
struct AgreedAccess {
  const Plan& plan;
  std::span<const FileRange> ranges;    // of the data of each node; of each rank if no memory is shared
  PieceBorders borders;
  bool dense = false;                 // writing: no window has a hole, so no rank sets a valid map
};

class Exchange {
 public:
  // `arena`: of the node; with ExchangeKind::kMessages, the private arena of this rank.
  Exchange(const EngineFile& file, const Channel& channel, NodeArena& arena, const AgreedAccess& agreed, const RankAccess& mine);

  // Makes progress without blocking. Returns true when this rank has finished its part or an error prevents it.
  bool advance();

  const Outcome& outcome() const { return outcome_; }

 private:
  void make_endpoints();
  void add_endpoint(i64 domain, std::unique_ptr<WindowEndpoint> endpoint, i64 streams);
  std::vector<i64> leaders_of(i64 domain) const;
  void begin();
  bool may_have_data(i64 domain, i64 rank) const;
  void finish_up_to(i64 domain, i64 from);
  void request_from(i64 domain, i64 from);
  bool request(i64 domain);
  bool visit(i64 domain);
  Cursor in_slot(i64 domain, const WindowPart& route) const;
  void set_valid_map(i64 domain, const WindowPart& route);
  void move(i64 domain, const WindowPart& route);
  bool advance_endpoints();

  const EngineFile& file_;
  const Channel& channel_;
  NodeArena& arena_;
  const Plan& plan_;
  const std::span<const FileRange> ranges_;
  const RankAccess mine_;
  bool writing_, dense_, apart_;          // apart: every rank is a node of its own
  i64 me_;
  std::vector<WindowBuffer> buffers_;     // by domain
  std::vector<i64> visited_;              // domains with windows on this node, in the order in which this rank visits them
  std::vector<WindowPart> routes_, requests_;   // by domain: the next window with bytes of this rank
  Outcome outcome_;
  std::vector<std::unique_ptr<WindowEndpoint>> endpoints_;
  std::vector<WindowEndpoint*> led_;      // by domain: the endpoint of its window buffer if this rank is the leader, else null
  i64 streams_ = 0;                       // number of streams of the endpoints in led_
  i64 copied_ = 0;                        // bytes copied since all endpoints were last advanced
  bool over_ = false;
};

}  // namespace mercutio
