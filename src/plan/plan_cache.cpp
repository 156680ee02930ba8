#include "plan/plan_cache.h"

#include <algorithm>

namespace mercutio {
namespace {

constexpr size_t kMostKeptGroups = 65536;   // kept by one file

// Whether the file has the same stripes, and only those, where the ranks' data is and `delta` further on.
bool striped_alike(const Layout& layout, const Pattern& pattern, i64 delta) {
  if (pattern.participants == 0) return true;
  const Layout here = within(layout, pattern.begin, pattern.end);
  return here.components.empty() && here == within(layout, pattern.begin + delta, pattern.end + delta);
}

}  // namespace

bool PlanCache::Known::answers(const PlanQuestion& question, i64& moved_by) const {
  if (!plan || !is_moved(pattern, question.pattern, moved_by)) return false;
  if (plan->exchanges() && moved_by % plan->shift_unit() != 0) return false;
  if (segment_bytes != question.topology.segment_bytes || layout != question.layout || hints != question.hints) return false;
  return moved_by == 0 || layout.components.empty() || striped_alike(layout, pattern, moved_by);
}

PlanCache::Answer PlanCache::plan_for(const PlanQuestion& question) {
  std::lock_guard lock(mutex_);
  for (Known& known : known_) {
    i64 moved_by = 0;
    if (!known.answers(question, moved_by)) continue;
    if (moved_by != 0) {
      if (known.plan->exchanges()) {
        if (known.plan.use_count() > 1) known.plan = std::make_shared<Plan>(*known.plan);   // an access under way uses it
        std::shared_ptr<Plan>(known.plan).reset();   // one more reference given back: what follows comes after another thread's last use
        shift(*known.plan, moved_by);
      }
      known.pattern = question.pattern;
    }
    return Answer{known.plan, true};
  }
  auto plan = std::make_shared<Plan>(make_plan(question.pattern, question.hints, question.topology, question.layout));
  const size_t slots = std::clamp<size_t>(kMostKeptGroups / std::max<size_t>(1, question.pattern.groups.size()), 1, known_.size());
  Known& known = known_[next_];
  next_ = (next_ + 1) % slots;
  known = Known{question.pattern, question.topology.segment_bytes, question.layout, question.hints, plan};
  return Answer{std::move(plan), false};
}

}  // namespace mercutio
