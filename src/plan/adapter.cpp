#include "plan/adapter.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace mercutio {
namespace {

constexpr i64 kLongestNs = 10'000'000'000'000;
constexpr i64 kCostScale = 65536;            // of nanoseconds a byte

i64 class_of(i64 value) { return std::bit_width(static_cast<std::uint64_t>(std::max<i64>(0, value))); }

std::string milliseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g ms", ns / 1e6);
  return text;
}

}  // namespace

Adapter::Key Adapter::key_of(const PlanQuestion& question) {
  const Pattern& p = question.pattern;
  return {p.direction, class_of(p.bytes), p.participants, p.contiguous, p.disjoint ? 1 : 0, class_of(p.run_bytes), class_of(p.gap_bytes()), question.layout.cached ? 1 : 0};
}

bool Adapter::searches(Direction direction) const {
  return !ended_ && std::any_of(known_.begin(), known_.end(), [&](const Known& known) { return known.key.direction == direction && known.trials.searches(); });
}

i64 Adapter::find(const PlanQuestion& question, const FixedHints& fixed) {
  const Key key = key_of(question);
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& known) { return known.key == key; });
  if (found != known_.end()) return found - known_.begin();
  if (known_.size() == kMostPatterns) return -1;
  std::vector<Way> ways = ways_of(question, fixed);
  std::vector<i64> expected;
  for (const Way& way : ways) expected.push_back(way.expected);
  known_.push_back(Known{key, std::move(ways), Trials(std::move(expected)), question.hints, 0, 0, 0, question.hints});
  return std::ssize(known_) - 1;
}

const Hints& Adapter::hints_for(const PlanQuestion& question, const FixedHints& fixed, i64 hints_edition) {
  current_ = -1;
  if (ended_) return question.hints;
  if (edition_ != hints_edition) known_.clear();
  edition_ = hints_edition;
  const i64 place = find(question, fixed);
  if (place < 0) return question.hints;
  Known& known = known_[static_cast<size_t>(place)];
  if (known.asked != question.hints || !known.trials.searches()) return question.hints;   // an access whose view is out of order has other hints
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

void Adapter::saw(i64 elapsed_ns) {
  if (current_ < 0) return;
  Known& known = known_[static_cast<size_t>(current_)];
  current_ = -1;
  elapsed_ns = std::clamp<i64>(elapsed_ns, 1, kLongestNs);
  known.elapsed_ns += elapsed_ns;
  const bool first = known.trials.calls() > 0 && known.trials.tried() == 0;
  if (first && elapsed_ns < worth_ns_ && !known.trials.decided()) return known.trials.give_up();
  known.trials.saw(static_cast<i64>(static_cast<double>(elapsed_ns) * kCostScale / static_cast<double>(std::max<i64>(1, known.bytes))));
}

void Adapter::end() {
  ended_ = true;
  current_ = -1;
}

std::string Adapter::text() const {
  if (current_ < 0) return "";
  const Known& known = known_[static_cast<size_t>(current_)];
  const std::string hints = known.ways[known.trials.way()].text();
  if (known.trials.decided()) return known.trials.way() == 0 ? "the default is measured again" : "found by mercutio_adapt: " + hints;
  if (known.trials.way() == 0) return "the default is measured for mercutio_adapt";
  return "trial of mercutio_adapt, way " + std::to_string(known.trials.way()) + " of " + std::to_string(known.ways.size() - 1) + ": " + hints;
}

std::string Adapter::report() const {
  std::string all;
  for (const Known& known : known_) {
    const Trials& trials = known.trials;
    if (trials.tried() == 0) continue;
    const auto time_of = [&](size_t way) { return static_cast<double>(trials.median_of(way)) / kCostScale * static_cast<double>(known.bytes); };
    all += std::string("mercutio_adapt, collective ") + (known.key.direction == Direction::kRead ? "reads" : "writes") + " of " + std::to_string(known.bytes) + " bytes: ";
    if (ended_) {
      all += "ended by an access that failed";
    } else if (!trials.decided()) {
      all += "not decided after " + std::to_string(trials.calls()) + " accesses";
    } else if (trials.best() == 0) {
      all += "the default is kept, " + milliseconds(time_of(0)) + " (median)";
    } else {
      char factor[32];
      std::snprintf(factor, sizeof factor, "%.2f", time_of(0) / std::max(1.0, time_of(trials.best())));
      all += known.ways[trials.best()].text() + " is kept, " + factor + " times as fast as the default (medians " + milliseconds(time_of(trials.best())) + ", " +
             milliseconds(time_of(0)) + ")";
    }
    all += "; " + std::to_string(trials.tried()) + " trials took " + milliseconds(time_of(0) * static_cast<double>(trials.spent_percent()) / 100) + " more than the default\n";
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
