#include "plan/adapter.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "base/phases.h"
#include "base/yielding.h"

namespace mercutio {
namespace {

constexpr i64 kLongestNs = 10'000'000'000'000;
constexpr i64 kCostScale = 65536;            // of nanoseconds a byte

i64 class_of(i64 value) { return std::bit_width(static_cast<std::uint64_t>(std::max<i64>(0, value))); }

i64 cost_of(i64 ns, i64 bytes) {
  return std::max<i64>(1, static_cast<i64>(static_cast<double>(ns) * kCostScale / static_cast<double>(std::max<i64>(1, bytes))));
}

std::string milliseconds(i64 ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", static_cast<double>(ns) / 1e6);
  return text;
}

}  // namespace

Adapter::Key Adapter::key_of(const PlanQuestion& question) {
  const Pattern& p = question.pattern;
  return {p.direction, class_of(p.bytes), p.participants, p.contiguous, p.disjoint ? 1 : 0, class_of(p.run_bytes), class_of(p.gap_bytes()), p.direction == Direction::kRead && question.layout.cached ? 1 : 0};
}

bool Adapter::searches(Direction direction) const {
  return !ended_ && std::any_of(known_.begin(), known_.end(), [&](const Known& known) { return known.key.direction == direction && known.searches(); });
}

i64 Adapter::find(const PlanQuestion& question) {
  const Key key = key_of(question);
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.key == key; });
  if (found != known_.end()) return found - known_.begin();
  if (known_.size() == kMostPatterns) return -1;
  known_.push_back(Known{key, question.hints, question.hints, {}});
  return std::ssize(known_) - 1;
}

void Adapter::make_ways(Known& known, const PlanQuestion& question, const FixedHints& fixed) {
  std::vector<Trials::Expected> expected;
  known.ways = ways_of(question, fixed);
  for (const Way& way : known.ways) expected.push_back({way.expected, way.expected_ns > 0 ? cost_of(way.expected_ns, question.pattern.bytes) : 0});
  known.trials = Trials(expected);
  if (!known.trials.decided()) known.trials.saw(known.first_cost);
}

const Hints& Adapter::hints_for(const PlanQuestion& question, const FixedHints& fixed, i64 hints_edition) {
  current_ = -1;
  if (ended_) return question.hints;
  if (edition_ != hints_edition) known_.clear();
  edition_ = hints_edition;
  const i64 place = find(question);
  if (place < 0) return question.hints;
  Known& known = known_[static_cast<size_t>(place)];
  if (known.asked != question.hints) return question.hints;   // an access whose view is out of order has other ones
  if (known.ways.empty() && known.first_cost > 0) make_ways(known, question, fixed);
  if (!known.searches()) return question.hints;
  known.bytes = question.pattern.bytes;
  current_ = place;
  const size_t way = known.trials.way();
  if (way == 0) return question.hints;
  if (known.applied != way) {
    known.hints = known.asked;
    known.ways[way].apply(known.hints);
    known.applied = way;
  }
  return known.hints;
}

bool Adapter::leaves_default() const { return current_ >= 0 && known_[static_cast<size_t>(current_)].trials.way() != 0; }

bool Adapter::tries() const {
  if (current_ < 0) return false;
  const Trials& trials = known_[static_cast<size_t>(current_)].trials;
  return trials.way() != trials.best();
}

void Adapter::start(bool one_clock) {
  one_clock_ = one_clock;
  start_ns_ = now_ns();
  yields_were_slow_ = yielding.were_slow();
}

void Adapter::stop(std::span<i64, 2> times) const {
  times[0] = one_clock_ ? start_ns_ : 0;
  times[1] = (one_clock_ ? 0 : start_ns_) - now_ns();
}

void Adapter::saw(std::span<const i64, 2> lowest) {
  if (tries() && !yields_were_slow_) yielding.forget();
  saw(-lowest[1] - lowest[0]);
}

