#include "remote/jobs.h"

#include <algorithm>

namespace mercutio::remote {
namespace {

constexpr i64 kSmallestBlock = 64 * KiB;   // a transfer is not divided into smaller parts to spread it over streams
constexpr i64 kBlockUnit = 4 * KiB;
constexpr i64 kLargestBlock = 256 * KiB;   // a block is read, hashed and encrypted while it is in a core's cache
constexpr i64 kUncopied = 4 * KiB;         // a TLS record of its own costs no more than a copy of this much

}  // namespace

Result<Reply> CallJob::wait() {
  std::unique_lock guard(mutex_);
  MERCUTIO_HELD(mutex_);
  changed_.wait(guard, [&]() MERCUTIO_REQUIRES(mutex_) { return result_.has_value(); });
  return *result_;
}

bool CallJob::done() {
  std::lock_guard guard(mutex_);
  return result_.has_value();
}

Job::Next CallJob::next(i64, i64, Part&) {
  if (asked_.exchange(true)) return Next::kFinished;
  return Next::kPart;
}

void CallJob::put_message(const Part&, bool, Buffer& out) {
  out.insert(out.end(), message_.begin(), message_.end());
}

void CallJob::complete(const Part&, const Reply& reply, ConstBytes) {
  finish(reply.outcome == 0 ? Result<Reply>(reply) : Result<Reply>(error_of(reply)));
}

void CallJob::give_up(const Error& error) {
  asked_ = true;
  finish(error);
}

void CallJob::finish(Result<Reply> result) {
  std::lock_guard guard(mutex_);
  if (!result_) result_ = std::move(result);
  changed_.notify_all();
}

TransferJob::TransferJob(Direction direction, u64 handle, Shape shape, std::optional<LockedRange> locked)
    : Job(direction == Direction::kRead ? (locked ? Kind::kLockedRead : Kind::kRead) : (locked ? Kind::kLockedWrite : Kind::kWrite)),
      direction_(direction),
      handle_(handle),
      shape_(std::move(shape)),
      locked_(locked) {}

bool TransferJob::done() {
  std::lock_guard guard(mutex_);
  return all_asked_ && under_way_ == 0;
}

Result<i64> TransferJob::wait() {
  std::unique_lock guard(mutex_);
  MERCUTIO_HELD(mutex_);
  changed_.wait(guard, [&]() MERCUTIO_REQUIRES(mutex_) { return all_asked_ && under_way_ == 0; });
  if (error_) return *error_;
  i64 total = 0;
  for (size_t i = 0; i < moved_.size(); ++i) {
    total += moved_[i];
    const i64 begin = static_cast<i64>(i) * block_bytes_;
    if (moved_[i] < std::min(block_bytes_, shape_.bytes() - begin)) break;
  }
  return total;
}

Job::Next TransferJob::next(i64 block_bytes, i64 streams, Part& part) {
  if (block_bytes_ == 0 && locked_) block_bytes_ = shape_.bytes();
  if (block_bytes_ == 0) {
    const i64 even = (shape_.bytes() / streams + kBlockUnit) / kBlockUnit * kBlockUnit;
    block_bytes_ = std::min({block_bytes, kLargestBlock, std::max(kSmallestBlock, even)});
  }
  std::lock_guard guard(mutex_);
  if (all_asked_) return Next::kFinished;
  // If offsets descend, a later block may be before the end of file that truncates an earlier one.
  if (direction_ == Direction::kRead && !shape_.ascending() && under_way_ > 0) return Next::kLater;
  part = {position_, std::min(position_ + block_bytes_, shape_.bytes()), next_index_++};
  position_ = part.end;
  moved_.push_back(-1);
  ++under_way_;
  all_asked_ = position_ == shape_.bytes();
  return Next::kPart;
}

void TransferJob::put_message(const Part& part, bool with_definition, Buffer& out) {
  TransferRequest request;
  request.handle = handle_;
  request.displacement = shape_.displacement();
  request.begin = part.begin;
  request.end = part.end;
  request.tree = shape_.tree();
  if (with_definition) request.definition = shape_.definition();
  if (locked_)
    remote::put_message(out, LockedRequest{locked_->begin, locked_->end, std::move(request)});
  else
    remote::put_message(out, request);
}

ConstBytes TransferJob::put_data(const Part& part, Buffer& out) {
  if (direction_ == Direction::kRead) return {};
  const i64 bytes = part.end - part.begin;
  const ConstBytes memory = bytes >= kUncopied ? shape_.contiguous(part.begin, bytes) : ConstBytes();
  if (!memory.empty()) return memory;
  const size_t at = out.size();
  out.resize(at + static_cast<size_t>(bytes));
  shape_.gather(part.begin, std::span(out.data() + at, static_cast<size_t>(bytes)));
  return {};
}

Bytes TransferJob::memory(const Part& part, i64 bytes) {
  if (direction_ == Direction::kWrite || bytes < kUncopied || bytes > part.end - part.begin) return {};
  return shape_.contiguous(part.begin, bytes);
}

void TransferJob::complete(const Part& part, const Reply& reply, ConstBytes data) {
  if (reply.outcome != 0) return fail(part, error_of(reply));
  const i64 wanted = part.end - part.begin;
  const i64 sent = direction_ == Direction::kRead ? static_cast<i64>(data.size()) : wanted;
  if (reply.value != sent || reply.value > wanted)
    return fail(part, Error{ErrorClass::kIo, "the server moved another number of bytes than it was asked to", 0, -1, wanted});
  const bool there = data.data() == memory(part, sent).data();
  if (direction_ == Direction::kRead && !there) shape_.scatter(part.begin, data);
  complete_one(part.index, reply.value);
}

void TransferJob::complete_one(i64 index, i64 moved) {
  std::lock_guard guard(mutex_);
  const i64 begin = index * block_bytes_;
  moved_[static_cast<size_t>(index)] = moved;
  --under_way_;
  if (moved < std::min(block_bytes_, shape_.bytes() - begin)) all_asked_ = true;   // end of file, or an error
  if (all_asked_ && under_way_ == 0) changed_.notify_all();   // nobody waits for less
}

void TransferJob::fail(const Part& part, const Error& error) {
  {
    std::lock_guard guard(mutex_);
    if (!error_) error_ = error;
  }
  complete_one(part.index, 0);
}

void TransferJob::give_up(const Error& error) {
  std::lock_guard guard(mutex_);
  if (all_asked_) return;
  all_asked_ = true;
  if (!error_) error_ = error;
  changed_.notify_all();
}

}  // namespace mercutio::remote
