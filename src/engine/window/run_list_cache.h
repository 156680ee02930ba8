// RunListCache: the run lists that a leader has sent to an aggregator (engine/window/stream_format.h). Regular patterns have the same few
// run lists in all windows, and a repeated access, also at another offset, has those of the first one. A cached list is sent as its
// index. Inside engine/ only.
//
// The leader decides which lists are cached and at which index, so the caches at both ends are equal. Lists are appended. The cache
// is cleared when an operation has used none of its lists and found no room for its own.
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "plan/plan.h"

namespace mercutio {

// The cache of one stream at one of its ends.
class RunListCache {
 public:
  using RunList = std::vector<std::byte>;
  static constexpr i64 kNone = -1;
  static constexpr i64 kMostBytes = 4 * MiB;   // over all streams of a rank

  // ---- the leader's end ----
  // Call it at the beginning of an operation.
  void begin(i64 most_bytes);
  i64 find(ConstBytes run_list);
  // Stores a list and returns its index; kNone: no room.
  i64 keep(ConstBytes run_list);

  // ---- the aggregator's end ----
  // A header announces a list at this index. Index 0 clears the cache. False: the header is malformed.
  bool expect(i64 index, i64 bytes, i64 most_bytes);
  bool expected(i64 index) const { return index >= 0 && index < static_cast<i64>(lists_.size()); }
  void fill(i64 index, RunList run_list) { lists_[static_cast<size_t>(index)] = std::move(run_list); }
  // Empty if the list has not arrived.
  const RunList& at(i64 index) const { return lists_[static_cast<size_t>(index)]; }

 private:
  void clear();

  std::vector<RunList> lists_;
  std::unordered_map<std::uint64_t, i64> index_of_;   // by hash; only at the leader's end
  i64 bytes_ = 0, most_bytes_ = 0;
  i64 found_ = 0;
  bool full_ = false;
};

// The caches of all streams of a file on this rank. Only the holder of the ticket uses them.
class RunListCaches {
 public:
  static constexpr size_t kMostPlans = 4;
  // All ranks call it at the beginning of an exchange. Plans with other aggregators have other streams: when there were too many, as with
  // mercutio_adapt, all lists are forgotten.
  void begin(const Plan& plan);
  RunListCache& sent(i64 aggregator, i64 domain) { return caches_[{aggregator, domain, true}]; }
  RunListCache& received(i64 leader, i64 domain) { return caches_[{leader, domain, false}]; }

 private:
  std::array<std::uint64_t, kMostPlans> plans_{};   // hashes; 0: none
  std::map<std::tuple<i64, i64, bool>, RunListCache> caches_;
};

}  // namespace mercutio
