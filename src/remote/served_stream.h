// A stream of a client, and whose turn it is to serve it. The thread that serves a stream also executes its short requests. If one of them takes
// long, as the file system does not answer, another thread takes the stream over. The former one ends with its request.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "base/thread_annotations.h"
#include "base/trace.h"
#include "remote/served_session.h"

namespace mercutio::remote {

class ServedStream {
 public:
  explicit ServedStream(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  const std::shared_ptr<Channel>& channel() const { return channel_; }
  const std::shared_ptr<ServedSession>& session() const { return session_; }
  void set_session(std::shared_ptr<ServedSession> session) { session_ = std::move(session); }   // before the first request

  u64 turn() const { return turn_; }   // another one since the thread has begun: it does not serve the stream any more
  i64 working_since() {                // time in ns; 0: no request is being executed
    std::lock_guard guard(mutex_);
    return since_ns_;
  }
  // The caller's thread serves the stream from here on. Later requests on the same file wait for the one that takes long. False: the request that
  // began at that time has ended.
  bool take_over(i64 since_ns) {
    std::lock_guard guard(mutex_);
    if (since_ns == 0 || since_ns_ != since_ns) return false;
    if (file_ != 0) session_->hold_up(file_);
    since_ns_ = 0;
    ++turn_;
    return true;
  }

  // A request is executed meanwhile, on an open file or 0, by the thread that has the turn. No stream: by a thread of its own.
  class Work {
   public:
    Work(ServedStream* stream, u64 turn, u64 file) : stream_(stream), turn_(turn) { set(now_ns(), file); }
    ~Work() { set(0, 0); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    void set(i64 since_ns, u64 file) {
      if (!stream_) return;
      std::lock_guard guard(stream_->mutex_);
      if (stream_->turn_ == turn_) stream_->since_ns_ = since_ns, stream_->file_ = file;
    }
    ServedStream* const stream_;
    const u64 turn_;
  };

 private:
  const std::shared_ptr<Channel> channel_;
  std::shared_ptr<ServedSession> session_;
  std::mutex mutex_;                 // locked before that of the session
  std::atomic<u64> turn_{0};
  i64 since_ns_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  u64 file_ MERCUTIO_GUARDED_BY(mutex_) = 0;
};

}  // namespace mercutio::remote
