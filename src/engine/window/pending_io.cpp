#include "engine/window/pending_io.h"

#include "base/assert.h"
#include "base/attempt.h"
#include "engine/io/pieces.h"

namespace mercutio {

PendingIo::~PendingIo() {
  if (pending_.empty()) return;   // else the exchange has failed
  pending_.clear();
  if (direction_ == Direction::kWrite && file_->dirty) file_->dirty->store(true);
}

void PendingIo::start(i64 window, IoPiece piece, std::unique_ptr<HeldLock> guard) {
  MERCUTIO_ASSERT(piece.bytes > 0 && (pending_.empty() || pending_.back().window < window));
  Pending& one = pending_.emplace_back();
  one.window = window;
  one.piece = piece;
  one.start_ns = now_ns();
  if (overlaps() && !guard) {
    const Status started = attempt([&] {
      one.transfer = file_->storage->start(direction_, {piece});
      return ok_status();
    });
    if (!started) one.moved = started.error();
    if (started && file_->counters) file_->counters->clock.transfers(+1);
    return;
  }
  const BlockingDetector::Probe probe = blocking_.before(/*closely=*/true);
  one.moved = release_after(move_piece(*file_, direction_, piece), std::move(guard));
  const bool blocked = blocking_.after(probe);
  if (direction_ == Direction::kRead && file_->blocking && one.moved->ok()) file_->blocking->saw_read(**one.moved, blocked);
}

std::optional<PendingIo::Completed> PendingIo::next_completed() {
  if (pending_.empty()) return std::nullopt;
  Pending& one = pending_.front();
  if (one.transfer && !one.transfer->done()) return std::nullopt;
  Completed completed{one.window, one.piece, one.transfer ? one.transfer->wait() : std::move(*one.moved)};
  if (one.transfer && file_->counters) file_->counters->clock.transfers(-1);
  if (direction_ == Direction::kWrite && file_->dirty) file_->dirty->store(true);   // also on failure
  if (one.transfer && completed.moved) record_pieces(*file_, direction_, one.start_ns, std::span(&completed.piece, 1), *completed.moved);
  pending_.pop_front();
  return completed;
}

}  // namespace mercutio
