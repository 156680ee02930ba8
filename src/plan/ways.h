// The ways to carry out a collective access that mercutio_adapt tries: sets of hints, the most promising first by the cost model. The
// same on all ranks, as its inputs are those of a plan. Costs at most a dozen plans.
#pragma once

#include <string>
#include <vector>

#include "plan/plan_cache.h"

namespace mercutio {

// What the program, its user or the site has set is never changed.
struct FixedHints {
  bool aggregators = false, depth = false, exchange = false, strategy = false;
  bool operator==(const FixedHints&) const = default;
  bool any() const { return aggregators || depth || exchange || strategy; }
  bool all() const { return aggregators && depth && exchange && strategy; }
};
// Of the hint with this name or alias.
void fix_hint(FixedHints& fixed, const std::string& key);

struct Way {
  i64 cb_nodes = 0, depth = 0;
  WantedExchange exchange = WantedExchange::kAuto;
  WantedStrategy strategy = WantedStrategy::kAuto;
  i64 expected = 100;   // cost by the model, in percent of the first way's
  i64 expected_ns = 0;      // or in time: without an exchange the runs tell it. 0: unknown
  bool operator==(const Way&) const = default;
  void apply(Hints& hints) const;
  InfoItems items() const;    // as hints; empty: Mercutio's own choice
  std::string text() const;   // "cb_nodes=8, mercutio_depth=4"
};

// The first is what `question` has. Ways whose plan another one has, too, are left out, and those that the model takes for hopeless.
std::vector<Way> ways_of(const PlanQuestion& question, const FixedHints& fixed);

}  // namespace mercutio
