// A file that this server sends to another server. A client of both servers requests it and passes on the grant of the other one:
// its address, a one-time key, and the file for which the key is valid. During the copy this server is a client of the other one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "base/thread_annotations.h"
#include "remote/copy.h"
#include "remote/session.h"

namespace mercutio::remote {

Result<SendRequest> parse_send(ConstBytes message);   // kArg: malformed

class OutgoingCopy {
 public:
  struct Source {
    std::unique_ptr<Storage> file;
    i64 bytes = 0;
    std::vector<Extent> extents;
  };
  OutgoingCopy(SendRequest request, Source source) : request_(std::move(request)), source_(std::move(source)) {}

  void run();                      // runs the copy to its end, in a thread of its own
  void cancel();                   // requests an early end; thread-safe
  void refuse(const Error& why) { end(SendPhase::kNotReached, why); }   // instead of run()
  bool over() const { return phase_ != SendPhase::kUnderWay; }
  Reply state();

 private:
  Result<std::unique_ptr<Storage>> reach();
  Status send(Storage& target);
  void end(SendPhase phase, const Status& how);

  const SendRequest request_;
  const Source source_;
  std::atomic<i64> sent_bytes_{0};
  std::atomic<SendPhase> phase_{SendPhase::kUnderWay};
  std::mutex mutex_;
  std::shared_ptr<Session> session_ MERCUTIO_GUARDED_BY(mutex_);
  bool cancelled_ MERCUTIO_GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio::remote
