// CoveredTime: how long at least one of several things was going on (Klee's measure of a union of intervals). Each comes with its begin and
// end when it ends. The newest stretches of time are known one by one; older ones are one, of which a part was covered. O(1), amortized.
#pragma once

#include <algorithm>
#include <array>

#include "base/types.h"

namespace mercutio {

class CoveredTime {
 public:
  // Returns how much of it nothing before has covered.
  i64 add(i64 begin, i64 end) {
    if (end <= begin) return 0;
    Stretch all{begin, end, 0};
    i64 known = 0;
    for (; count_ > 0 && newest().end > begin; --count_) {
      const Stretch& one = newest();
      known += one.covered_between(begin, end);
      all.begin = std::min(all.begin, one.begin);
      all.end = std::max(all.end, one.end);
      all.covered += one.covered;
    }
    const i64 fresh = std::max<i64>(0, end - begin - known);
    all.covered += fresh;
    if (count_ == kStretches) join_oldest();
    stretches_[(first_ + count_++) % kStretches] = all;
    return fresh;
  }

 private:
  static constexpr std::size_t kStretches = 16;
  struct Stretch {
    i64 begin = 0, end = 0, covered = 0;
    // Where only a part is asked for, as if it were covered evenly.
    i64 covered_between(i64 from, i64 to) const {
      const i64 inside = std::min(to, end) - std::max(from, begin);
      if (inside <= 0) return 0;
      return static_cast<i64>(static_cast<double>(covered) * static_cast<double>(inside) / static_cast<double>(end - begin) + 0.5);
    }
  };
  const Stretch& newest() const { return stretches_[(first_ + count_ - 1) % kStretches]; }
  void join_oldest() {
    const Stretch oldest = stretches_[first_];
    first_ = (first_ + 1) % kStretches;
    --count_;
    Stretch& next = stretches_[first_];
    next.begin = oldest.begin;
    next.covered += oldest.covered;
  }

  std::array<Stretch, kStretches> stretches_{};
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace mercutio
