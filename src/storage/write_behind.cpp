#include "storage/write_behind.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mercutio {
namespace {

constexpr i64 kSmallWritePart = 8;            // at most this part of a joined request is small
constexpr i64 kLongestKeptNs = 1000000000;    // while appends go on; a program that dies loses no older ones

// The copies in the memory are in the order of the pieces.
void append(CacheRequest& request, const IoPiece& piece) {
  if (piece.bytes <= 0) return;
  std::byte* const copy = request.memory.data.get() + request.bytes;
  std::memcpy(copy, piece.data, static_cast<size_t>(piece.bytes));
  if (!request.pieces.empty() && request.pieces.back().offset + request.pieces.back().bytes == piece.offset)
    request.pieces.back().bytes += piece.bytes;
  else
    request.pieces.push_back({piece.offset, copy, piece.bytes});
  request.range.add(piece);
  request.bytes += piece.bytes;
}

}  // namespace

bool WriteBehind::takes(std::span<const IoPiece> pieces, i64 bytes) {
  if (policy_.write_bytes == 0 || bytes == 0) return false;
  if (!joins()) return bytes <= policy_.write_bytes;
  return sequential_.continued_by(pieces) && sequential_.length > policy_.streak && bytes <= policy_.join_bytes / kSmallWritePart;
}

Result<i64> WriteBehind::keep(std::span<const IoPiece> pieces, i64 bytes) {
  MERCUTIO_TRY(make_room(pieces, bytes));
  if (!fills()) {
    CacheRequest request;
    request.memory = memory_for(std::max(bytes, policy_.join_bytes));
    request.pieces.reserve(pieces.size());
    writes_.push_back(std::move(request));
    empty_ = false;
    if (joins()) oldest_ns_ = now_ns();
  }
  for (const IoPiece& piece : pieces) append(writes_.back(), piece);
  bytes_ += bytes;
  file_.count(calls_);
  if (!joins()) MERCUTIO_TRY(begin());
  return bytes;
}

// What is filling must go before something is kept that does not continue it or would make it too large or too old.
Status WriteBehind::make_room(std::span<const IoPiece> pieces, i64 bytes) {
  if (fills()) {
    const CacheRequest& filling = writes_.back();
    const bool full = filling.bytes + bytes > policy_.join_bytes, apart = filling.range.last != pieces.front().offset;
    if (full || apart || now_ns() - oldest_ns_ > kLongestKeptNs) MERCUTIO_TRY(begin());
  }
  MERCUTIO_TRY(wait_for_overlaps(pieces));
  MERCUTIO_TRY(finish_done());
  while (!fills() && !has_room(bytes)) MERCUTIO_TRY(finish_oldest());
  return ok_status();
}

// Begins what is filling, and again what failed. Without memory for a request to fill meanwhile, it is executed here.
Status WriteBehind::begin() {
  for (CacheRequest& write : writes_)
    if (!write.transfer) write.transfer = file_.begin(Direction::kWrite, write, overlaps_requests());
  return overlaps_requests() ? ok_status() : finish_done();
}

Status WriteBehind::finish_done() {
  while (!writes_.empty() && writes_.front().transfer && writes_.front().transfer->done()) MERCUTIO_TRY(finish_oldest());
  return ok_status();
}

Status WriteBehind::finish_oldest() {
  CacheRequest& oldest = writes_.front();
  Result<i64> moved = oldest.transfer ? oldest.transfer->wait() : file_.begin(Direction::kWrite, oldest, false)->wait();
  oldest.transfer.reset();
  file_.record(TraceKind::kStorageWrite, oldest, moved ? *moved : 0);
  if (!moved) {
    Error error = std::move(moved).error().of_nothing_moved();   // of what is asked for now
    error.what += kKeptUntilNow;
    if (policy_.keeps_failed) return error;
    if (!error_) error_ = std::move(error);
  }
  spare_.push_back(std::move(oldest.memory));
  spare_bytes_ += spare_.back().capacity;
  bytes_ -= oldest.bytes;
  for (; spare_bytes_ > policy_.write_bytes; spare_.pop_front()) spare_bytes_ -= spare_.front().capacity;
  writes_.pop_front();
  empty_ = writes_.empty();
  file_.record_calls(TraceKind::kAbsorbedWrite, calls_);
  return ok_status();
}

CacheBuffer WriteBehind::memory_for(i64 bytes) {
  const auto fitting = std::find_if(spare_.begin(), spare_.end(), [&](const CacheBuffer& memory) { return memory.capacity >= bytes; });
  if (fitting == spare_.end()) return {std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes)), bytes};
  CacheBuffer memory = std::move(*fitting);
  spare_.erase(fitting);
  spare_bytes_ -= memory.capacity;
  return memory;
}

Status WriteBehind::wait_for_overlaps(std::span<const IoPiece> pieces) {
  const CacheRange range = range_of(pieces);
  const bool overlap = std::any_of(writes_.begin(), writes_.end(), [&](const CacheRequest& write) { return write.range.overlaps(range); });
  return overlap ? drain() : ok_status();
}

Status WriteBehind::drain() {
  while (!writes_.empty()) MERCUTIO_TRY(finish_oldest());
  return ok_status();
}

Status WriteBehind::finish_all() {
  MERCUTIO_TRY(drain());
  if (!error_) return ok_status();
  return *std::exchange(error_, std::nullopt);
}

}  // namespace mercutio
