#include "plan/plan_cache.h"

#include <algorithm>

namespace mercutio {
namespace {

constexpr size_t kMostSummaries = 65536;   // kept by one file

// Whether b is a, moved by `delta`.
bool moved_so(const RankSummary& a, const RankSummary& b, i64 delta) {
  if (a.bytes == 0 || b.bytes == 0) return a.bytes == b.bytes;
  return a.bytes == b.bytes && b.first - a.first == delta && b.last - a.last == delta && a.run_bytes == b.run_bytes &&
         a.first_run_bytes == b.first_run_bytes;
}

// Whether the file has the same stripes, and only those, where the ranks' data is and `delta` further on.
bool striped_alike(const Layout& layout, const std::vector<RankSummary>& ranks, i64 delta) {
  i64 begin = kEndOfFile, end = 0;
  for (const RankSummary& rank : ranks) {
    if (rank.bytes == 0) continue;
    begin = std::min(begin, rank.first);
    end = std::max(end, rank.last);
  }
  if (begin >= end) return true;
  const Layout here = within(layout, begin, end);
  return here.components.empty() && here == within(layout, begin + delta, end + delta);
}

}  // namespace

bool PlanCache::Known::answers(const PlanQuestion& question, i64& moved_by) const {
  if (!plan || ranks.size() != question.ranks.size() || direction != question.direction || atomic != question.atomic) return false;
  moved_by = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].bytes == 0) continue;
    moved_by = question.ranks[rank].first - ranks[rank].first;
    break;
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!moved_so(ranks[rank], question.ranks[rank], moved_by)) return false;
  }
  if (plan->exchanges() && moved_by % plan->shift_unit() != 0) return false;
  if (segment_bytes != question.topology.segment_bytes || layout != question.layout || hints != question.hints) return false;
  return moved_by == 0 || layout.components.empty() || striped_alike(layout, ranks, moved_by);
}

PlanCache::Answer PlanCache::plan_for(const PlanQuestion& question) {
  std::lock_guard lock(mutex_);
  for (Known& known : known_) {
    i64 moved_by = 0;
    if (!known.answers(question, moved_by)) continue;
    if (moved_by != 0) {
      known.plan = std::make_shared<Plan>(shift(*known.plan, moved_by));
      known.ranks.assign(question.ranks.begin(), question.ranks.end());
    }
    return Answer{known.plan, true};
  }
  const Pattern pattern = summarise(question.direction, question.atomic, question.ranks);
  auto plan = std::make_shared<Plan>(make_plan(pattern, question.hints, question.topology, question.layout));
  const size_t slots = std::clamp<size_t>(kMostSummaries / std::max<size_t>(1, question.ranks.size()), 1, known_.size());
  Known& known = known_[next_];
  next_ = (next_ + 1) % slots;
  known = Known{question.direction, question.atomic, question.topology.segment_bytes, question.layout, question.hints,
                {question.ranks.begin(), question.ranks.end()}, plan};
  return Answer{std::move(plan), false};
}

}  // namespace mercutio
