// What every plan must keep, seen from outside: the bytes of every rank and the windows of the aggregators.
#pragma once

#include <span>

#include "fuzz.h"
#include "plan/plan.h"

namespace mercutio::fuzz {

// Verified, not the plan that stands in for one that doesn't hold, explained; and bytes of every rank, chosen by the input,
// belong to one window of one aggregator that serves the rank.
void check_plan(const Plan& plan, const Pattern& pattern, std::span<const RankSummary> ranks, Taker& taker);

}  // namespace mercutio::fuzz
