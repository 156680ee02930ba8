// PeerViews: what the ranks of a file know of each other's views. A filetype is sent once, as its tree; after that an
// access costs a few words a rank (Worringen, Traeff, Ritzdorf, "Fast parallel non-contiguous file access", SC'03).
//
// With each access every rank says whether it has sent its current filetype; if some have not, they send it in one
// gather, equal trees once. Memory: the trees of all ranks' views, each distinct one once.
#pragma once

#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "engine/collectives.h"
#include "model/view.h"

namespace mercutio {

// One rank's part of a collective access in terms of its view: the stream range [begin, end) and the file range [first,
// last) that contains it.
struct PeerAccess {
  FlatTypeRef filetype;   // null: the rank has no data
  i64 displacement = 0;
  i64 begin = 0, end = 0;
  i64 first = 0, last = 0;

  i64 stream_position(i64 offset) const { return offset <= displacement ? 0 : filetype->bytes_below(offset - displacement); }
  // The part of the stream range inside the file range [from, to); empty: {0, 0}.
  std::pair<i64, i64> part_in(i64 from, i64 to) const;
  // A cursor over the stream bytes [from, to) for a copy of the file range that begins at file offset `window` and
  // address `data`: yields addresses.
  Cursor cursor_in(std::byte* data, i64 window, i64 from, i64 to) const {
    return Cursor(filetype, displacement + reinterpret_cast<i64>(data) - window, from, to);
  }
};

// A rank's view in the gather of an access.
struct ViewHeader {
  std::uint64_t hash = 0;
  i64 displacement = 0;
  i64 known = 1;   // 0: other ranks may not have this filetype
};

class PeerViews {
 public:
  // Whether the latest filetype that the rank has sent has this hash.
  bool latest_is(i64 rank, std::uint64_t hash);
  // The rank's filetype with this hash; null if it has not arrived.
  FlatTypeRef find(i64 rank, std::uint64_t hash);
  void store(i64 rank, std::uint64_t hash, FlatTypeRef type);

 private:
  struct Tree {
    std::uint64_t hash = 0;
    FlatTypeRef type;
  };
  struct Known {
    Tree latest, before;   // the previous one is for accesses that started before the view changed
  };
  std::mutex mutex_;              // several threads may execute accesses of a file
  std::vector<Known> known_ MERCUTIO_GUARDED_BY(mutex_);
};

// Sends unknown filetypes. `headers` has every rank's header, `mine` is this rank's filetype (null without data).
// Collective if any header says unknown. Afterwards `peers` has the filetype of every rank with data.
Task<Status> ship_views(Channel channel, PeerViews& views, FlatTypeRef mine, std::span<const ViewHeader> headers,
                        std::span<PeerAccess> peers);

}  // namespace mercutio
