// RunListCache: which bytes of a window are meant, as a leader told an aggregator before (engine/stream_format.h). Regular patterns have
// the same few run lists in all windows, and an access that is repeated, also further on in the file, has those it had before: what
// both ends keep is sent as its index in what they keep. Inside engine/ only.
//
// The leader decides what is kept and at which index, so both ends of a stream always keep the same; run lists go once, in order,
// and stay until an operation comes that needs none of them and finds no room for its own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/thread_annotations.h"
#include "comm/comm.h"

namespace mercutio {

// Of one stream, at one of its ends.
class RunListCache {
 public:
  using RunList = std::vector<std::byte>;
  static constexpr i64 kNone = -1;
  static constexpr i64 kMostBytes = 4 * MiB;   // of all streams of a rank together

  // ---- the leader's end ----
  // An operation begins.
  void begin(i64 most_bytes);
  i64 find(ConstBytes run_list);
  // Where it is from now on; kNone: there is no room.
  i64 keep(ConstBytes run_list);

  // ---- the aggregator's end ----
  // A run list is on its way to an index; behind one announced as the first there are none. False: no leader would say so.
  bool expect(i64 index, i64 bytes, i64 most_bytes);
  bool expected(i64 index) const { return index >= 0 && index < static_cast<i64>(lists_.size()); }
  void fill(i64 index, RunList run_list) { lists_[static_cast<size_t>(index)] = std::move(run_list); }
  // Empty: it has not come yet.
  const RunList& at(i64 index) const { return lists_[static_cast<size_t>(index)]; }

 private:
  void clear();

  std::vector<RunList> lists_;
  std::unordered_map<std::uint64_t, i64> index_of_;   // by hash; the leader's end only
  i64 bytes_ = 0, most_bytes_ = 0;
  i64 found_ = 0;
  bool full_ = false;
};

// Those of all streams of a file at this rank. Operations that use the memory of the node take turns, so one at a time has a
// stream's.
class RunListCaches {
 public:
  RunListCache& sent(i64 aggregator, i64 domain) { return of({aggregator, domain, true}); }
  RunListCache& received(i64 leader, i64 domain) { return of({leader, domain, false}); }

 private:
  using Key = std::tuple<i64, i64, bool>;
  RunListCache& of(Key key) {
    std::lock_guard lock(mutex_);
    return lists_[key];
  }
  std::mutex mutex_;
  std::map<Key, RunListCache> lists_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio
