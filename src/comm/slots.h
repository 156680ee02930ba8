// Slots: numbers that open files hold, the same on all ranks. They are assigned in ascending order, without a message, as long as
// there are unused numbers. After that the ranks agree on each: a thread of one rank may have closed a file that is open on another.
#pragma once

#include <set>
#include <string>

#include "base/result.h"

namespace mercutio {

class Slots {
 public:
  struct Slot {
    i64 number = 0;
    bool is_new = true;   // never used before
  };

  struct Range {
    i64 lowest = 0, highest = 0;
  };

  explicit Slots(i64 count) : count_(count) {}

  // Collective. range_of(i64) -> Result<Range>: the lowest and highest argument over all ranks. kNoMem, on all ranks: no free slot.
  template <class RangeOf>
  Result<Slot> take(RangeOf range_of) {
    if (given_ < count_) {
      taken_.insert(given_);
      return Slot{given_++, true};
    }
    for (i64 distance = 0;;) {   // from next_
      while (distance < count_ && taken_.count((next_ + distance) % count_) > 0) ++distance;
      MERCUTIO_LET(const Range range, range_of(distance));
      distance = range.highest;
      if (distance >= count_) break;
      if (range.lowest < distance) continue;   // whether it is free on all ranks
      const i64 number = (next_ + distance) % count_;
      taken_.insert(number);
      next_ = (number + 1) % count_;
      return Slot{number, false};
    }
    return Error{ErrorClass::kNoMem, "all " + std::to_string(count_) + " places for open files of one communicator are taken"};
  }
  void give_back(i64 number) { taken_.erase(number); }

 private:
  const i64 count_;
  i64 given_ = 0;   // for the first time
  i64 next_ = 0;
  std::set<i64> taken_;
};

}  // namespace mercutio
