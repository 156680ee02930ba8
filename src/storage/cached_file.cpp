#include "storage/cached_file.h"

#include "storage/finished_transfer.h"

namespace mercutio {

std::unique_ptr<Transfer> CachedFile::begin(Direction direction, CacheRequest& request, bool asynchronous) {
  stats.requests.fetch_add(1, std::memory_order_relaxed);
  request.start_ns = sink ? now_ns() : 0;
  if (asynchronous) return storage.start(direction, request.pieces);
  return finished_transfer(direction == Direction::kRead ? storage.read(request.pieces) : storage.write(request.pieces));
}

void CachedFile::record(TraceKind kind, const CacheRequest& request, i64 moved) {
  if (!sink) return;
  TraceEvent event{kind, request.start_ns, now_ns(), moved, request.range.first};
  event.span = request.range.last - request.range.first;
  sink->record(event);
}

void CachedFile::record_calls(TraceKind kind, i64& calls, i64 unused_bytes) {
  if (sink && calls > 0) {
    const i64 now = now_ns();
    TraceEvent event{kind, now, now, unused_bytes};
    event.pieces = calls;
    sink->record(event);
  }
  calls = 0;
}

}  // namespace mercutio
