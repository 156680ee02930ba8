// Plan: how a collective access is carried out. A value: the same on all ranks because its inputs are agreed, and holding
// rules rather than per-rank lists (O(aggregators)). Every technique is a value of one of its fields.
//
// make_plan runs named passes, in order: strategy, placement, domains, rounds, exchange. Each leaves a Reason. The engine
// only looks things up in the result; it takes no decision of its own that ranks would have to agree on.
#pragma once

#include <optional>
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
  kDynamicSegmentation,   // groups of ranks with an aggregator each, which takes the group's bytes in file order
  kStaticSegmentation,    // the same groups, fixed by the view or the ranks' grid
  kRowTransposition,      // rows of a Cartesian decomposition; every member writes its share of the row's range
};
enum class Placement { kRankOrder, kRoundRobin, kStripeAware, kCost };
enum class DomainMap {
  kEven,           // [begin, end) in equal shares
  kAligned,        // equal shares whose inner borders fall on multiples of `unit_bytes`
  kStripeCyclic,   // unit number s belongs to aggregator s mod A: the same in every access
  kGroupCyclic,    // equal blocks of units; inside a block as above among `period` aggregators
  kRangeCyclic,    // `ranges`, as the file's layout has them: inside each as above, with units of its own
  kSegments,       // `segments`: ranges of groups of ranks
};
enum class ExchangeKind {
  kMessages,       // every rank is a node of its own, with a stream to each aggregator
  kSharedMemory,   // every rank copies into and out of the aggregators' windows itself
  kTwoLayer,       // the same inside each node; between nodes a stream for each domain and node (plan/node_buffers.h)
};
enum class ExchangeOrder { kNormal, kRing, kNodeShift, kNodeRankShift };   // plan/schedule.h

struct Reason {
  std::string pass;
  std::string text;
  bool operator==(const Reason&) const = default;
};

struct FileRange {
  i64 begin = 0, end = 0;
  i64 bytes() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool operator==(const FileRange&) const = default;
};

// What an aggregator owns under kSegments: the bytes in `range` of the ranks [first_rank, end_rank). Ranges of one group of
// ranks are disjoint; those of different groups may overlap.
struct RankSegment {
  i64 first_rank = 0, end_rank = 0;
  FileRange range;
  bool operator==(const RankSegment&) const = default;
};

// Under kRangeCyclic: unit number s, from file offset 0, belongs to aggregator (first + s mod period) mod A.
struct CyclicRange {
  FileRange range;
  i64 unit_bytes = 1, period = 1, first = 0;
  bool operator==(const CyclicRange&) const = default;
};

struct Plan {
  Strategy strategy = Strategy::kIndividual;
  std::vector<i64> aggregators;   // ranks; aggregator i owns domain i
  Placement placement = Placement::kRoundRobin;
  // Domains: [begin, end) cut into blocks at domain_origin + b * domain_bytes. A block belongs to `period` aggregators in a
  // row, which own its units (numbered from file offset 0) in turn. With period 1 a block is a domain.
  DomainMap domain_map = DomainMap::kEven;
  i64 begin = 0, end = 0;
  i64 domain_origin = 0;
  i64 domain_bytes = 0;
  i64 unit_bytes = 1;
  i64 period = 1;
  std::vector<RankSegment> segments;  // kSegments: one an aggregator
  std::vector<CyclicRange> ranges;    // kRangeCyclic: they tile [begin, end); unit_bytes is then the largest of theirs
  // Rounds: a window of buffer_bytes at a time; `depth` windows in flight.
  i64 buffer_bytes = 0;
  i64 depth = 1;
  i64 node_buffers = 1;                 // through the memory of nodes: the most domains whose windows one rank keeps
  i64 rounds = 0;                 // of the aggregator that has the most
  // At most `throttle` windows at the storage at a time, of all aggregators whose numbers are equal modulo `token_rings`; 0: any.
  i64 throttle = 0;
  i64 token_rings = 1;
  ExchangeKind exchange = ExchangeKind::kMessages;
  i64 parcel_bytes = 0;           // of windows that travel together, at most; larger ones travel alone
  bool sparse = false;            // reading: aggregators read what is asked for, not whole windows
  ExchangeOrder order = ExchangeOrder::kNormal;
  std::vector<Reason> reasons;    // one a pass

  bool operator==(const Plan&) const = default;

  i64 domains() const { return static_cast<i64>(aggregators.size()); }
  bool exchanges() const { return strategy >= Strategy::kTwoPhase; }
  bool cyclic() const { return domain_map >= DomainMap::kStripeCyclic && domain_map <= DomainMap::kRangeCyclic; }
  // All O(1), under kRangeCyclic O(ranges). What aggregator i owns lies in domain(i), which may be empty; it is exactly the union of its windows, in
  // ascending order. Under kSegments only the bytes of the ranks it serves.
  FileRange domain(i64 i) const;
  bool serves(i64 i, i64 rank) const;
  i64 windows(i64 i) const;
  FileRange window(i64 i, i64 round) const;       // empty beyond its windows, not empty before
  i64 largest_window(i64 i) const;                // no window of aggregator i has more bytes; any of them may have as many
  i64 owner(i64 offset, i64 rank = 0) const;      // the aggregator (index) of a byte; O(log aggregators) under kSegments
  i64 share_end(i64 offset, i64 rank = 0) const;  // one past the bytes behind `offset` that surely have the same owner
  // The same pattern moved by a multiple of this many bytes has the same plan, moved.
  i64 shift_unit() const;

 private:
  FileRange block(i64 i) const;
  i64 first_window(i64 i) const;                  // where the first window would start, before clipping
  const CyclicRange& range_at(i64 offset) const;
};

// The strategy that a hint asks for by name, if any does.
std::optional<Strategy> strategy_named(const Hints& hints);

Plan make_plan(const Pattern& pattern, const Hints& hints, const Topology& topology, const Layout& layout);
// `delta` must be a multiple of plan.shift_unit(). A plan without exchange is the same everywhere.
void shift(Plan& plan, i64 delta);

// The most aggregators a plan takes where cb_nodes leaves the number to it and the file isn't on more servers; never more than there are ranks.
i64 most_aggregators(const Topology& topology, const Hints& hints);

// The ranks that aggregate a large interleaved write; none where no data is exchanged.
std::vector<i64> usual_aggregators(const Hints& hints, const Topology& topology, const Layout& layout);

// Whether `plan` may carry out `pattern`: every byte in exactly one domain, ranks that exist, sizes within bounds.
Status verify(const Plan& plan, const Pattern& pattern);
// Whether the windows that a rank keeps fit into what it has for them in the memory of its node (plan/node_layout.h). O(1).
Status verify_room(const Plan& plan, i64 room_bytes);

// A page for people: every field with its reason. Prints what is there and decides nothing.
std::string explain(const Plan& plan, const Pattern& pattern);
// What that means for each aggregator (node, domain, servers) and the order in which each rank turns to them; of the first
// of them, where there are many.
std::string explain_ranks(const Plan& plan, const Topology& topology, const Layout& layout);

}  // namespace mercutio
