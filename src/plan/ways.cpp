#include "plan/ways.h"

#include <algorithm>

#include "plan/planner.h"
#include "plan/trials.h"

namespace mercutio {
namespace {

constexpr i64 kHopelessByModel = 300;          // percent by the model, which is rough
constexpr double kRequestSeconds = 2e-6, kSlowRequestSeconds = 200e-6;   // a transfer of one run: from a cache, and where it may block
constexpr double kMemoryMegabytesPerSecond = 4000;
constexpr i64 kMostDepth = 4;
constexpr double kDeeperSaves = 0.03;   // what windows in flight beyond two hide of a storage that is uneven

// Ranks move their own runs, some of them at a time: of writes to a file, one on each node, as its kernel locks the file for them. Unlike an
// exchange, this depends little on what isn't known of the machine.
double cost_alone(const planning::Planner& p) {
  const double bytes = static_cast<double>(p.pattern.bytes), run = static_cast<double>(std::max<i64>(1, p.pattern.run_bytes));
  const i64 of_node = p.pattern.direction == Direction::kWrite ? 1 : p.per_node();
  const double at_a_time = static_cast<double>(std::max<i64>(1, std::min(p.pattern.participants, p.nodes() * of_node)));
  const double request = p.layout.cached ? kRequestSeconds : kSlowRequestSeconds;
  return bytes / run * request / at_a_time + bytes / (at_a_time * kMemoryMegabytesPerSecond * 1e6);
}

double cost_by_model(const planning::Planner& p, const Plan& plan) {
  if (!plan.exchanges()) return cost_alone(p);
  const planning::Cost cost = planning::cost_of(p, plan.domains());
  const double windows = kSlowRequestSeconds * static_cast<double>(plan.rounds) / static_cast<double>(plan.depth);
  return (cost.total() + (p.layout.cached ? 0 : windows)) * (plan.depth > 2 ? 1 - kDeeperSaves : 1);
}

// In the order of their promise where the model tells no difference.
std::vector<Way> all_ways(const PlanQuestion& question, const Plan& plan, const Way& now) {
  const i64 ranks = question.pattern.ranks;
  std::vector<Way> ways;
  const auto add = [&](i64 count, i64 depth, WantedExchange exchange, WantedStrategy strategy) {
    Way way = now;
    way.cb_nodes = count > 0 ? std::clamp<i64>(count, 1, ranks) : now.cb_nodes;
    if (depth > 0) way.depth = depth;
    if (exchange != WantedExchange::kAuto) way.exchange = exchange;
    if (strategy != WantedStrategy::kAuto) way.strategy = strategy;
    ways.push_back(way);
  };
  constexpr WantedExchange kAny = WantedExchange::kAuto;
  const WantedStrategy two_phase = plan.exchanges() ? WantedStrategy::kAuto : WantedStrategy::kTwoPhase;
  const i64 count = plan.exchanges() ? plan.domains() : std::ssize(usual_aggregators(question.hints, question.topology, question.layout));
  ways.push_back(Way{});   // without a profile
  if (!plan.exchanges()) add(0, 0, kAny, two_phase);
  add(2 * count, 0, kAny, two_phase);
  add(0, kMostDepth, kAny, two_phase);
  add(count / 2, 0, kAny, two_phase);
  add(2 * count, kMostDepth, kAny, two_phase);
  add(ranks, 0, kAny, two_phase);
  if (plan.exchanges() && plan.exchange != ExchangeKind::kSharedMemory) add(0, 0, plan.exchange == ExchangeKind::kMessages ? WantedExchange::kSharedMemory : WantedExchange::kMessages, two_phase);
  add(0, 0, kAny, WantedStrategy::kList);
  add(0, 0, kAny, WantedStrategy::kIndividual);
  add(1, 0, kAny, two_phase);
  return ways;
}

void keep_fixed(Way& way, const Way& now, const FixedHints& fixed) {
  if (fixed.aggregators) way.cb_nodes = now.cb_nodes;
  if (fixed.depth) way.depth = now.depth;
  if (fixed.exchange) way.exchange = now.exchange;
  if (fixed.strategy) way.strategy = now.strategy;
}

// Plans that are compared. No more windows are in flight than there are.
Plan plan_of(const PlanQuestion& question, const Hints& hints) {
  Plan plan = make_plan(question.pattern, hints, question.topology, question.layout);
  plan.reasons.clear();
  plan.depth = std::min(plan.depth, std::max<i64>(1, plan.rounds));
  return plan;
}

}  // namespace

void fix_hint(FixedHints& fixed, const std::string& key) {
  for (const std::string& name : hint_names(key)) {
    if (name == "cb_nodes" || name == "cb_config_list" || name == "mercutio_aggregators_per_node") fixed.aggregators = true;
    if (name == "mercutio_depth" || name == "mercutio_throttle") fixed.depth = true;
    if (name == "mercutio_exchange") fixed.exchange = true;
    if (name == "mercutio_strategy" || name == "romio_cb_read" || name == "romio_cb_write") fixed.strategy = true;
  }
}

void Way::apply(Hints& hints) const {
  hints.cb_nodes = cb_nodes;
  hints.mercutio_depth = depth;
  hints.mercutio_exchange = exchange;
  hints.mercutio_strategy = strategy;
}

InfoItems Way::items() const {
  InfoItems items;
  if (strategy != WantedStrategy::kAuto) items.emplace_back("mercutio_strategy", word_of(strategy));
  if (cb_nodes > 0) items.emplace_back("cb_nodes", std::to_string(cb_nodes));
  if (depth > 0) items.emplace_back("mercutio_depth", std::to_string(depth));
  if (exchange != WantedExchange::kAuto) items.emplace_back("mercutio_exchange", word_of(exchange));
  return items;
}

std::string Way::text() const {
  std::string text;
  for (const auto& [key, value] : items()) text += (text.empty() ? "" : ", ") + key + "=" + value;
  return text.empty() ? "no hints" : text;
}

std::vector<Way> ways_of(const PlanQuestion& question, const FixedHints& fixed) {
  const Hints& hints = question.hints;
  const Way now{hints.cb_nodes, hints.mercutio_depth, hints.mercutio_exchange, hints.mercutio_strategy};
  std::vector<Plan> plans{plan_of(question, hints)};
  std::vector<Way> ways{now};
  const bool changeable = !question.pattern.atomic && question.pattern.bytes > 0 && question.pattern.ranks > 1;
  if (!changeable || fixed.all()) return ways;
  const planning::Planner as_is(question.pattern, hints, question.topology, question.layout);
  const double own = std::max(1e-9, cost_by_model(as_is, plans[0]));
  for (Way way : all_ways(question, plans[0], now)) {
    keep_fixed(way, now, fixed);
    Hints changed = hints;
    way.apply(changed);
    Plan plan = plan_of(question, changed);
    if (std::find(plans.begin(), plans.end(), plan) != plans.end()) continue;
    const planning::Planner p(question.pattern, changed, question.topology, question.layout);
    const double seconds = cost_by_model(p, plan);
    way.expected = static_cast<i64>(std::min(1e6, seconds / own * 100));
    if (!plan.exchanges()) way.expected_ns = static_cast<i64>(std::clamp(seconds, 1e-9, 1e3) * 1e9);
    if (way.expected_ns == 0 && way.expected >= kHopelessByModel) continue;
    plans.push_back(std::move(plan));
    ways.push_back(way);
  }
  std::stable_sort(ways.begin() + 1, ways.end(), [](const Way& a, const Way& b) { return a.expected < b.expected; });
  while (ways.size() > Trials::kMostWays) ways.erase(std::find_if(ways.rbegin(), ways.rend(), [](const Way& way) { return way.expected_ns == 0; }).base() - 1);
  return ways;
}

}  // namespace mercutio
