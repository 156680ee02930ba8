#include "storage/cached_file.h"

#include "storage/finished_transfer.h"

namespace mercutio {

void DroppedReads::take(std::deque<CacheRequest>& reads, i64 most) {
  for (CacheRequest& read : reads)
    if (read.transfer) reads_.push_back(std::move(read));
  reads.clear();
  std::erase_if(reads_, [](const CacheRequest& read) { return read.transfer->done(); });
  i64 bytes = 0;
  for (const CacheRequest& read : reads_) bytes += read.bytes;
  for (; bytes > most; reads_.pop_front()) bytes -= reads_.front().bytes;
}

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
