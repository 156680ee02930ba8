#include "engine/window/node_stream.h"

#include <cstring>
#include <utility>

namespace mercutio {

bool NodeStream::advance(i64 available) {
  bool moved = false;
  while (context_.outcome.messages && (take_announcement() || take_up(available) || go_on())) moved = true;
  return moved;
}

i64 NodeStream::requested() const {
  for (const Underway& one : underway_) {
    if (!one.runs_known) return one.header.window;
  }
  return announced_.window;
}

bool NodeStream::take_announcement() {
  if (ended_ || waiting_) return false;
  return parcel_ ? unwrap_header() : receive_header();
}

bool NodeStream::receive_header() {
  auto come = next_.next(context_.channel, leader_);
  if (!come) return fail(std::move(come).error());
  if (!*come || !accept_header()) return false;
  if (announced_.parcel == 0) return true;
  if (!context_.writing) answers_.push_back({std::make_unique<ScratchBuffer>(announced_.first), 0, {}});
  parcel_ = std::make_unique<ScratchBuffer>(announced_.bytes);
  parcel_at_ = 0;
  parcel_is_last_ = announced_.parcel == 2;
  parcel_message_.add(context_.channel.receive(leader_, parcel_->first(parcel_->bytes)));
  return true;
}

bool NodeStream::unwrap_header() {
  if (!parcel_message_.arrived(context_.outcome.messages)) return false;
  const i64 left = parcel_->bytes - parcel_at_, header_bytes = static_cast<i64>(sizeof next_.value);
  if (left == 0) {
    if (!context_.writing && !underway_.empty() && underway_.back().in_parcel) return false;   // the reply is not complete
    if (!context_.writing) {
      Answer& complete = answers_.back();
      if (complete.bytes != complete.packed->bytes) return fail(Error{ErrorClass::kIntern, "a parcel of requests asks for less than it announced"});
      complete.messages.add(context_.channel.send(leader_, complete.packed->first(complete.bytes), 1));
    }
    parcel_.reset();
    if (parcel_is_last_) announced_.window = buffer_.windows();
    ended_ = parcel_is_last_;
    return true;
  }
  if (left < header_bytes) return fail(Error{ErrorClass::kIntern, "a parcel of a node stream ends within a header"});
  std::memcpy(&next_.value, parcel_->data.get() + parcel_at_, sizeof next_.value);
  parcel_at_ += header_bytes;
  if (!accept_header()) return false;
  const i64 with_header = announced_.list_bytes + (context_.writing ? announced_.bytes : 0);
  const bool fits = announced_.parcel == 0 && announced_.bytes > 0 && with_header <= left - header_bytes;
  return fits || fail(Error{ErrorClass::kIntern, "a window of a node stream does not fit its parcel"});
}

bool NodeStream::accept_header() {
  if (Status fits = check(buffer_, next_.value); !fits) return fail(std::move(fits).error());
  if (next_.value.window < announced_.window) return fail(Error{ErrorClass::kIntern, "the windows of a node stream are not in ascending order"});
  if (!index_fits()) return fail(Error{ErrorClass::kIntern, "a window of a node stream refers to a run list that was not sent"});
  announced_ = next_.value;
  ended_ = announced_.window == buffer_.windows();
  waiting_ = !ended_ && announced_.bytes > 0 && announced_.parcel == 0;
  return true;
}

bool NodeStream::index_fits() {
  if (next_.value.cache_index < 0) return true;
  if (!cache_) return false;
  return next_.value.list_bytes > 0 ? cache_->expect(next_.value.cache_index, next_.value.list_bytes, context_.cache_bytes) : cache_->expected(next_.value.cache_index);
}

bool NodeStream::take_up(i64 available) {
  if (!waiting_ || announced_.window >= available) return false;
  if (parcel_) return unwrap_window();
  const bool needs_payload = context_.writing && !announced_.one_run();
  std::unique_ptr<ScratchBuffer> payload;
  if (needs_payload) payload = packed_.take(announced_.bytes);
  if (needs_payload && !payload) return false;
  Underway& one = underway_.emplace_back();
  one.header = announced_;
  one.payload = std::move(payload);
  if (one.header.list_bytes > 0) {
    one.run_list.resize(static_cast<size_t>(one.header.list_bytes));
    one.messages.add(context_.channel.receive(leader_, one.run_list));
  }
  if (context_.writing) one.messages.add(context_.channel.receive(leader_, data_of(one)));
  waiting_ = false;
  announced_.window += 1;   // until the next announcement
  return true;
}

bool NodeStream::unwrap_window() {
  const i64 index = announced_.cache_index;
  if (index >= 0 && announced_.list_bytes == 0 && cache_->at(index).empty()) return false;   // the list arrives with another window
  Underway one;
  one.header = announced_;
  one.in_parcel = true;
  const std::byte* at = parcel_->data.get() + parcel_at_;
  one.run_list.assign(at, at + announced_.list_bytes);
  if (context_.writing && !leave(one, at + announced_.list_bytes)) return false;
  parcel_at_ += announced_.list_bytes + (context_.writing ? announced_.bytes : 0);
  if (!context_.writing) underway_.push_back(std::move(one));
  waiting_ = false;
  announced_.window += 1;   // until the next announcement
  return true;
}

Bytes NodeStream::data_of(const Underway& one) const {
  std::byte* at = one.header.one_run() ? buffer_.slot(one.header.window).data + one.header.first : one.payload->data.get();
  return Bytes(at, static_cast<size_t>(one.header.bytes));
}

bool NodeStream::go_on() {
  bool moved = false;
  while (!answers_.empty() && (answers_.size() > 1 || !parcel_) && answers_.front().messages.arrived(context_.outcome.messages)) {
    answers_.pop_front();
    moved = true;
  }
  if (!context_.outcome.messages) return false;
  if (!context_.writing) {
    bool in_turn = true;   // replies are sent in the order of the windows, as they are received
    for (Underway& one : underway_) {
      moved |= take_runs(one);
      if (in_turn) moved |= answer(one);
      in_turn = in_turn && one.answered;
    }
  }
  while (!underway_.empty() && (context_.writing || underway_.front().answered) && underway_.front().messages.arrived(context_.outcome.messages)) {
    Underway& one = underway_.front();
    if (context_.writing && !leave(one, one.payload ? one.payload->data.get() : nullptr)) return false;
    packed_.give_back(std::move(one.payload));
    underway_.pop_front();
    moved = true;
  }
  return moved && context_.outcome.messages;
}

bool NodeStream::take_runs(Underway& one) {
  if (one.runs_known || !one.messages.arrived(context_.outcome.messages)) return false;
  const i64 index = one.header.cache_index;
  if (index >= 0 && !cache_->expected(index)) return fail(Error{ErrorClass::kIntern, "a run list of a node stream was replaced before it came"});
  if (index >= 0 && one.header.list_bytes > 0) cache_->fill(index, std::move(one.run_list));
  if (index >= 0 && cache_->at(index).empty()) return false;   // the list arrives with another window
  auto runs = runs_of(buffer_, one.header, index >= 0 ? cache_->at(index) : one.run_list);
  if (!runs) return fail(std::move(runs).error());
  one.runs = std::move(*runs);
  one.runs_known = true;
  if (buffer_.plan().sparse) set_valid(buffer_, one.header.window, one.runs);
  return true;
}

bool NodeStream::leave(Underway& one, const std::byte* packed) {
  if (!take_runs(one)) return false;
  const Slot slot = buffer_.slot(one.header.window);
  if (packed) {
    context_.channel.copied(one.header.bytes);
    unpack_runs(one.runs, packed, slot.data);
  }
  set_valid(buffer_, one.header.window, one.runs);
  slot.filled.fetch_add(one.header.bytes, std::memory_order_relaxed);
  return true;
}

bool NodeStream::answer(Underway& one) {
  if (one.answered || !one.runs_known || buffer_.completed() <= one.header.window) return false;
  if (one.in_parcel) return answer_parcel(one);
  if (!one.header.one_run()) {
    one.payload = packed_.take(one.header.bytes);
    if (!one.payload) return false;
    context_.channel.copied(one.header.bytes);
    pack_runs(one.runs, buffer_.slot(one.header.window).data, one.payload->data.get());
  }
  one.runs = {};
  one.messages.add(context_.channel.send(leader_, data_of(one), 1));
  one.answered = true;
  return true;
}

bool NodeStream::answer_parcel(Underway& one) {
  Answer& answer = answers_.back();
  if (answer.bytes + one.header.bytes > answer.packed->bytes) return fail(Error{ErrorClass::kIntern, "a parcel of requests asks for more than it announced"});
  context_.channel.copied(one.header.bytes);
  pack_runs(one.runs, buffer_.slot(one.header.window).data, answer.packed->data.get() + answer.bytes);
  answer.bytes += one.header.bytes;
  one.runs = {};
  one.answered = true;
  return true;
}

bool NodeStream::fail(Error error) {
  if (context_.outcome.messages) context_.outcome.messages = std::move(error);
  return false;
}

}  // namespace mercutio
