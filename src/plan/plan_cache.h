// PlanCache: the plans of the latest patterns of a file. Equal inputs have equal plans. Patterns that differ only by a distance in the
// file have the same plan, moved, if the distance is a multiple of plan.shift_unit(). So ranks need not cache the same plans. A
// lookup is O(groups of ranks).
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "base/thread_annotations.h"
#include "plan/plan.h"

namespace mercutio {

// All inputs of a plan.
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
    // The distance by which the pattern has moved; nothing if the pattern differs, or the plan can't be moved by that distance.
    bool answers(const PlanQuestion& question, i64& moved_by) const;
  };

  std::mutex mutex_;
  std::array<Known, 4> known_ MERCUTIO_GUARDED_BY(mutex_);
  size_t next_ MERCUTIO_GUARDED_BY(mutex_) = 0;   // the one to be forgotten next
};

}  // namespace mercutio
