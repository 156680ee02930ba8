// SharedExchange: the data movement of a two-phase access through the memory that the ranks of a node share. Every rank
// copies between its buffer and the windows itself, once: those of the aggregators of its node, and those that stand in,
// on its node, for aggregators elsewhere (plan/node_buffers.h). Between nodes, one stream for each such node buffer.
//
// A window goes through one of plan.depth slots. Writing: ranks leave their bytes in the slot and say so (finished); when
// all have, the leader writes the window, or sends it to the aggregator, and says so (completed), which frees the slot.
// Reading: the leader fills the slot (completed), the ranks take what is theirs (finished), and when all have, the slot is free;
// where the aggregator is elsewhere they first say what they need (requested). The counters count windows, so a rank without data
// in a window just skips it. Every rank serves its own node buffers and visits all in turn; it never blocks on one while
// another can go on.
//
// Why it cannot deadlock: take the unfinished window with the lowest number of any domain. Its slots are free on all nodes,
// as all windows before it are finished, so every rank that has bytes in it can finish it, then the leaders can send, the
// aggregator can receive, and then complete it.
//
// Memory: of each node buffer depth windows and their valid maps, and a window for each one under way between nodes. Time beyond
// the copies: two O(depth log n) look-ups a window and rank.
#pragma once

#include <vector>

#include "engine/peer_views.h"
#include "engine/window_endpoint.h"
#include "engine/window_parts.h"
#include "plan/schedule.h"

namespace mercutio {

// What all ranks know of each other's accesses: whether each has data and where, and where pieces begin and end.
struct AgreedPieces {
  std::span<const PeerAccess> ranges;   // by rank
  PieceBorders borders;
  bool dense = false;                 // writing: no window has a hole, so nobody sets the valid map
};

class SharedExchange {
 public:
  SharedExchange(const EngineFile& file, Channel channel, const Plan& plan, Direction direction, AgreedPieces pieces);
  // `mine`: this rank's access. `memory_begin`: the stream position of the first byte of `memory`.
  void set_access(const PeerAccess& mine, const Memory& memory, i64 memory_begin);

  // Does whatever can be done now. True when this rank's part is over, for better or worse.
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
  std::vector<WindowPart> routes_, requests_;   // by domain: the next one with bytes of this rank
  Outcome outcome_;
  std::vector<std::unique_ptr<WindowEndpoint>> endpoints_;
  bool over_ = false;
};

}  // namespace mercutio
