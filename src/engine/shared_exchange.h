// SharedExchange: the data movement of a two-phase access through the memory that the ranks of a node share. Every rank
// copies once between its buffer and the windows of all domains: directly into the windows of aggregators on its node,
// and into the node buffers of the others (plan/node_buffers.h). Each node buffer has a stream between nodes.
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
// it, and the aggregator can receive and complete it.
//
// Memory: depth windows with valid maps for each node buffer, and one window for each that is in flight between nodes.
// Time beyond the copies: two O(depth log n) look-ups a window and rank.
#pragma once

#include <vector>

#include "engine/peer_views.h"
#include "engine/window_endpoint.h"
#include "engine/window_parts.h"
#include "plan/schedule.h"

namespace mercutio {

// What all ranks know of each other's accesses: the range of each, and the borders of pieces.
struct AgreedPieces {
  std::span<const PeerAccess> ranges;   // by rank
  PieceBorders borders;
  bool dense = false;                 // writing: no window has a hole, so no rank sets a valid map
};

class SharedExchange {
 public:
  SharedExchange(const EngineFile& file, Channel channel, const Plan& plan, Direction direction, AgreedPieces pieces);
  // `mine`: the access of this rank. `memory_begin`: the stream position of the first byte of `memory`.
  void set_access(const PeerAccess& mine, const Memory& memory, i64 memory_begin);

  // Makes progress without blocking. True when this rank has finished its part, or can't.
  bool advance();

  const Outcome& outcome() const { return outcome_; }

 private:
  void make_endpoints(std::span<const PeerAccess> ranges);
  bool has_data(std::span<const PeerAccess> ranges, i64 domain, i64 rank) const;
  void finish_up_to(i64 domain, i64 from);
  void request_from(i64 domain, i64 from);
  bool request(i64 domain);
  bool visit(i64 domain);
  Cursor in_slot(i64 domain, const WindowPart& route) const;
  void set_valid_map(i64 domain, const WindowPart& route);
  void move(i64 domain, const WindowPart& route);
  bool advance_endpoints();

  const EngineFile& file_;
  Channel channel_;
  const Plan& plan_;
  const ExchangeSchedule schedule_;
  bool writing_, dense_;
  i64 me_;
  PeerAccess mine_;
  const Memory* memory_ = nullptr;
  i64 memory_begin_ = 0;
  std::vector<WindowBuffer> buffers_;     // by domain
  std::vector<WindowPart> routes_, requests_;   // by domain: the next part with bytes of this rank
  Outcome outcome_;
  std::vector<std::unique_ptr<WindowEndpoint>> endpoints_;
  bool over_ = false;
};

}  // namespace mercutio
