// Plan: how a collective access is carried out. A value: the same on all ranks because its inputs are agreed, and holding
// rules rather than per-rank lists (O(aggregators)). Every technique is a value of one of its fields.
//
// make_plan runs named passes, in order: strategy, placement, domains, rounds, exchange. Each leaves a Reason. The engine
// only looks things up in the result; it takes no decision of its own that ranks would have to agree on.
#pragma once

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
  kTwoPhase,     // aggregators own file domains; data is exchanged between ranks and aggregators in rounds
};
enum class DomainMap {
  kEven,      // [begin, end) in equal shares
  kAligned,   // equal shares whose inner borders fall on multiples of `unit_bytes`
};
enum class ExchangeKind {
  kMessages,       // between ranks and aggregators
  kSharedMemory,   // every rank copies into and out of the aggregators' windows itself
};
enum class ExchangeOrder {
  kNormal,   // by rank, in every round
};

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

struct Plan {
  Strategy strategy = Strategy::kIndividual;
  std::vector<i64> aggregators;   // ranks; aggregator i owns domain i
  // Domains: [begin, end) cut at domain_origin + i * domain_bytes.
  DomainMap domain_map = DomainMap::kEven;
  i64 begin = 0, end = 0;
  i64 domain_origin = 0;
  i64 domain_bytes = 0;
  i64 unit_bytes = 1;
  // Rounds: a window of buffer_bytes at a time; `depth` windows in flight.
  i64 buffer_bytes = 0;
  i64 depth = 1;
  i64 rounds = 0;                 // of the aggregator that has the most
  ExchangeKind exchange = ExchangeKind::kMessages;
  // Messages of at most chunk_bytes, at most `lanes` of them in flight on a side.
  ExchangeOrder order = ExchangeOrder::kNormal;
  i64 chunk_bytes = 0;
  i64 lanes = 0;
  std::vector<Reason> reasons;    // one a pass

  bool operator==(const Plan&) const = default;

  i64 domains() const { return static_cast<i64>(aggregators.size()); }
  FileRange domain(i64 i) const;                  // may be empty
  i64 first_window(i64 i) const;                  // where the first window of domain i would start, before clipping
  i64 windows(i64 i) const;                       // of domain i
  FileRange window(i64 i, i64 round) const;       // of domain i; empty beyond its windows
};

Plan make_plan(const Pattern& pattern, const Hints& hints, const Topology& topology, const Layout& layout);

// The most aggregators a plan takes where cb_nodes leaves the number to it; never more than there are ranks.
i64 most_aggregators(const Topology& topology);

// Whether `plan` may carry out `pattern`: every byte in exactly one domain, ranks that exist, sizes within bounds.
Status verify(const Plan& plan, const Pattern& pattern);

// A page for people: every field with its reason. Prints what is there and decides nothing.
std::string explain(const Plan& plan, const Pattern& pattern);

}  // namespace mercutio
