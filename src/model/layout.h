// How a file lies on its servers: round-robin stripes, the same everywhere or different by range. stripe_bytes 0: unknown or not
// striped. And whether reading it is known to be no more than copying: it lies in memory, or the page cache held what was read of it
// before.
//
// Stripes are numbered from the start of the file, also those of a component that begins later, as Lustre numbers them: byte x of a
// component is in its stripe x / stripe_bytes, which is the stripe_count'th in turn.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "base/types.h"

namespace mercutio {

inline constexpr i64 kEndOfFile = std::numeric_limits<i64>::max();

// The stripes of one range of a file.
struct LayoutComponent {
  i64 begin = 0, end = kEndOfFile;
  i64 stripe_bytes = 0;               // 0: not said
  i64 stripe_count = 0;               // 0: not known yet, as of all servers that there will be
  i64 mirror = 0;                     // components of another mirror hold the same bytes again
  bool on_metadata_server = false;
  bool extension = false;             // room into which the component before it may grow
  bool instantiated = true;           // its servers are chosen
  bool stale = false;                 // of a mirror that misses later writes
  bool overstriped = false;           // a server may have several stripes
  std::vector<i64> servers{};         // of the stripes, in turn; empty: not known
  std::string pool{};                 // the servers are taken from it; empty: from all
  bool operator==(const LayoutComponent&) const = default;
};

// A part of a file that is striped in one way.
struct StripeRange {
  i64 begin = 0, end = kEndOfFile;
  i64 stripe_bytes = 0, stripe_count = 0;
  bool operator==(const StripeRange&) const = default;
};

struct Layout {
  // Of the whole file; where it has components, of the one that was written last.
  i64 stripe_bytes = 0;
  i64 stripe_count = 0;
  i64 first_server = -1;
  i64 server_mb_per_s = 0;   // what one server can take; 0: unknown
  bool cached = false;
  i64 block_bytes = 0;       // what the file system writes at a time, where there are no stripes; 0: unknown
  i64 mirror = 0;            // the mirror that is read and written
  std::vector<LayoutComponent> components{};   // by mirror and range; empty: the same stripes everywhere
  bool operator==(const Layout&) const = default;

  // The component of that byte in the mirror that is read and written; null: none has it.
  const LayoutComponent* component_at(i64 offset) const;
  // The server that has the byte; -1: not known.
  i64 server_at(i64 offset) const;
  // More servers may be chosen, or others, as the file grows.
  bool may_change() const;
};

// What [begin, end) of the file is striped like: ranges that tile it, no two neighbours alike. None where nothing is known. Ranges
// of which the number of stripes isn't known have as many as any other one.
std::vector<StripeRange> stripes_of(const Layout& layout, i64 begin, i64 end);

// What an access to [begin, end) needs to know: no components where it is striped in one way, else those of stripes_of; and in
// stripe_bytes and stripe_count the stripes of most of it.
Layout within(const Layout& layout, i64 begin, i64 end);

}  // namespace mercutio
