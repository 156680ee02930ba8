// Throttle: the aggregators of a server take turns, so that at most plan.throttle of their requests are under way there at
// a time (EARTH: Tsujita et al., "Improving collective MPI-IO using topology-aware stepwise data aggregation with I/O
// throttling", HPC Asia 2018). Inside engine/ only.
//
// The turns of a ring of aggregators are its windows by round, and inside a round by place in the ring: every member knows
// the whole sequence. Who is through with turn k tells the owner of turn k + plan.throttle, one message of a word; turns
// with nothing to do are passed on too. The data for a window is taken before its turn, so the exchange is bounded by
// plan.depth windows an aggregator; with a depth of 1 it goes step by step, a window's exchange after its predecessor's turn.
//
// It cannot deadlock: turns are ordered as windows are in the exchange, by round; the first one that is not over waits for
// nobody. O(throttle) a window.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/collectives.h"
#include "engine/messages.h"
#include "plan/plan.h"

namespace mercutio {

class Throttle {
 public:
  static constexpr i64 kTagBehind = 2;   // its messages' tag in the channel

  // Of the aggregator of `domain`.
  Throttle(const Channel& channel, const Plan& plan, i64 domain);

  // Whether window number `window` may go to the storage now. Asked in ascending order, every window, until it may.
  bool may_start(i64 window);
  // It has been there, or didn't have to.
  void finished(i64 window);
  // Nobody waits for a word of this aggregator.
  bool over() const { return sent_.done(); }
  const Status& status() const { return status_; }

 private:
  struct Turn {
    i64 window = 0;
    size_t place = 0;   // in ring_
  };
  struct Member {
    i64 domain = 0, windows = 0;
  };

  bool on() const { return limit_ > 0; }
  bool exists(const Turn& turn) const { return turn.window < ring_[turn.place].windows; }
  std::optional<Turn> after(Turn turn, i64 turns) const;
  std::optional<Turn> before(Turn turn, i64 turns) const;
  i64 rank_of(const Turn& turn) const { return plan_.aggregators[static_cast<size_t>(ring_[turn.place].domain)]; }
  bool predecessor_over(const Turn& turn);

  const Channel& channel_;
  const Plan& plan_;
  i64 limit_;
  std::vector<Member> ring_;
  size_t my_place_ = 0;
  i64 rounds_ = 0;              // of the member that has the most windows
  i64 started_ = 0;             // windows that were allowed to start
  std::set<i64> under_way_;     // and are not finished
  i64 word_ = 0, heard_ = 0;
  std::unique_ptr<Message> word_message_;
  mutable MessageSet sent_;             // after the word they carry
  Status status_ = ok_status();
};

}  // namespace mercutio
