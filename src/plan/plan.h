// Plan: how a collective access is carried out. It is a value, the same on all ranks because its inputs are agreed. It holds rules
// rather than per-rank lists (O(aggregators)). Every technique is a value of one of its fields.
//
// make_plan runs named passes in order: strategy, map, placement, domains, exchange, rounds. Each leaves a Reason. The engine only looks
// values up in the plan. It makes no decision of its own that the ranks would have to agree on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/hints.h"
#include "model/layout.h"
#include "model/pattern.h"
#include "model/topology.h"

namespace mercutio {

enum class Strategy {
  kIndividual,   // every rank moves its own data; no exchange
  kList,         // the same, a storage piece for each piece of the view
  kSieve,        // the same, in whole windows of the file
  kTwoPhase,     // aggregators own file domains; data is exchanged between ranks and aggregators in rounds
  kDynamicSegmentation,   // groups of ranks with one aggregator each, which handles the group's bytes in file order
  kStaticSegmentation,    // the same groups, fixed by the view or the ranks' grid
  kRowTransposition,      // rows of a Cartesian decomposition; every member writes its share of the row's range
};
enum class Placement { kRankOrder, kRoundRobin, kStripeAware, kCost };
enum class DomainMap {
  kEven,           // [begin, end) in equal shares
  kAligned,        // equal shares whose inner borders are multiples of `unit_bytes`
  kStripeCyclic,   // unit number s belongs to aggregator s mod A, the same in every access
  kGroupCyclic,    // equal blocks of units; within a block, cyclic over `period` aggregators
  kRangeCyclic,    // the `ranges` of the file's layout; cyclic within each range, with the range's own unit
  kSegments,       // `segments`: ranges of groups of ranks
};
enum class ExchangeKind {
  kMessages,       // every rank is a node of its own, with a stream to each aggregator
  kSharedMemory,   // every rank copies its data into and out of the aggregators' windows
  kTwoLayer,       // the same within each node; between nodes, one stream per domain and node (plan/node_buffers.h)
};
enum class ExchangeOrder { kNormal, kRing, kNodeShift, kNodeRankShift };   // plan/schedule.h

struct Reason {
  std::string pass;
  std::string text;
  bool operator==(const Reason&) const = default;
};

// The domain of an aggregator under kSegments: the bytes in `range` of the ranks [first_rank, end_rank). Ranges of one group of
// ranks are disjoint; those of different groups may overlap.
struct RankSegment {
  i64 first_rank = 0, end_rank = 0;
  FileRange range;
  bool operator==(const RankSegment&) const = default;
};

// Under kRangeCyclic: unit number s, from file offset 0, belongs to aggregator (first + s mod cycle mod period) mod A.
struct CyclicRange {
  FileRange range;
  i64 unit_bytes = 1, period = 1, cycle = 1, first = 0;
  bool operator==(const CyclicRange&) const = default;
};

struct Plan {
  Strategy strategy = Strategy::kIndividual;
  std::vector<i64> aggregators;   // ranks; aggregator i owns domain i
  Placement placement = Placement::kRoundRobin;
  // Domains: [begin, end) cut into blocks at domain_origin + b * domain_bytes. A block belongs to `period` aggregators in a
  // row, which own its units (numbered from file offset 0) in turn: unit s belongs to number s mod cycle mod period of them. With period 1 a block
  // is a domain. `cycle` is `period`, or, if that does not divide the number of servers, that number: so each server meets one aggregator.
  DomainMap domain_map = DomainMap::kEven;
  i64 begin = 0, end = 0;
  i64 domain_origin = 0;
  i64 domain_bytes = 0;
  i64 unit_bytes = 1;
  i64 period = 1, cycle = 1;
  std::vector<RankSegment> segments;  // kSegments: one per aggregator
  std::vector<CyclicRange> ranges;    // kRangeCyclic: they tile [begin, end); unit_bytes is the largest of their units
  // Rounds: one window of buffer_bytes at a time; `depth` windows in flight.
  i64 buffer_bytes = 0;
  i64 depth = 1;
  i64 node_buffers = 1;                 // kSharedMemory, kTwoLayer: maximum number of domains whose windows one rank keeps
  i64 rounds = 0;                 // maximum over the aggregators
  // At most `throttle` windows access the storage at a time, of all aggregators whose numbers are equal modulo `token_rings`;
  // 0: no limit.
  i64 throttle = 0;
  i64 token_rings = 1;
  ExchangeKind exchange = ExchangeKind::kMessages;
  i64 parcel_bytes = 0;           // maximum size of a parcel; larger windows travel alone
  bool sparse = false;            // reading: aggregators read requested bytes only, not whole windows
  bool lock_ahead = false;        // writing: aggregators say what they will write before (Storage::will_write)
  ExchangeOrder order = ExchangeOrder::kNormal;
  std::vector<Reason> reasons;    // one per pass

