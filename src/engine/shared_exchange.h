// SharedExchange: the data movement of a two-phase access whose ranks all share memory. No messages: an aggregator's
// windows lie in its area of the NodeArena, and every rank copies between its buffer and the window itself, once.
//
// A window goes through one of plan.depth slots. Writing: ranks leave their bytes in the slot and say so (passed); when
// all have, the aggregator writes the window and says so (served), which frees the slot. Reading: the aggregator fills the
// slot (served), the ranks take what is theirs (passed), and when all have, the slot is free. Both words count windows, so
// a rank without data in a window just skips it. Every rank serves its own area and visits the others' in turn; it never
// blocks on one while another can go on.
//
// Why it cannot deadlock: take the unfinished window with the lowest number of any area. Its slot is free, as all windows
// before it are finished, so every rank that has bytes in it can pass it, and then the aggregator can serve it.
//
// Which bytes were left is kept as one mark for each unit of a window, the unit being the largest power of two that
// divides where any piece begins or ends: marking is a plain store, also where several ranks fill one window. Memory: of
// each area depth windows and their marks. Time beyond the copies: two O(depth log n) look-ups a window and rank.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "engine/peer_views.h"
#include "plan/order.h"

namespace mercutio {

class SharedExchange {
 public:
  // `mine`: this rank's access. `unit_bytes`: agreed. `memory_begin`: the stream position of the first byte of `memory`.
  SharedExchange(const EngineFile& file, const TurnRef& turn, const Plan& plan, Direction direction, i64 unit_bytes);
  void set_access(const PeerAccess& mine, const Memory& memory, i64 memory_begin);

  // Does whatever can be done now. True when this rank's part is over.
  bool advance();

  const Status& storage_status() const { return storage_status_; }
  // Lowest file offset found to be beyond the end of the file by this rank as an aggregator; INT64_MAX: none.
  i64 end_of_file() const { return end_of_file_; }

 private:
  // This rank's way through the windows of one domain.
  struct Route {
    i64 window = 0;              // next one with bytes of this rank, or the number of windows
    i64 begin = 0, end = 0;      // stream range in it
  };
  struct Slot {
    std::byte* data = nullptr;
    std::byte* marks = nullptr;  // one a unit; all zero between windows
    std::atomic_ref<i64> filled;   // bytes left in it, counted by those who left them
  };

  Slot slot(i64 domain, i64 window) const;
  i64 unit_of(FileRange window) const;
  i64 window_beyond(i64 domain, i64 from, i64 offset) const;
  void find_next(i64 domain, i64 from);
  bool visit(i64 domain);
  void move(i64 domain, const Route& route);
  i64 passed_by_all() const;
  bool serve();
  void write_slot(FileRange window, const Slot& slot);
  void read_slot(FileRange window, const Slot& slot);
  i64 area_of(i64 domain) const { return plan_.aggregators[static_cast<size_t>(domain)]; }

  const EngineFile& file_;
  TurnRef turn_;
  NodeArena& arena_;
  const Plan& plan_;
  const StepOrder order_;
  bool writing_;
  i64 unit_bytes_;
  i64 me_;
  PeerAccess mine_;
  const Memory* memory_ = nullptr;
  i64 memory_begin_ = 0;
  std::vector<Route> routes_;    // by domain
  i64 domain_ = -1;              // own, -1: not an aggregator
  i64 served_ = 0;               // windows of it
  bool over_ = false;
  Status storage_status_ = ok_status();
  i64 end_of_file_ = INT64_MAX;
};

}  // namespace mercutio
