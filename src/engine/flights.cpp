#include "engine/flights.h"

#include "base/assert.h"
#include "base/attempt.h"
#include "engine/pieces.h"

namespace mercutio {

void Flights::start(i64 window, IoPiece piece, std::unique_ptr<HeldLock> guard) {
  MERCUTIO_ASSERT(piece.bytes > 0 && (flights_.empty() || flights_.back().window < window));
  Flight& flight = flights_.emplace_back();
  flight.window = window;
  flight.piece = piece;
  flight.start_ns = now_ns();
  if (direction_ == Direction::kWrite && file_->dirty) file_->dirty->store(true);   // also when it fails
  if (beside() && !guard) {
    const Status started = attempt([&] {
      flight.transfer = file_->storage->start(direction_, {piece});
      return ok_status();
    });
    if (!started) flight.moved = started.error();
    if (started && file_->counters) file_->counters->clock.transfers(+1);
    return;
  }
  const PhaseScope phase(file_->counters, Phase::kStorage);
  const AbsorbLook buffer(*file_);
  const WaitWatch::Look look = watch_.before(/*closely=*/true);
  const std::span<const IoPiece> pieces(&piece, 1);
  flight.moved = attempt([&] {
    return direction_ == Direction::kRead ? file_->storage->read(pieces) : file_->storage->write(pieces);
  });
  flight.absorbed = buffer.absorbed();
  flight.moved = release_after(*std::move(flight.moved), std::move(guard));
  const bool waited = watch_.after(look);
  if (direction_ == Direction::kRead && file_->watch) file_->watch->saw_read(piece.bytes, waited);
}

std::optional<Flights::Landed> Flights::land() {
  if (flights_.empty()) return std::nullopt;
  Flight& flight = flights_.front();
  if (flight.transfer && !flight.transfer->done()) return std::nullopt;
  Landed landed{flight.window, flight.piece, flight.transfer ? flight.transfer->wait() : std::move(*flight.moved)};
  if (flight.transfer && file_->counters) file_->counters->clock.transfers(-1);
  if (landed.moved && !flight.absorbed) record_pieces(*file_, direction_, {flight.start_ns, now_ns()}, std::span(&landed.piece, 1), *landed.moved);
  flights_.pop_front();
  return landed;
}

}  // namespace mercutio
