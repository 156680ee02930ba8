// KnownForms: which bytes of a window are meant, as a leader told an aggregator before (engine/stream_format.h). Regular patterns have
// the same few forms in all windows, and an access that is repeated, also further on in the file, has those it had before: what
// both ends keep is sent as its place in what they keep. Inside engine/ only.
//
// The leader decides what is kept and at which place, so both ends of a stream always keep the same; forms go once, in order,
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
class KnownForms {
 public:
  using Form = std::vector<std::byte>;
  static constexpr i64 kNowhere = -1;
  static constexpr i64 kMostBytes = 4 * MiB;   // of all streams of a rank together

  // ---- the leader's end ----
  // An operation begins.
  void begin(i64 most_bytes);
  i64 find(ConstBytes form);
  // Where it is from now on; kNowhere: there is no room.
  i64 keep(ConstBytes form);

  // ---- the aggregator's end ----
  // A form is on its way to a place; behind one announced as the first there are none. False: no leader would say so.
  bool expect(i64 place, i64 bytes, i64 most_bytes);
  bool expected(i64 place) const { return place >= 0 && place < static_cast<i64>(forms_.size()); }
  void fill(i64 place, Form form) { forms_[static_cast<size_t>(place)] = std::move(form); }
  // Empty: it has not come yet.
  const Form& at(i64 place) const { return forms_[static_cast<size_t>(place)]; }

 private:
  void clear();

  std::vector<Form> forms_;
  std::unordered_map<std::uint64_t, i64> place_of_;   // by hash; the leader's end only
  i64 bytes_ = 0, most_bytes_ = 0;
  i64 found_ = 0;
  bool full_ = false;
};

// Those of all streams of a file at this rank. Operations that use the memory of the node take turns, so one at a time has a
// stream's.
class StreamForms {
 public:
  KnownForms& sent(i64 aggregator, i64 domain) { return of({aggregator, domain, true}); }
  KnownForms& received(i64 leader, i64 domain) { return of({relay, domain, false}); }

 private:
  using Key = std::tuple<i64, i64, bool>;
  KnownForms& of(Key key) {
    std::lock_guard lock(mutex_);
    return forms_[key];
  }
  std::mutex mutex_;
  std::map<Key, KnownForms> forms_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio
