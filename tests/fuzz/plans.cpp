// Planning (src/plan, src/model/pattern.cpp) from what other ranks say of their accesses, from hints as users write them, and
// any topology and layout: the plan verifies, every byte of every rank belongs to exactly one aggregator's window, and the
// pattern moved by a multiple of the plan's unit has the same key and the same plan, moved (src/plan/key.*).
#include <algorithm>
#include <cstring>

#include "plan/plan_cache.h"
#include "plan_check.h"

namespace mercutio::fuzz {

Input example(Random& random) {
  static const char* const kHints[] = {"romio_cb_write=enable;romio_cb_read=enable", "cb_nodes=3",          "cb_buffer_size=64",
                                       "mercutio_domains=stripe_cyclic",             "mercutio_strategy=dynamic", "mercutio_strategy=transpose",
                                       "mercutio_domains=group_cyclic",              "cb_config_list=n0:2,*:1",   "mercutio_placement=cost",
                                       "mercutio_domains=aligned",                   "mercutio_placement=stripe_aware", "romio_lustre_co_ratio=4"};
  std::string text;
  for (i64 i = pick(random, 0, 4); i > 0; --i) text += std::string(kHints[pick(random, 0, 11)]) + ";";
  if (pick(random, 0, 3) == 0) {
    static const char* const kMarks[] = {"*", "n0", "n1", ":", ":2", ":*", ":0", ",", " ", ":999999999"};
    text += "cb_config_list=";
    for (i64 i = pick(random, 1, 9); i > 0; --i) text += kMarks[pick(random, 0, 9)];
    text += ";";
  }
  Input out{static_cast<std::byte>(text.size())};
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
  for (i64 i = pick(random, 8, 150); i > 0; --i) out.push_back(static_cast<std::byte>(random() % (pick(random, 0, 3) ? 200 : 256)));
  return out;
}

namespace {

constexpr i64 kFarthest = INT64_MAX - (i64{1} << 40);   // a displacement and an offset below 2^62 each
constexpr i64 kMostData = i64{1} << 50;

struct Case {
  Hints hints;
  Topology topology;
  Layout layout;
  std::vector<RankSummary> ranks;
  Direction direction = Direction::kRead;
  bool atomic = false;
};

i64 place_from(Taker& taker) {
  const i64 number = taker.number();
  return std::min(kFarthest, number == INT64_MIN ? 0 : number < 0 ? -number : number);
}

// Ranges with stripes of their own; the last reaches the end of the file.
void take_components(Taker& taker, Layout& layout) {
  i64 begin = 0;
  for (i64 left = taker.byte() % 5; left >= 0; --left) {
    LayoutComponent& component = layout.components.emplace_back();
    component.begin = begin;
    component.end = begin = left == 0 ? kEndOfFile : std::min(kFarthest, begin + 1 + place_from(taker) % (i64{1} << (taker.byte() % 60)));
    component.stripe_bytes = 1 + place_from(taker) % (i64{1} << 32);
    component.stripe_count = taker.byte() % 20;
    if (component.end == kFarthest) return;
  }
}

void take_machine(Taker& taker, Case& out) {
  const auto nodes = static_cast<std::size_t>(taker.byte() % 4 + 1);
  for (std::size_t node = 0; node < nodes; ++node) out.topology.node_names.push_back("n" + std::to_string(node));
  for (std::size_t rank = 0; rank < out.ranks.size(); ++rank) out.topology.node_of_rank.push_back(taker.byte() % static_cast<i64>(nodes));
  if (nodes == 1 && taker.flag()) out.topology.segment_bytes = 20 * MiB;
  if (taker.byte() % 4 == 0) {
    const auto columns = static_cast<i64>(taker.byte() % 4 + 1), all = static_cast<i64>(out.ranks.size());
    if (all % columns == 0) out.topology.cartesian = {all / columns, columns};
  }
  if (taker.flag()) out.topology.link_mb_per_s = taker.byte(), out.topology.memory_mb_per_s = taker.byte() * 100;
  if (taker.flag())
    for (std::size_t rank = 0; rank < out.ranks.size(); ++rank) out.topology.numa_of_rank.push_back(taker.byte() % 3);
  if (taker.flag()) out.layout.server_mb_per_s = taker.byte() * 10, out.layout.first_server = taker.byte() % 20 - 1;
  if (taker.flag()) out.layout.stripe_bytes = std::min<i64>(place_from(taker), i64{1} << 32);
  if (taker.flag()) out.layout.stripe_count = taker.byte() % 20;
  if (taker.byte() % 4 == 0) out.layout.block_bytes = taker.byte() * 512;
  if (taker.byte() % 4 == 0) take_components(taker, out.layout);
}

Case case_from(Taker& taker) {
  Case out;
  HintSet set;
  const std::string text = taker.text(200);
  apply_hints(set, parse_hint_string(text), HintSource::kInfo, HintTime::kOpen);
  out.hints = set.values;
  out.direction = taker.flag() ? Direction::kWrite : Direction::kRead;
  out.atomic = taker.byte() % 16 == 15;
  const i64 form = taker.byte() % 4;
  const auto ranks = static_cast<std::size_t>(taker.byte() % 16 + 1);
  i64 next = place_from(taker) / 2;
  for (std::size_t i = 0; i < ranks; ++i) {
    RankSummary rank;
    rank.first = form == 0 ? place_from(taker) : form == 1 ? taker.byte() : next;
    const i64 span = form == 0 ? place_from(taker) : taker.byte() * (form == 3 ? 4099 : 1);
    rank.last = std::min(kFarthest + 1, rank.first > kFarthest - span ? kFarthest + 1 : rank.first + span);
    const i64 room = std::min(kMostData, rank.last - rank.first);
    rank.bytes = taker.flag() ? room : std::min(room, place_from(taker));
    if (rank.bytes > 0 && taker.flag()) rank.run_bytes = 1 + taker.byte() % rank.bytes;
    if (rank.run_bytes > 0 && taker.flag()) rank.first_run_bytes = 1 + taker.byte() % rank.bytes;
    next = std::min(kFarthest, rank.last + (taker.byte() % 8 == 0 ? taker.byte() : 0));
    out.ranks.push_back(rank);
  }
  take_machine(taker, out);
  return out;
}

void check_shift(const Plan& plan, const Pattern& pattern, const Case& one, Taker& taker) {
  if (!plan.exchanges()) return;
  const i64 unit = plan.shift_unit(), times = taker.byte() % 9 - 4;
  FUZZ_CHECK(unit >= 1, "the unit of a shift");
  i64 delta = 0, end = 0;
  if (__builtin_mul_overflow(unit, times, &delta) || __builtin_add_overflow(pattern.end, delta, &end) || end > kFarthest + 1) return;
  Case moved = one;
  for (RankSummary& rank : moved.ranks) {
    if (rank.bytes == 0) continue;
    if (rank.first + delta < 0) return;
    rank.first += delta;
    rank.last += delta;
  }
  const Pattern there = summarise(moved.direction, moved.atomic, moved.ranks);
  PlanCache cache;
  cache.plan_for({pattern, one.hints, one.topology, one.layout});
  const PlanCache::Answer answer = cache.plan_for({there, moved.hints, moved.topology, moved.layout});
  const Layout here = pattern.bytes > 0 ? within(one.layout, pattern.begin, pattern.end) : one.layout;
  const bool alike = delta == 0 || one.layout.components.empty() || (here.components.empty() && here == within(one.layout, there.begin, there.end));
  FUZZ_CHECK(answer.remembered == alike, "the plan does not serve " + std::to_string(delta) + " bytes on");
  Plan expected = make_plan(there, moved.hints, moved.topology, moved.layout), found = *answer.plan;
  expected.reasons = found.reasons = {};
  FUZZ_CHECK(expected == found, "another plan " + std::to_string(delta) + " bytes on:\n" + explain(expected, there) + "\nnot\n" + explain(found, there));
}

}  // namespace
}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio;
  using namespace mercutio::fuzz;
  Taker taker(std::as_bytes(std::span(data, size)));
  const Case one = case_from(taker);
  const Pattern pattern = summarise(one.direction, one.atomic, one.ranks);
  const Plan plan = make_plan(pattern, one.hints, one.topology, one.layout);
  check_plan(plan, pattern, one.ranks, taker);
  check_shift(plan, pattern, one, taker);
  return 0;
}
