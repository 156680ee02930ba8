// PlanCache: the plans of the patterns that a file has seen last. Equal questions have equal answers, and those that differ
// only in where the pattern begins have the same plan, moved, provided that it is moved by a multiple of plan.shift_unit().
// So it doesn't matter whether another rank remembers the same. O(groups of ranks) to ask, without planning.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "base/thread_annotations.h"
#include "plan/plan.h"

namespace mercutio {

// Everything a plan is made from.
struct PlanQuestion {
  const Pattern& pattern;
  const Hints& hints;
  const Topology& topology;   // always that of the file's ranks; whether they share memory may differ
  const Layout& layout;
};

class PlanCache {
 public:
  struct Answer {
    std::shared_ptr<const Plan> plan;
    bool remembered = false;
  };
  // Any thread.
  Answer plan_for(const PlanQuestion& question);

 private:
  struct Known {
    Pattern pattern;
    i64 segment_bytes = 0;
    Layout layout;
    Hints hints;
    std::shared_ptr<Plan> plan;
    // How far the pattern has moved; nothing if it is another one, or the plan can't be moved so far.
    bool answers(const PlanQuestion& question, i64& moved_by) const;
  };

  std::mutex mutex_;
  std::array<Known, 4> known_ MERCUTIO_GUARDED_BY(mutex_);
  size_t next_ MERCUTIO_GUARDED_BY(mutex_) = 0;   // the one to be forgotten next
};

}  // namespace mercutio