  bool operator==(const Plan&) const = default;

  i64 domains() const { return static_cast<i64>(aggregators.size()); }
  bool exchanges() const { return strategy >= Strategy::kTwoPhase; }
  bool cyclic() const { return domain_map >= DomainMap::kStripeCyclic && domain_map <= DomainMap::kRangeCyclic; }
  // All O(1), under kRangeCyclic O(ranges). The bytes of aggregator i are within domain(i), which may be empty. They are exactly the
  // union of its windows, in ascending order; under kSegments, only the bytes of the ranks that it serves.
  FileRange domain(i64 i) const;
  bool serves(i64 i, i64 rank) const;
  bool serves_any(i64 i, std::span<const i64> ranks) const;   // of ascending ranks; O(log ranks)
  i64 windows(i64 i) const;
  FileRange window(i64 i, i64 round) const;       // empty after its last window, never empty before
  i64 owner(i64 offset, i64 rank = 0) const;      // the aggregator (index) of a byte; O(log aggregators) under kSegments
  i64 share_end(i64 offset, i64 rank = 0) const;  // the bytes from `offset` to this offset have the same owner
  // If the pattern moves by a multiple of this many bytes, its plan is the same, moved.
  i64 shift_unit() const;

 private:
  FileRange block(i64 i) const;
  i64 first_window(i64 i) const;                  // the begin of the first window before clipping
  const CyclicRange& range_at(i64 offset) const;
};

// The strategy that a hint requests, if any.
std::optional<Strategy> strategy_named(const Hints& hints);

Plan make_plan(const Pattern& pattern, const Hints& hints, const Topology& topology, const Layout& layout);
// Moves a plan. `delta` must be a multiple of plan.shift_unit(). A plan without exchange does not depend on the offset.
void shift(Plan& plan, i64 delta);

// The maximum number of aggregators if cb_nodes doesn't set it and the file isn't on more servers. There may be fewer ranks.
i64 most_aggregators(const Topology& topology, const Hints& hints);

// The layout that the storage reports, or that of the hints if it reports none.
Layout layout_with_hints(Layout reported, const Hints& hints);

// The aggregators of a large interleaved write; empty if no data is exchanged.
std::vector<i64> usual_aggregators(const Hints& hints, const Topology& topology, const Layout& layout);

// Checks that `plan` can carry out `pattern`: every byte is in exactly one domain, ranks exist, sizes are within bounds.
Status verify(const Plan& plan, const Pattern& pattern);
// Whether the windows that a rank keeps fit into its area of the node's memory (plan/node_layout.h). O(1).
Status verify_room(const Plan& plan, i64 room_bytes);

// The plan as text for people: every field with its reason. Only prints.
std::string explain(const Plan& plan, const Pattern& pattern);
// The node, domain and servers of each aggregator, and the order in which each rank exchanges data with them. If there are many, only
// the first ones.
std::string explain_ranks(const Plan& plan, const Topology& topology, const Layout& layout);

}  // namespace mercutio
