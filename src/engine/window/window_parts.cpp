#include "engine/window/window_parts.h"

#include <algorithm>
#include <tuple>

#include "base/assert.h"

namespace mercutio {
namespace {

// The first window from `from` on that extends beyond a file offset. The windows of a domain are in file order.
i64 window_beyond(const Plan& plan, i64 domain, i64 from, i64 offset) {
  i64 low = from, high = plan.windows(domain);
  while (low < high) {
    const i64 middle = low + (high - low) / 2;
    plan.window(domain, middle).end > offset ? high = middle : low = middle + 1;
  }
  return low;
}

}  // namespace

std::pair<i64, i64> RankAccess::part_in(i64 from, i64 to) const {
  if (end <= begin || last <= from || first >= to) return {0, 0};
  const i64 part_begin = first >= from ? begin : std::max(begin, stream_position(from));
  const i64 part_end = last <= to ? end : std::min(end, stream_position(to));
  return part_begin < part_end ? std::pair{part_begin, part_end} : std::pair<i64, i64>{0, 0};
}

WindowPart next_part(const Plan& plan, i64 domain, i64 rank, const RankAccess& access, i64 from) {
  const i64 windows = plan.windows(domain);
  const bool concerned = access.end > access.begin && plan.serves(domain, rank);
  WindowPart part{concerned ? from : windows, 0, 0};
  for (; part.window < windows; ++part.window) {
    FileRange window = plan.window(domain, part.window);
    const i64 position = window.begin <= access.first ? access.begin : access.stream_position(window.begin);
    if (position >= access.end) break;
    const i64 offset = access.displacement + access.filetype->offset_of(position);
    if (offset >= window.end) {   // far beyond this window: skip the windows in between
      part.window = window_beyond(plan, domain, part.window, offset);
      if (part.window == windows) break;
      window = plan.window(domain, part.window);
    }
    std::tie(part.begin, part.end) = access.part_in(window.begin, window.end);
    if (part.empty()) continue;
    MERCUTIO_ASSERT(part.window >= from && part.begin >= access.begin && part.end <= access.end);
    return part;
  }
  return WindowPart{windows, 0, 0};
}

}  // namespace mercutio
