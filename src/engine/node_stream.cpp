#include "engine/node_stream.h"

#include <utility>

#include "base/assert.h"

namespace mercutio {

bool NodeStream::advance(i64& payloads) {
  bool moved = false;
  while (context_.outcome.messages && step(payloads)) moved = true;
  return moved;
}

bool NodeStream::take_announcement() {
  if (ended_ || waiting_) return false;
  if (!header_message_) {
    auto started = context_.channel.receive(leader_, bytes_of(std::span(&next_, 1)));
    if (!started) return fail(std::move(started).error());
    header_message_ = std::move(*started);
  }
  auto done = header_message_->test();
  if (!done) return fail(std::move(done).error());
  if (!*done) return false;
  header_message_.reset();
  if (Status fits = check(buffer_, next_); !fits) return fail(std::move(fits).error());
  if (!index_fits()) return fail(Error{ErrorClass::kIntern, "a window of a node stream refers to a run list that was not sent"});
  announced_ = next_;
  ended_ = announced_.window == buffer_.windows();
  waiting_ = !ended_;
  return true;
}

bool NodeStream::index_fits() {
  if (next_.cache_index < 0) return true;
  if (!cache_) return false;
  return next_.list_bytes > 0 ? cache_->expect(next_.cache_index, next_.list_bytes, context_.cache_bytes) : cache_->expected(next_.cache_index);
}

bool NodeStream::take_up(i64& payloads) {
  if (!waiting_ || announced_.window >= buffer_.completed() + buffer_.depth()) return false;
  const bool one_run = announced_.one_run();
  if (context_.writing && !one_run && payloads <= 0) return false;
  underway_.push_back(std::make_unique<Underway>());
  Underway& one = *underway_.back();
  one.header = announced_;
  if (context_.writing && !one_run) take_payload(one, payloads);
  if (one.header.list_bytes > 0) {
    one.run_list.resize(static_cast<size_t>(one.header.list_bytes));
    one.messages.add(context_.channel.receive(leader_, one.run_list));
  }
  if (context_.writing) one.messages.add(context_.channel.receive(leader_, data_of(one)));
  waiting_ = false;
  announced_.window += 1;   // until the next announcement
  return true;
}

Bytes NodeStream::data_of(const Underway& one) const {
  std::byte* at = one.header.one_run() ? buffer_.slot(one.header.window).data + one.header.first : one.payload->data.get();
  return Bytes(at, static_cast<size_t>(one.header.bytes));
}

bool NodeStream::go_on(i64& payloads) {
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

bool NodeStream::has_run_list(const Underway& one) const {
  return one.header.cache_index < 0 || one.header.list_bytes > 0 || !cache_->at(one.header.cache_index).empty();
}

Result<std::vector<StreamRun>> NodeStream::take_runs(Underway& one) {
  if (one.header.cache_index < 0) return runs_of(buffer_, one.header, one.run_list);
  if (one.header.list_bytes > 0) cache_->fill(one.header.cache_index, std::move(one.run_list));
  return runs_of(buffer_, one.header, cache_->at(one.header.cache_index));
}

bool NodeStream::leave(Underway& one) {
  auto runs = take_runs(one);
  if (!runs) return fail(std::move(runs).error());
  const Slot slot = buffer_.slot(one.header.window);
  const bool packed = !one.header.one_run();
  if (packed) context_.channel.copied(one.header.bytes);
  if (packed) unpack_runs(*runs, one.payload->data.get(), slot.data);
  set_valid(buffer_, one.header.window, *runs);
  slot.filled.fetch_add(one.header.bytes, std::memory_order_relaxed);
  return true;
}

bool NodeStream::answer(Underway& one, i64& payloads) {
  if (one.answered || buffer_.completed() <= one.header.window || !one.messages.done()) return false;
  const bool packed = !one.header.one_run();
  if (packed && payloads <= 0) return false;
  if (!one.messages.status()) return fail(one.messages.status().error());
  if (!has_run_list(one)) return false;
  auto runs = take_runs(one);
  if (!runs) return fail(std::move(runs).error());
  if (packed) take_payload(one, payloads);
  if (packed) context_.channel.copied(one.header.bytes);
  if (packed) pack_runs(*runs, buffer_.slot(one.header.window).data, one.payload->data.get());
  one.messages.add(context_.channel.send(leader_, data_of(one), 1));
  one.answered = true;
  return true;
}

bool NodeStream::fail(Error error) {
  if (context_.outcome.messages) context_.outcome.messages = std::move(error);
  return false;
}

void NodeStream::take_payload(Underway& one, i64& payloads) {
  MERCUTIO_ASSERT(payloads > 0 && !one.payload);
  --payloads;
  one.payload = std::make_unique<ScratchBuffer>(one.header.bytes);
}

}  // namespace mercutio
