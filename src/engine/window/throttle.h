// Throttle: at most plan.throttle windows of the aggregators that share a server access the storage at a time (EARTH: Tsujita et
// al., "Improving collective MPI-IO using topology-aware stepwise data aggregation with I/O throttling", HPC Asia 2018). Inside
// engine/ only.
//
// The aggregators that share a limit form a token ring. The keeper, the first of them that has windows, owns the tokens and grants
// them in the order of the requests. A window takes a token before it accesses the storage and returns it afterwards, in up to
// three messages of eight bytes. A window without data takes no token and costs nothing.
//
// It cannot deadlock: an aggregator with a token uses it at once, for a storage call that waits for no message, or returns it. The
// keeper answers until every member has left the ring. The keeper uses O(members) memory.
#pragma once

#include <deque>
#include <vector>

#include "engine/agreement/collectives.h"
#include "engine/agreement/messages.h"
#include "plan/plan.h"

namespace mercutio {

class Throttle {
 public:
  static constexpr i64 kTagBehind = 2;   // the offset of its tag in the channel

  // For the aggregator of `domain`.
  Throttle(const Channel& channel, const Plan& plan, i64 domain);

  // Whether one more window may access the storage now. If true, the caller starts the window and later calls return_token(). If
  // false, the caller asks again or withdraws.
  bool may_start();
  // No window waits for a token. Allowed whether or not a token has been requested.
  void withdraw();
  // The window has accessed the storage.
  void return_token();
  // This aggregator starts no more windows. Returns true when no member needs it any more. Idempotent.
  bool leave();
  // Makes progress without blocking. Call it whenever the aggregator makes progress.
  void advance();
  const Status& status() const { return status_; }

 private:
  enum class State { kIdle, kAsked, kGranted };   // of this aggregator's only request
  // The messages to the keeper, and its grant, kAsk; they outlive the sends.
  static constexpr i64 kAsk = 1, kReturn = 2, kLeave = 3;
  // The keeper's state of one member, with its messages.
  struct Member {
    i64 rank = 0;
    Incoming<i64> word{};
    bool left = false;
  };

  bool on() const { return limit_ > 0; }
  bool keeps() const { return keeper_ == me_; }
  void tell(i64 rank, const i64& word);
  void say(const i64& word) { keeps() ? take(word, me_) : tell(keeper_, word); }   // to the keeper
  void take(i64 word, i64 rank);    // on the keeper
  void grant();                     // on the keeper
  void granted();                   // on this aggregator
  bool arrived(Incoming<i64>& word, i64 from);

  const Channel& channel_;
  i64 limit_, me_, keeper_ = 0;
  State state_ = State::kIdle;
  bool wants_token_ = false;           // a window still waits for the requested token
  bool left_ = false;
  std::vector<Member> members_;   // on the keeper: the other members that have windows
  std::deque<i64> waiting_;       // on the keeper: ranks that have requested a token, in order
  i64 tokens_;                   // on the keeper: free tokens
  Incoming<i64> grant_;
  MessageSet sent_;
  Status status_ = ok_status();
};

}  // namespace mercutio
