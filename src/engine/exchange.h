// Exchange: the data movement of a two-phase access. Every rank copies once between its buffer and the windows of all domains that its
// node has in memory: directly into the windows of aggregators on its node, and into the node buffers of the others
// (plan/node_buffers.h). Each node buffer has a stream between nodes. A rank that shares no memory is a node of its own: it has windows
// only as an aggregator, and streams of its own to the others (engine/rank_streams.cpp).
//
// A window uses one of plan.depth slots. Writing: ranks copy their bytes into the slot and publish `finished`. When all
// have, the leader writes the window, or sends it to the aggregator, and publishes `completed`, which frees the slot.
// Reading: the leader fills the slot and publishes `completed`, ranks copy their bytes and publish `finished`, which
// frees the slot; through a stream they first publish `requested`. Counters count windows, so a rank skips a window
// without data. A rank advances its own endpoints and visits all domains; it never blocks on one while another can
// progress.
//
// Why it cannot deadlock: take the unfinished window with the lowest number of any domain. Its slots are free on all
// nodes, as all windows before it are finished. So every rank with bytes in it can finish it, then the leaders can send
// it, and the aggregator can receive and complete it. A leader may keep it in a parcel: then its slot is free, and so are those of all
// windows that the parcel takes, until the parcel is full or the domain is at its end, and the parcel is sent.
//
// Memory: depth windows with valid maps for each node buffer, and one window for each that is in flight between nodes.
// Time beyond the copies: two O(depth log n) look-ups a window and rank.
#pragma once

#include <vector>

#include "engine/window_endpoint.h"
#include "engine/window_parts.h"

namespace mercutio {

// What all ranks know of an access: its plan, where its data lies, and the borders of pieces.
struct AgreedAccess {
  const Plan& plan;
  std::span<const FileRange> ranges;    // of the data of each node; of each rank where no memory is shared
  PieceBorders borders;
  bool dense = false;                 // writing: no window has a hole, so no rank sets a valid map
};

class Exchange {
 public:
  // `arena`: the node's, or where ranks are nodes of their own (ExchangeKind::kMessages), this rank's.
  Exchange(const EngineFile& file, const Channel& channel, NodeArena& arena, const AgreedAccess& agreed, const RankAccess& mine);

  // Makes progress without blocking. True when this rank has finished its part, or can't.
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
  std::vector<i64> visited_;              // domains with windows on this node, in the order in which this rank turns to them
  std::vector<WindowPart> routes_, requests_;   // by domain: the next one with bytes of this rank
  Outcome outcome_;
  std::vector<std::unique_ptr<WindowEndpoint>> endpoints_;
  std::vector<WindowEndpoint*> led_;      // by domain: the one of its window buffer, if this rank leads that
  i64 streams_ = 0;                       // of the endpoints in led_
  i64 copied_ = 0;                        // bytes since all endpoints were advanced
  bool over_ = false;
};

}  // namespace mercutio
