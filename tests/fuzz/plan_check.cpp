// O(ranks * aggregators * windows), where there are not too many windows.
#include "plan_check.h"

namespace mercutio::fuzz {
namespace {

constexpr i64 kMostWindows = 4096;  // of an aggregator

// In how many windows that serve `rank` a byte lies, over all aggregators; -1: too many windows to look at.
i64 windows_with(const Plan& plan, i64 offset, i64 rank) {
  i64 found = 0;
  for (i64 i = 0; i < plan.domains(); ++i) {
    if (!plan.serves(i, rank)) continue;
    const i64 windows = plan.windows(i);
    if (windows > kMostWindows) return -1;
    for (i64 w = 0; w < windows; ++w) {
      const FileRange window = plan.window(i, w);
      FUZZ_CHECK(!window.empty() && window.bytes() <= plan.buffer_bytes, "a window of " + std::to_string(window.bytes()) + " bytes");
      if (offset < window.begin || offset >= window.end) continue;
      ++found;
      FUZZ_CHECK(plan.owner(offset, rank) == i, "byte " + std::to_string(offset) + " has another owner");
    }
    FUZZ_CHECK(plan.window(i, windows).empty(), "one window more");
  }
  return found;
}

void check_byte(const Plan& plan, i64 offset, i64 rank) {
  const i64 owner = plan.owner(offset, rank);
  FUZZ_CHECK(owner >= 0 && owner < plan.domains() && plan.serves(owner, rank), "the owner of " + std::to_string(offset));
  const FileRange domain = plan.domain(owner);
  FUZZ_CHECK(offset >= domain.begin && offset < domain.end, std::to_string(offset) + " is not in its owner's domain");
  const i64 found = windows_with(plan, offset, rank);
  FUZZ_CHECK(found == 1 || found == -1, std::to_string(offset) + " lies in " + std::to_string(found) + " windows");
}

}  // namespace

void check_plan(const Plan& plan, const Pattern& pattern, std::span<const RankSummary> ranks, Taker& taker) {
  FUZZ_CHECK(!explain(plan, pattern).empty(), "no explanation");
  for (const Reason& reason : plan.reasons)
    FUZZ_CHECK(reason.text.find("did not pass verification") == std::string::npos, "a plan was made that does not hold");
  FUZZ_CHECK(verify(plan, pattern).ok(), "the plan does not verify");
  if (!plan.exchanges()) return;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankSummary& rank = ranks[r];
    if (rank.bytes == 0) continue;
    for (const i64 offset : {rank.first, rank.last - 1, rank.first + taker.byte() % (rank.last - rank.first)})
      check_byte(plan, offset, static_cast<i64>(r));
  }
}

}  // namespace mercutio::fuzz
