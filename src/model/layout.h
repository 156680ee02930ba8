// How a file is distributed over servers: round-robin stripes, uniform or different by range. stripe_bytes 0: unknown or not
// striped. Also whether reads are known to be mere copies, because the file is in memory or earlier reads came from the page cache.
//
// As in Lustre, stripes are numbered from the start of the file, also in a component that begins later: byte x of a component is
// in stripe x / stripe_bytes of it, and stripes go to the component's servers in turn.
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
  i64 stripe_bytes = 0;               // 0: unknown
  i64 stripe_count = 0;               // 0: not known yet, such as "all servers"
  i64 mirror = 0;                     // components of other mirrors hold copies of the same bytes
  bool on_metadata_server = false;
  bool extension = false;             // space into which the previous component may grow
  bool instantiated = true;           // its servers have been chosen
  bool stale = false;                 // its mirror misses later writes
  bool overstriped = false;           // a server may have several stripes
  std::vector<i64> servers{};         // of the stripes, in turn; empty: unknown
  std::string pool{};                 // of servers; empty: all servers
  bool operator==(const LayoutComponent&) const = default;
};

// A part of a file with uniform stripes.
struct StripeRange {
  i64 begin = 0, end = kEndOfFile;
  i64 stripe_bytes = 0, stripe_count = 0;
  bool operator==(const StripeRange&) const = default;
};

struct Layout {
  // Of the whole file, or of the component that was written last.
  i64 stripe_bytes = 0;
  i64 stripe_count = 0;
  i64 first_server = -1;
  i64 server_mb_per_s = 0;   // bandwidth of one server; 0: unknown
  bool cached = false;
  i64 block_bytes = 0;       // block size of the file system, if there are no stripes; 0: unknown
  i64 mirror = 0;            // the mirror that is read and written
  std::vector<LayoutComponent> components{};   // by mirror and range; empty: uniform stripes
  bool operator==(const Layout&) const = default;

  // The component of that byte in the mirror in use; null: none.
  const LayoutComponent* component_at(i64 offset) const;
  // The server of the byte; -1: unknown.
  i64 server_at(i64 offset) const;
  // Whether more or other servers may be chosen as the file grows.
  bool may_change() const;
};

// The stripes of [begin, end): ranges that tile it, adjacent ones with different stripes; empty if nothing is known. A range whose
// number of stripes is unknown gets that of another range.
std::vector<StripeRange> stripes_of(const Layout& layout, i64 begin, i64 end);

// The layout for an access to [begin, end): without components if the range has uniform stripes, otherwise with those of
// stripes_of(). stripe_bytes and stripe_count are those of the largest part.
Layout within(const Layout& layout, i64 begin, i64 end);

}  // namespace mercutio
