#include "plan/trials.h"

#include <algorithm>

#include "base/assert.h"

namespace mercutio {
namespace {

constexpr i64 kDefaultCalls = 2;        // before the first trial, after one that isn't counted: it makes the file, and memory is touched first
constexpr i64 kTelling = 3;             // costs of which a median is one
constexpr i64 kMostPairs = 8, kFewPairs = 2, kSomePairs = 4;   // of the finalist and the default
constexpr size_t kHalf = 3;             // ways that get a second turn
constexpr i64 kHopelessMeasured = 200;          // percent of the default: never again
constexpr i64 kPromising = 105;         // percent of the default: worth a second turn
constexpr i64 kClose = 200;             // percent of the best: likewise; the first access of a way also touches its memory first
constexpr i64 kWorthwhile = 97;         // percent: what a way must at least gain
constexpr i64 kClear = 70;              // percent: every cost below it is a gain without more pairs
constexpr i64 kHopelessExpected = 300;          // percent of the fastest way so far: not tried
// The budget in percent of a default access: a part is granted within the first calls, so that a job of few accesses risks little; the rest grows
// with each call. 6 accesses after 200 calls.
constexpr i64 kGrant = 200, kGrantGrowth = 20, kGrowth = 2;
constexpr i64 kMostCharged = 300;       // percent of a trial; more is taken for an accident
constexpr i64 kSurprise = 25, kBadSurprise = 100;   // percent by which the model may be wrong: among ways of one kind, and of another
constexpr size_t kRecent = 5;
constexpr size_t kTellingRatios = 4, kRatiosPerOutlier = 8;
constexpr i64 kChecksLost = 3;          // times that the default must be better to be taken again

i64 median(std::vector<i64> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The median distance from the median, which one outlier doesn't change.
i64 spread(const std::vector<i64>& values) {
  const i64 middle = median(values);
  std::vector<i64> distances;
  for (const i64 value : values) distances.push_back(value > middle ? value - middle : middle - value);
  return median(std::move(distances));
}

i64 least(const std::vector<i64>& values) { return *std::min_element(values.begin(), values.end()); }

bool below(i64 cost, i64 percent, i64 of) { return cost < of / 100 * percent + of % 100 * percent / 100; }

}  // namespace

Trials::Trials(const std::vector<Expected>& expected) {
  MERCUTIO_ASSERT(!expected.empty());
  for (size_t way = 0; way < std::min(expected.size(), kMostWays); ++way) ways_.push_back(Tried{expected[way], {}, false});
  if (ways_.size() < 2) keep(0);
}

i64 Trials::median_of(size_t way) const { return median(ways_[way].costs); }

// The first ones may be of a machine that was busier.
std::vector<i64> Trials::latest_of_default(size_t count) const {
  const std::vector<i64>& costs = ways_[0].costs;
  return std::vector<i64>(costs.end() - static_cast<std::ptrdiff_t>(std::min(costs.size(), count)), costs.end());
}

i64 Trials::default_cost() const { return median(latest_of_default(kTelling)); }

// Of the default: what was measured counts, else the model.
i64 Trials::expected_percent(size_t way) const {
  const Tried& one = ways_[way];
  if (one.costs.empty() && one.expected.cost == 0) return one.expected.percent;
  const i64 cost = one.costs.empty() ? one.expected.cost : one.costs.back();
  return static_cast<i64>(std::min(1e6, static_cast<double>(cost) * 100 / static_cast<double>(std::max<i64>(1, default_cost()))));
}

bool Trials::affordable(size_t way) const {
  const Tried& one = ways_[way];
  const i64 surprise = !one.costs.empty() ? 0 : one.expected.cost > 0 ? kBadSurprise : kSurprise;
  const i64 budget = std::min(kGrant, kGrantGrowth * calls_) + kGrowth * calls_;
  return spent_ + std::max<i64>(0, expected_percent(way) + surprise - 100) <= budget;
}

void Trials::add_ratio(i64 of_default, i64 of_other) {
  ratios_.push_back(static_cast<i64>(std::min(1e6, static_cast<double>(of_default) * 100 / static_cast<double>(std::max<i64>(1, of_other)))));
}

// At most one pair in kRatiosPerOutlier may say that the default is as fast.
i64 Trials::gain_percent() const {
  if (!decided() || best_ == 0 || ratios_.size() < kTellingRatios) return 0;
  std::vector<i64> sorted = ratios_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / kRatiosPerOutlier] > 100 ? median(std::move(sorted)) : 0;
}

void Trials::keep(size_t way) {
  stage_ = Stage::kDecided;
  way_ = best_ = way;
  next_check_ = 2 * calls_;
}

void Trials::give_up() { keep(0); }

void Trials::saw(i64 cost) {
  cost = std::max<i64>(cost, 1);
  ++calls_;
  if (stage_ == Stage::kDecided) return watch(cost);
  if (stage_ == Stage::kWarm) {
    stage_ = Stage::kDefault;
    return;
  }
  Tried& taken = ways_[way_];
  taken.costs.push_back(cost);
  if (stage_ == Stage::kFinal) {
    if (way_ == 0 && latest_of_finalist_ > 0) add_ratio(cost, latest_of_finalist_);
    latest_of_finalist_ = way_ == 0 ? 0 : cost;
  }
  if (way_ != 0) {
    ++tried_;
    const i64 reference = std::max<i64>(1, default_cost());
    const double beyond = (static_cast<double>(cost) - static_cast<double>(reference)) * 100 / static_cast<double>(reference);
    spent_ += static_cast<i64>(std::clamp(beyond, 0.0, double{kMostCharged}));
    if (!below(cost, kHopelessMeasured, reference)) taken.dropped = true;
    if (taken.expected.cost > 0) {   // the model errs alike about all such ways
      for (Tried& other : ways_) other.expected.cost = other.expected.cost > 0 ? cost : 0;
    }
  }
  choose();
}

size_t Trials::next_of_each() const {
  i64 fastest = 100, least = INT64_MAX;
  for (size_t way = 1; way < ways_.size(); ++way) {
    if (!ways_[way].costs.empty()) fastest = std::min(fastest, expected_percent(way));
  }
  size_t next = 0;
  for (size_t way = 1; way < ways_.size(); ++way) {
    const i64 expected = expected_percent(way);
    if (!ways_[way].costs.empty() || expected >= least || !below(expected, kHopelessExpected, fastest)) continue;
    least = expected;
    next = way;
  }
  return next;
}

void Trials::begin_half() {
  stage_ = Stage::kHalf;
  std::vector<size_t> good;
  for (size_t way = 1; way < ways_.size(); ++way) {
    const Tried& one = ways_[way];
    if (!one.dropped && !one.costs.empty() && below(one.costs[0], kPromising, default_cost())) good.push_back(way);
  }
  std::stable_sort(good.begin(), good.end(), [&](size_t a, size_t b) { return ways_[a].costs[0] < ways_[b].costs[0]; });
  if (good.size() > kHalf) good.resize(kHalf);
  while (good.size() > 1 && !below(ways_[good.back()].costs[0], kClose, ways_[good[0]].costs[0])) good.pop_back();
  half_.assign(good.rbegin(), good.rend());
  if (!good.empty() && !below(ways_[good[0]].costs[0], kClear, default_cost())) half_.insert(half_.begin(), 0);   // the default at the end
}

// False: all have had their second turn.
bool Trials::pick_of_half() {
  if (half_.empty()) return false;
  way_ = half_.back();
  half_.pop_back();
  return true;
}

void Trials::begin_final() {
  stage_ = Stage::kFinal;
  finalist_ = 0;
  for (size_t way = 1; way < ways_.size(); ++way) {
    const Tried& candidate = ways_[way];
    if (candidate.dropped || candidate.costs.size() < 2) continue;
    if (finalist_ == 0 || least(candidate.costs) < least(ways_[finalist_].costs)) finalist_ = way;
  }
}

// After few pairs, every cost must be lower than the default's latest; after some, the median by more than the spread of either. The first cost
// of a way doesn't count: by it the way was chosen.
bool Trials::beats_default(size_t way) const {
  const std::vector<i64>& all = ways_[way].costs;
  if (std::ssize(all) <= kTelling || std::ssize(ways_[0].costs) < kTelling) return false;
  const std::vector<i64> mine(all.begin() + 1, all.end());
  const std::vector<i64> theirs = latest_of_default(mine.size());
  if (!below(median(mine), kWorthwhile, median(theirs))) return false;
  if (*std::max_element(mine.begin(), mine.end()) < least(theirs)) return true;
  return pairs_ >= kSomePairs && median(theirs) - median(mine) > std::max(spread(mine), spread(theirs));
}

void Trials::compare() {
  if (finalist_ == 0) return keep(0);
  pairs_ += way_ == finalist_ ? 1 : 0;
  const std::vector<i64>& mine = ways_[finalist_].costs;
  const i64 worst = *std::max_element(mine.begin(), mine.end());
  const bool clear = std::ssize(mine) >= kTelling && below(worst, kClear, least(ways_[0].costs));
  if (clear || (pairs_ >= kFewPairs && beats_default(finalist_))) return keep(finalist_);
  const bool lost = ways_[finalist_].dropped || (pairs_ >= kFewPairs && median(mine) >= default_cost());
  if (lost || pairs_ >= kMostPairs) return keep(0);
  way_ = way_ != finalist_ && affordable(finalist_) ? finalist_ : 0;
}

void Trials::choose() {
  way_ = stage_ == Stage::kFinal ? way_ : 0;
  if (stage_ == Stage::kDefault) {
    if (std::ssize(ways_[0].costs) < kDefaultCalls) return;
    stage_ = Stage::kEach;
  }
  if (stage_ == Stage::kEach) {
    const size_t next = next_of_each();
    const bool due = ways_[0].costs.size() < static_cast<size_t>(kDefaultCalls) + (tried_ >= std::ssize(ways_) / 2 ? 1 : 0);   // the default once in between
    if (next != 0 && (due || !affordable(next))) return;
    if (next != 0) {
      way_ = next;
      return;
    }
    begin_half();
  }
  if (stage_ == Stage::kHalf) {
    if (!half_.empty() && half_.back() != 0 && !affordable(half_.back())) return;
    if (pick_of_half()) return;
    begin_final();
  }
  compare();
}

// The default is looked at again after twice the calls, and if it is better, at once; three times better, it is taken.
void Trials::watch(i64 cost) {
  if (best_ == 0) return;
  if (way_ == best_) {
    recent_.push_back(cost);
    if (recent_.size() > kRecent) recent_.erase(recent_.begin());
    if (calls_ >= next_check_ && recent_.size() == kRecent) way_ = 0;
    return;
  }
  way_ = best_;
  add_ratio(cost, median(recent_));
  const bool better = cost < median(recent_);
  lost_ = better ? lost_ + 1 : 0;
  next_check_ = better ? calls_ + 1 : 2 * calls_;
  if (lost_ >= kChecksLost) keep(0);
}

}  // namespace mercutio
