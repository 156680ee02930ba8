// What a thread of the program waits for: a call (one request) or a transfer (one request per block). The session's threads, one
// per stream, ask a job for its parts when a stream has room and pass it the replies.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "base/thread_annotations.h"
#include "remote/shape.h"

namespace mercutio::remote {

struct Part {
  i64 begin = 0, end = 0;   // stream bytes of a transfer
  i64 index = 0;
};

class Job {
 public:
  explicit Job(Kind kind) : kind_(kind) {}
  virtual ~Job() = default;
  Kind kind() const { return kind_; }

  // Called by the session's threads; `next` by one at a time, the others concurrently for different parts.
  enum class Next { kPart, kLater, kFinished };   // kLater: not before a part in flight is complete
  virtual Next next(i64 block_bytes, i64 streams, Part& part) = 0;
  // Appends the message of a request, and its data. Data that is large and contiguous in memory is returned instead.
  virtual void put_message(const Part& part, bool with_definition, Buffer& out) = 0;
  virtual ConstBytes put_data(const Part&, Buffer&) { return {}; }
  // The memory that the data of a reply may be received in, which complete() then gets; empty: it is copied by complete().
  virtual Bytes memory(const Part&, i64) { return {}; }
  virtual u64 tree() const { return 0; }
  virtual u64 file() const { return 0; }   // that it moves data of
  virtual i64 bytes() const { return 0; }
  virtual void complete(const Part& part, const Reply& reply, ConstBytes data) = 0;
  virtual void fail(const Part& part, const Error& error) = 0;
  virtual void give_up(const Error& error) = 0;   // no further part of it is requested

 private:
  const Kind kind_;
};

class CallJob final : public Job {
 public:
  CallJob(Kind kind, Buffer message) : Job(kind), message_(std::move(message)) {}
  Result<Reply> wait();
  bool done();

  Next next(i64 block_bytes, i64 streams, Part& part) override;
  void put_message(const Part& part, bool with_definition, Buffer& out) override;
  void complete(const Part& part, const Reply& reply, ConstBytes data) override;
  void fail(const Part& part, const Error& error) override { give_up(error); (void)part; }
  void give_up(const Error& error) override;

 private:
  void finish(Result<Reply> result);
  const Buffer message_;
  std::atomic<bool> asked_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Result<Reply>> result_ MERCUTIO_GUARDED_BY(mutex_);
};

class TransferJob final : public Job {
 public:
  struct LockedRange {
    i64 begin = 0, end = 0;
  };
  // With a range: executed under a lock of it, in one request.
  TransferJob(Direction direction, u64 handle, Shape shape, std::optional<LockedRange> locked = std::nullopt);
  bool done();
  Result<i64> wait();   // bytes moved; for a read, up to the first piece that the end of the file truncates

  Next next(i64 block_bytes, i64 streams, Part& part) override;
  void put_message(const Part& part, bool with_definition, Buffer& out) override;
  ConstBytes put_data(const Part& part, Buffer& out) override;
  Bytes memory(const Part& part, i64 bytes) override;
  u64 tree() const override { return shape_.tree(); }
  u64 file() const override { return handle_; }
  i64 bytes() const override { return shape_.bytes(); }
  void complete(const Part& part, const Reply& reply, ConstBytes data) override;
  void fail(const Part& part, const Error& error) override;
  void give_up(const Error& error) override;

 private:
  void complete_one(i64 index, i64 moved);

  const Direction direction_;
  const u64 handle_;
  const Shape shape_;
  const std::optional<LockedRange> locked_;
  i64 block_bytes_ = 0, position_ = 0, next_index_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<i64> moved_ MERCUTIO_GUARDED_BY(mutex_);      // by part; -1: in flight
  i64 under_way_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  bool all_asked_ MERCUTIO_GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio::remote
