#include "engine/window/window_parts.h"

#include <algorithm>

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

WindowPart next_part(const Plan& plan, i64 domain, i64 rank, const RankAccess& access, i64 from) {
  const i64 windows = plan.windows(domain);
  const bool concerned = access.end > access.begin && plan.serves(domain, rank);
  const auto position_at = [&](i64 offset) { return offset <= access.first ? access.begin : access.view->stream_position(offset); };
  for (i64 number = concerned ? from : windows; number < windows; ++number) {
    FileRange window = plan.window(domain, number);
    i64 begin = position_at(window.begin);
    if (begin >= access.end) break;
    const i64 offset = access.view->file_offset(begin);
    if (offset >= window.end) {   // far beyond this window: skip the windows in between
      number = window_beyond(plan, domain, number, offset);
      if (number == windows) break;
      window = plan.window(domain, number);
      if (window.begin > offset) begin = position_at(window.begin);
    }
    const i64 end = access.last <= window.end ? access.end : std::min(access.end, access.view->stream_position(window.end));
    if (begin >= end) continue;
    MERCUTIO_ASSERT(number >= from && begin >= access.begin && end <= access.end);
    return WindowPart{number, begin, end};
  }
  return WindowPart{windows, 0, 0};
}

}  // namespace mercutio
