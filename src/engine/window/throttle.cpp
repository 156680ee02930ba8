#include "engine/window/throttle.h"

#include <algorithm>

#include "base/assert.h"

namespace mercutio {
Throttle::Throttle(const Channel& channel, const Plan& plan, i64 domain)
    : channel_(channel),
      limit_(plan.windows(domain) > 0 ? plan.throttle : 0),
      me_(channel.comm->rank()),
      tokens_(limit_) {
  if (!on()) return;
  std::vector<i64> ring;   // ranks
  for (i64 other = domain % plan.token_rings; other < plan.domains(); other += plan.token_rings) {
    if (plan.windows(other) > 0) ring.push_back(plan.aggregators[static_cast<size_t>(other)]);
  }
  keeper_ = ring.front();
  if (!keeps()) return;
  for (size_t i = 1; i < ring.size(); ++i) members_.push_back(Member{ring[i]});
}

void Throttle::tell(i64 rank, const i64& word) {
  sent_.add(channel_.send(rank, const_bytes_of(std::span(&word, 1)), kTagBehind));
}

// Receives the next message of a rank. False: it has not arrived, or the receive failed.
bool Throttle::arrived(Incoming<i64>& word, i64 from) {
  if (!status_) return false;
  auto come = word.next(channel_, from, kTagBehind);
  if (!come) status_ = std::move(come).error();
  return status_.ok() && *come;
}

void Throttle::granted() {
  state_ = State::kGranted;
  if (!wants_token_) withdraw();
}

void Throttle::grant() {
  while (tokens_ > 0 && !waiting_.empty()) {
    const i64 rank = waiting_.front();
    waiting_.pop_front();
    --tokens_;
    if (rank == me_) granted();
    if (rank != me_) tell(rank, kAsk);
  }
}

void Throttle::take(i64 word, i64 rank) {
  if (word == kAsk) waiting_.push_back(rank);
  if (word == kReturn) ++tokens_;
  MERCUTIO_ASSERT(tokens_ >= 0 && tokens_ <= limit_);
  grant();
}

void Throttle::advance() {
  for (Member& member : members_) {
    while (!member.left && arrived(member.word, member.rank)) {
      member.left = member.word.value == kLeave;
      take(member.word.value, member.rank);
    }
  }
  if (!keeps() && state_ == State::kAsked && arrived(grant_, keeper_)) granted();
  (void)sent_.arrived(status_);
}

bool Throttle::may_start() {
  if (!on()) return true;
  wants_token_ = true;
  if (state_ == State::kIdle) {
    state_ = State::kAsked;
    say(kAsk);
  }
  if (state_ == State::kAsked) advance();
  if (state_ != State::kGranted) return false;
  state_ = State::kIdle;
  return true;
}

void Throttle::withdraw() {
  wants_token_ = false;
  if (state_ != State::kGranted) return;
  state_ = State::kIdle;
  return_token();
}

void Throttle::return_token() {
  if (!on()) return;
  MERCUTIO_ASSERT(!left_);
  say(kReturn);
}

bool Throttle::leave() {
  if (!on()) return true;
  withdraw();
  advance();
  if (state_ != State::kIdle) return false;   // a requested token must be returned first
  if (!std::exchange(left_, true) && !keeps()) tell(keeper_, kLeave);
  const bool alone = std::all_of(members_.begin(), members_.end(), [](const Member& member) { return member.left; });
  return alone && sent_.done();
}

}  // namespace mercutio
