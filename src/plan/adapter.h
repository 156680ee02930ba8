// Adapter: mercutio_adapt of one file. For each pattern of collective accesses that the file repeats it runs Trials over the ways of
// ways_of, and keeps what wins. All ranks feed it equal patterns and equal times (from the last agreement of an access), so they
// change alike without a message. It changes plans only.
//
// Calls come in the order of the accesses' tickets, one at a time.
#pragma once

#include <optional>
#include <span>
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
  bool leaves_default() const;   // the access under way is carried out in another way than the default
  bool tries() const;         // the access under way is carried out in another way than those around it
  void saw(i64 elapsed_ns);   // equal on all ranks
  // The same by the clocks of the ranks. Ranks of one node have one clock. With fewer cores than ranks, the first may have ended before the last gets
  // a core, so the time is that from the first begin to the last end. Ranks of several nodes have the time of the slowest one.
  void start(bool one_clock);                          // all ranks have entered the access
  void stop(std::span<i64, 2> times) const;            // this rank has ended it; of the times, the ranks find the minima
  void saw(std::span<const i64, 2> lowest);
  void end();                 // an access failed: the default from now on

  // How the access that follows is carried out, for explain: "trial 2 of 7: cb_nodes=8"; "": as always.
  std::string text() const;
  // What became of a pattern of which something was tried.
  struct Found {
    enum class State { kEnded, kUndecided, kDecided };   // kEnded: by an access that failed
    Direction direction = Direction::kRead;
    i64 bytes = 0;               // of the last access
    State state = State::kUndecided;
    std::string way;             // that is kept; "": the default
    i64 gain_percent = 0;        // as Trials'
    i64 ns = 0, default_ns = 0;  // medians of that way and of the default
    i64 calls = 0, tried = 0, spent_ns = 0;   // accesses; of these, trials; and what they took more than the default
  };
  std::vector<Found> found() const;
  // The same, a line for each pattern.
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
  // A pattern has ways from its second access on: making them takes a dozen plans, and most patterns that occur once never occur again.
  struct Known {
    Key key;
    Hints asked;             // the hints that the ways start from
    Hints hints;             // of the way in `applied`
    std::vector<Way> ways;
    Trials trials = Trials(std::vector<Trials::Expected>(1));
    size_t applied = 0;
    i64 bytes = 0;           // of the last access
    i64 elapsed_ns = 0;      // of all that were measured
    i64 first_cost = 0;
    bool searches() const { return ways.empty() || trials.searches(); }
  };
  i64 find(const PlanQuestion& question);
  static void make_ways(Known& known, const PlanQuestion& question, const FixedHints& fixed);

  static constexpr size_t kMostPatterns = 8;
  const i64 worth_ns_;
  std::vector<Known> known_;
  i64 current_ = -1;    // of the access under way
  i64 edition_ = 0;
  bool ended_ = false;
  bool one_clock_ = true, yields_were_slow_ = false;
  i64 start_ns_ = 0;
};

}  // namespace mercutio
