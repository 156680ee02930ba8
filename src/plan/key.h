// What a plan depends on besides where the pattern begins: equal keys have equal plans, moved by the difference of their
// begins, provided that this is a multiple of plan.shift_unit(). O(groups of the pattern) to make and compare.
#pragma once

#include <cstdint>
#include <span>

#include "plan/plan.h"

namespace mercutio {

struct PatternKey {
  Pattern shape;               // with every offset relative to its begin
  std::uint64_t inputs = 0;    // of hints and views (their trees' hashes, by rank); a file has one topology and layout
  std::uint64_t hash() const;
  bool operator==(const PatternKey&) const = default;
};

PatternKey key_of(const Pattern& pattern, const Hints& hints, std::span<const std::uint64_t> view_hashes);

// Whether `plan`, made for a pattern of the same key that began at `planned_begin`, serves one that begins at `begin`: then
// it is shift(plan, begin - planned_begin).
bool serves_shifted(const Plan& plan, i64 planned_begin, i64 begin);

}  // namespace mercutio
