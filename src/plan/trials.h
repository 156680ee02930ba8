// Trials: finds the fastest of several ways to carry out an access that is repeated, by taking turns. Successive halving (Jamieson and
// Talwalkar, AISTATS 2016): each way once, the best three again, the best of them against the default in turn.
//
// Way 0 is the default. It is measured again in between, so that a machine that gets faster is not taken for a better way. A way wins only by more than
// the spread of both. The one that is expected to be the fastest is next, and those that are expected to take far longer than the fastest so far are left
// out. What trials cost beyond the default is kept within a budget that grows with the calls. Deterministic: ranks that see equal costs
// take equal turns. O(ways) an access, no clock of its own.
#pragma once

#include <vector>

#include "base/types.h"

namespace mercutio {

class Trials {
 public:
  static constexpr size_t kMostWays = 8;
  // By the cost model: in percent of the default's (that of the default is 100), or, if that is known, in the unit of saw(). 0: it isn't.
  struct Expected {
    i64 percent = 100, cost = 0;
  };
  explicit Trials(const std::vector<Expected>& expected);

  size_t way() const { return way_; }   // for the next access
  void saw(i64 cost);                   // of an access that took way(): any unit, the same for all
  void give_up();                       // the default from now on
  // Nothing is tried any more. The costs of a way other than the default are still of use: it is left if it becomes worse.
  bool decided() const { return stage_ == Stage::kDecided; }
  bool searches() const { return !decided() || best_ != 0; }
  size_t best() const { return best_; }

  i64 calls() const { return calls_; }
  i64 tried() const { return tried_; }              // accesses that took another way than the default before that
  i64 median_of(size_t way) const;                  // 0: it was never taken
  // The cost of the default in percent of best()'s, if pairs of measurements one after the other agree that it is the higher one; 0: they
  // don't, or there are too few.
  i64 gain_percent() const;
  i64 spent_percent() const { return spent_; }      // of the cost of a default access, what trials took beyond it

 private:
  enum class Stage { kWarm, kDefault, kEach, kHalf, kFinal, kDecided };
  struct Tried {
    Expected expected;
    std::vector<i64> costs;
    bool dropped = false;
  };
  bool affordable(size_t way) const;
  i64 expected_percent(size_t way) const;
  std::vector<i64> latest_of_default(size_t count) const;
  i64 default_cost() const;
  size_t next_of_each() const;
  void begin_half();
  bool pick_of_half();
  void begin_final();
  void compare();
  bool beats_default(size_t way) const;
  void keep(size_t way);
  void watch(i64 cost);
  void add_ratio(i64 of_default, i64 of_other);
  void choose();

  std::vector<Tried> ways_;
  Stage stage_ = Stage::kWarm;
  size_t way_ = 0, best_ = 0;
  i64 calls_ = 0, tried_ = 0, spent_ = 0;
  std::vector<size_t> half_;      // the ways of stage kHalf, those still to be taken last
  size_t finalist_ = 0;
  i64 pairs_ = 0;                 // of the finalist and the default
  i64 latest_of_finalist_ = 0;    // 0: the default was measured since
  std::vector<i64> ratios_;       // in percent: the default's cost by that of the way that is kept, or may be, just before
  // After a way has won: its latest costs, when the default is looked at again, and how often it was then better.
  std::vector<i64> recent_;
  i64 next_check_ = 0, lost_ = 0;
};

}  // namespace mercutio
