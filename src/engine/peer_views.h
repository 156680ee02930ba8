// PeerViews: what the ranks of a file know of each other's fileviews. A filetype is shipped once, as its tree; after that
// an access costs a few words a rank (Worringen, Traeff, Ritzdorf, "Fast parallel non-contiguous file access", SC'03).
//
// Every rank says with each access whether it has shipped the filetype it uses now; if some have not, all of them ship in
// one gather, equal trees once. Costs the trees of all ranks' views in memory, each distinct one once.
#pragma once

#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "engine/collectives.h"
#include "model/view.h"

namespace mercutio {

// One rank's part of a collective access, in terms of its view: the stream range [begin, end), which lies in the file
// range [first, last).
struct PeerAccess {
  FlatTypeRef filetype;   // null: takes part without data
  i64 displacement = 0;
  i64 begin = 0, end = 0;
  i64 first = 0, last = 0;

  i64 stream_position(i64 offset) const { return offset <= displacement ? 0 : filetype->bytes_below(offset - displacement); }
  // The part of the stream range that lies in the file range [from, to); empty: {0, 0}.
  std::pair<i64, i64> part_in(i64 from, i64 to) const;
  // The cursor over stream bytes [from, to) of a file range starting at `window` that lies at `data`: yields addresses.
  Cursor cursor_in(std::byte* data, i64 window, i64 from, i64 to) const {
    return Cursor(filetype, displacement + reinterpret_cast<i64>(data) - window, from, to);
  }
};

// What a rank says of its view when it enters.
struct ViewHeader {
  std::uint64_t hash = 0;
  i64 displacement = 0;
  i64 known = 1;   // 0: the others may not have this filetype yet
};

class PeerViews {
 public:
  // Whether rank `rank`'s latest shipped filetype is the one with this hash.
  bool latest_is(i64 rank, std::uint64_t hash);
  // Rank's filetype with that hash, null if it has not come.
  FlatTypeRef find(i64 rank, std::uint64_t hash);
  void store(i64 rank, std::uint64_t hash, FlatTypeRef type);

 private:
  struct Tree {
    std::uint64_t hash = 0;
    FlatTypeRef type;
  };
  struct Known {
    Tree latest, before;   // the one before serves an access that started before the view changed
  };
  std::mutex mutex_;              // several accesses of a file may be in flight, in several threads
  std::vector<Known> known_ MERCUTIO_GUARDED_BY(mutex_);
};

// Ships what is unknown; `headers` holds every rank's, `mine` this rank's filetype (null without data). Collective whenever
// some rank's header says unknown. Afterwards `peers` holds the filetype of every rank with data.
Task<Status> ship_views(Channel channel, PeerViews& views, FlatTypeRef mine, std::span<const ViewHeader> headers,
                        std::span<PeerAccess> peers);

}  // namespace mercutio
