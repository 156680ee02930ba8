// Adapter: mercutio_adapt of one file. For each pattern of collective accesses that the file repeats it runs Trials over the ways of
// ways_of, and keeps what wins. All ranks feed it equal patterns and equal times (the slowest rank's, from the last agreement of an access), so they
// change alike without a message. It changes plans only.
//
// Calls come in the order of the accesses' tickets, one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/trials.h"
#include "plan/ways.h"

namespace mercutio {

class Adapter {
 public:
  static constexpr i64 kWorthNs = 20'000;   // shorter accesses are left alone: an agreement takes as long
  explicit Adapter(i64 worth_ns = kWorthNs) : worth_ns_(worth_ns) {}

  // Whether accesses of this direction must be planned one by one: something is being tried, or another way than the default is in use.
  bool searches(Direction direction) const;
  // The hints for an access: those of the question, or others, valid until the next call. If measures() then, saw() or end() follows.
  const Hints& hints_for(const PlanQuestion& question, const FixedHints& fixed, i64 hints_edition);
  bool measures() const { return current_ >= 0; }
  void saw(i64 elapsed_ns);   // of the slowest rank
  void end();                 // an access failed: the default from now on

  // How the access that follows is carried out, for explain: "trial 2 of 7: cb_nodes=8"; "": as always.
  std::string text() const;
  // What was found, a line for each pattern.
  std::string report() const;
  // The hints that won, of the pattern that took the most time of those where another way than the default did; nothing: nowhere.
  std::optional<InfoItems> winner() const;

 private:
  struct Key {
    Direction direction;
    i64 bytes_class, participants, contiguous, disjoint, run_class, gap_class, cached;
    bool operator==(const Key&) const = default;
  };
  static Key key_of(const PlanQuestion& question);
  struct Known {
    Key key;
    std::vector<Way> ways;
    Trials trials;
    Hints hints;             // of the way in `applied`
    size_t applied = 0;
    i64 bytes = 0;           // of the last access
    i64 elapsed_ns = 0;      // of all that were measured
    Hints asked;             // the hints that the ways start from
  };
  i64 find(const PlanQuestion& question, const FixedHints& fixed);

  static constexpr size_t kMostPatterns = 8;
  const i64 worth_ns_;
  std::vector<Known> known_;
  i64 current_ = -1;    // of the access under way
  i64 edition_ = 0;
  bool ended_ = false;
};

}  // namespace mercutio