void Adapter::saw(i64 elapsed_ns) {
  if (current_ < 0) return;
  Known& known = known_[static_cast<size_t>(current_)];
  current_ = -1;
  elapsed_ns = std::clamp<i64>(elapsed_ns, 1, kLongestNs);
  known.elapsed_ns += elapsed_ns;
  if (known.ways.empty()) {
    known.first_cost = cost_of(elapsed_ns, known.bytes);
    return;
  }
  const bool first = known.trials.calls() > 0 && known.trials.tried() == 0;
  if (first && elapsed_ns < worth_ns_ && !known.trials.decided()) return known.trials.give_up();
  known.trials.saw(cost_of(elapsed_ns, known.bytes));
}

void Adapter::end() {
  ended_ = true;
  current_ = -1;
}

std::string Adapter::text() const {
  if (current_ < 0) return "";
  const Known& known = known_[static_cast<size_t>(current_)];
  if (known.ways.empty()) return "the default is measured for mercutio_adapt";
  const std::string hints = known.ways[known.trials.way()].text();
  if (known.trials.decided()) return known.trials.way() == 0 ? "the default is measured again" : "found by mercutio_adapt: " + hints;
  if (known.trials.way() == 0) return "the default is measured for mercutio_adapt";
  return "trial of mercutio_adapt, way " + std::to_string(known.trials.way()) + " of " + std::to_string(known.ways.size() - 1) + ": " + hints;
}

std::vector<Adapter::Found> Adapter::found() const {
  std::vector<Found> all;
  for (const Known& known : known_) {
    const Trials& trials = known.trials;
    if (trials.tried() == 0) continue;
    const auto time_of = [&](size_t way) { return static_cast<double>(trials.median_of(way)) / kCostScale * static_cast<double>(known.bytes); };
    Found one;
    one.direction = known.key.direction;
    one.bytes = known.bytes;
    one.state = ended_ ? Found::State::kEnded : trials.decided() ? Found::State::kDecided : Found::State::kUndecided;
    if (trials.best() != 0) one.way = known.ways[trials.best()].text();
    one.gain_percent = trials.gain_percent();
    one.ns = static_cast<i64>(time_of(trials.best()));
    one.default_ns = static_cast<i64>(time_of(0));
    one.calls = trials.calls();
    one.tried = trials.tried();
    one.spent_ns = static_cast<i64>(time_of(0) * static_cast<double>(trials.spent_percent()) / 100);
    all.push_back(std::move(one));
  }
  return all;
}

std::string Adapter::report() const {
  std::string all;
  for (const Found& one : found()) {
    all += std::string("mercutio_adapt, collective ") + (one.direction == Direction::kRead ? "reads" : "writes") + " of " + std::to_string(one.bytes) + " bytes: ";
    if (one.state == Found::State::kEnded) {
      all += "ended by an access that failed";
    } else if (one.state == Found::State::kUndecided) {
      all += "not decided after " + std::to_string(one.calls) + " accesses";
    } else if (one.way.empty()) {
      all += "the default is kept, " + milliseconds(one.default_ns) + " (median)";
    } else {
      char factor[32];
      std::snprintf(factor, sizeof factor, "%.2f", static_cast<double>(one.gain_percent) / 100);
      const std::string gain = one.gain_percent > 0 ? std::string(factor) + " times as fast as the default" : "faster than the default, by how much is not sure";
      all += one.way + " is kept, " + gain + " (medians " + milliseconds(one.ns) + ", " + milliseconds(one.default_ns) + ")";
    }
    all += "; " + std::to_string(one.tried) + " trials took " + milliseconds(one.spent_ns) + " more than the default\n";
  }
  return all;
}

std::optional<InfoItems> Adapter::winner() const {
  const Known* most = nullptr;
  if (ended_) return std::nullopt;
  for (const Known& known : known_) {
    if (!known.trials.decided() || known.trials.best() == 0) continue;
    if (!most || known.elapsed_ns > most->elapsed_ns) most = &known;
  }
  return most ? std::optional(most->ways[most->trials.best()].items()) : std::nullopt;
}

}  // namespace mercutio
