// Throttle: limits how many windows the aggregators of a server have at the storage at a time to plan.throttle
// (EARTH: Tsujita et al., "Improving collective MPI-IO using topology-aware stepwise data aggregation with I/O throttling",
// HPC Asia 2018). Inside engine/ only.
//
// The aggregators that share the limit are a token ring. The first of them with windows keeps the ring's tokens and grants them
// in the order in which they are asked for. A window that goes to the storage takes a token and returns it afterwards:
// up to three messages of a word. A window without data takes none and costs nothing, however many there are.
//
// It cannot deadlock: whoever has a token uses it at once, for a storage call that waits for no message, or returns it.
// The keeper answers until every member has said that it will not ask again. O(members) memory at the keeper.
#pragma once

#include <deque>
#include <memory>
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

  // Whether one more window may go to the storage now. Who is told that it may starts the window, and calls return_token()
  // afterwards; who is not either asks again or withdraws.
  bool may_start();
  // No window waits for a token, whether or not one has been asked for.
  void withdraw();
  // A window that was started has been at the storage.
  void return_token();
  // This aggregator starts no more windows. True when nobody needs it any more. Idempotent.
  bool leave();
  // Does what can be done now. To be called whenever the aggregator makes progress.
  void advance();
  const Status& status() const { return status_; }

 private:
  enum class State { kIdle, kAsked, kGranted };   // of this aggregator's one request
  enum Word : i64 { kAsk = 1, kReturn, kLeave };
  // The keeper's end of one member: where its words arrive.
  struct Member {
    i64 rank = 0;
    i64 word = 0;
    std::unique_ptr<Message> message;
    bool left = false;
  };

  bool on() const { return limit_ > 0; }
  bool keeps() const { return keeper_ == me_; }
  void tell(i64 rank, const i64& word);
  void take(Word word, i64 rank);   // keeper
  void grant();                     // keeper
  void granted();                   // to this aggregator
  bool arrived(std::unique_ptr<Message>& message, i64 from, i64& word);

  const Channel& channel_;
  i64 limit_, me_, keeper_ = 0;
  State state_ = State::kIdle;
  bool wants_token_ = false;           // the token that was asked for
  bool left_ = false;
  std::vector<Member> members_;   // the keeper's: all others of the ring that have windows
  std::deque<i64> waiting_;       // the keeper's: ranks that asked, in order
  i64 tokens_;                   // the keeper's: not granted
  i64 grant_word_ = 0;
  std::unique_ptr<Message> grant_message_;
  MessageSet sent_;
  Status status_ = ok_status();
};

}  // namespace mercutio
