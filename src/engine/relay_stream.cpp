#include "engine/relay_stream.h"

#include <utility>

namespace mercutio {

bool RelayStream::advance(i64& payloads) {
  bool moved = false;
  while (context_.outcome.messages && step(payloads)) moved = true;
  return moved;
}

bool RelayStream::take_announcement() {
  if (ended_ || waiting_) return false;
  if (!header_message_) {
    auto started = context_.channel.receive(relay_, bytes_of(std::span(&next_, 1)));
    if (!started) return fail(std::move(started).error());
    header_message_ = std::move(*started);
  }
  auto done = header_message_->test();
  if (!done) return fail(std::move(done).error());
  if (!*done) return false;
  header_message_.reset();
  if (Status fits = check(station_, next_); !fits) return fail(std::move(fits).error());
  announced_ = next_;
  ended_ = announced_.window == station_.windows();
  waiting_ = !ended_;
  return true;
}

bool RelayStream::take_up(i64& payloads) {
  if (!waiting_ || announced_.window >= station_.served() + station_.depth()) return false;
  const bool one_run = announced_.form_bytes == 0;
  if (context_.writing && !one_run && payloads <= 0) return false;
  underway_.push_back(std::make_unique<Underway>());
  Underway& one = *underway_.back();
  one.header = announced_;
  one.one_run = one_run;
  if (!one_run) {
    if (context_.writing) take_payload(one, payloads);
    one.form.resize(static_cast<size_t>(one.header.form_bytes));
    one.messages.add(context_.channel.receive(relay_, one.form));
  }
  if (context_.writing) one.messages.add(context_.channel.receive(relay_, data_of(one)));
  waiting_ = false;
  announced_.window += 1;   // until the next announcement
  return true;
}

Bytes RelayStream::data_of(const Underway& one) const {
  std::byte* at = one.one_run ? station_.slot(one.header.window).data + one.header.first : one.payload->data.get();
  return Bytes(at, static_cast<size_t>(one.header.bytes));
}

bool RelayStream::go_on(i64& payloads) {
  bool moved = false;
  for (const auto& one : underway_) moved |= !context_.writing && answer(*one, payloads);
  while (!underway_.empty() && (context_.writing || underway_.front()->answered) && underway_.front()->messages.done()) {
    Underway& one = *underway_.front();
    if (!one.messages.status()) return fail(one.messages.status().error());
    if (context_.writing && !leave(one)) return false;
    if (one.payload) ++payloads;
    underway_.pop_front();
    moved = true;
  }
  return moved;
}

bool RelayStream::leave(const Underway& one) {
  auto runs = runs_of(station_, one.header, one.form);
  if (!runs) return fail(std::move(runs).error());
  const Slot slot = station_.slot(one.header.window);
  if (!one.one_run) context_.channel.copied(one.header.bytes);
  if (!one.one_run) unpack_runs(*runs, one.payload->data.get(), slot.data);
  mark_runs(station_, one.header.window, *runs);
  slot.filled.fetch_add(one.header.bytes, std::memory_order_relaxed);
  return true;
}

bool RelayStream::answer(Underway& one, i64& payloads) {
  if (one.answered || station_.served() <= one.header.window || !one.messages.done()) return false;
  if (!one.one_run && payloads <= 0) return false;
  if (!one.messages.status()) return fail(one.messages.status().error());
  auto runs = runs_of(station_, one.header, one.form);
  if (!runs) return fail(std::move(runs).error());
  if (!one.one_run) take_payload(one, payloads);
  if (!one.one_run) context_.channel.copied(one.header.bytes);
  if (!one.one_run) pack_runs(*runs, station_.slot(one.header.window).data, one.payload->data.get());
  one.messages.add(context_.channel.send(relay_, data_of(one), 1));
  one.answered = true;
  return true;
}

bool RelayStream::fail(Error error) {
  if (context_.outcome.messages) context_.outcome.messages = std::move(error);
  return false;
}

void RelayStream::take_payload(Underway& one, i64& payloads) {
  --payloads;
  one.payload = std::make_unique<ScratchBuffer>(one.header.bytes);
}

}  // namespace mercutio
