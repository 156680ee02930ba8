#include "engine/throttle.h"

#include <algorithm>

namespace mercutio {

Throttle::Throttle(const Channel& channel, const Plan& plan, i64 domain)
    : channel_(channel), plan_(plan), limit_(domain >= 0 ? plan.throttle : 0) {
  if (!on()) return;
  for (i64 other = domain % plan.rings; other < plan.domains(); other += plan.rings) {
    if (other == domain) my_place_ = ring_.size();
    ring_.push_back(Member{other, plan.windows(other)});
    rounds_ = std::max(rounds_, ring_.back().windows);
  }
}

std::optional<Throttle::Turn> Throttle::after(Turn turn, i64 turns) const {
  while (turns > 0) {
    if (++turn.place == ring_.size()) turn = Turn{turn.window + 1, 0};
    if (turn.window >= rounds_) return std::nullopt;
    if (exists(turn)) --turns;
  }
  return turn;
}

std::optional<Throttle::Turn> Throttle::before(Turn turn, i64 turns) const {
  while (turns > 0) {
    if (turn.place == 0 && turn.window == 0) return std::nullopt;
    turn = turn.place == 0 ? Turn{turn.window - 1, ring_.size() - 1} : Turn{turn.window, turn.place - 1};
    if (exists(turn)) --turns;
  }
  return turn;
}

bool Throttle::predecessor_over(const Turn& turn) {
  if (turn.place == my_place_) return under_way_.count(turn.window) == 0;
  if (!word_message_) {
    auto started = channel_.receive(rank_of(turn), bytes_of(std::span(&heard_, 1)), kTagBehind);
    if (!started) status_ = std::move(started).error();
    if (!status_) return false;
    word_message_ = std::move(*started);
  }
  auto done = word_message_->test();
  if (!done) status_ = std::move(done).error();
  if (!done || !*done) return false;
  word_message_.reset();
  return true;
}

bool Throttle::may_start(i64 window) {
  if (!on() || window < started_) return true;
  if (!status_) return false;
  const auto predecessor = before(Turn{window, my_place_}, limit_);
  if (predecessor && !predecessor_over(*predecessor)) return false;
  started_ = window + 1;
  under_way_.insert(window);
  return true;
}

void Throttle::finished(i64 window) {
  if (!on()) return;
  under_way_.erase(window);
  const auto next = after(Turn{window, my_place_}, limit_);
  if (next && next->place != my_place_) sent_.add(channel_.send(rank_of(*next), const_bytes_of(std::span(&word_, 1)), kTagBehind));
}

}  // namespace mercutio
