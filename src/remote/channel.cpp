#include "remote/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/trace.h"

namespace mercutio::remote {

Status Channel::wait_for(Wants wants, i64 end_ns) {
  pollfd ready{stream_->fd(), static_cast<short>(wants == Wants::kWrite ? POLLOUT : POLLIN), 0};
  const i64 left_ms = (end_ns - now_ns()) / 1'000'000;
  const int count = left_ms <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(std::min<i64>(left_ms, 1'000'000)));
  if (count < 0 && errno != EINTR) return error_from_errno("poll", errno);
  return count == 0 ? Status(Error{ErrorClass::kIo, "the client is silent", ETIMEDOUT}) : ok_status();
}

Status Channel::shake_hands(i64 limit_ms) {
  const i64 end_ns = now_ns() + limit_ms * 1'000'000;
  for (;;) {
    MERCUTIO_LET(const Wants wants, stream_->shake_hands());
    if (wants == Wants::kNothing) return ok_status();
    MERCUTIO_TRY(wait_for(wants, end_ns));
  }
}

// False: closed before the first byte.
Result<bool> Channel::fill(Bytes bytes, i64 end_ns) {
  for (size_t done = 0; done < bytes.size();) {
    Result<TlsStep> step = TlsStep{};
    {
      std::lock_guard guard(tls_);
      step = stream_->read(bytes.subspan(done));
    }
    if (!step) return step.error();
    if (step->closed && done == 0) return false;
    if (step->closed) return Error{ErrorClass::kIo, "the client closed the stream inside a frame", ECONNRESET};
    done += static_cast<size_t>(step->bytes);
    if (step->bytes == 0) MERCUTIO_TRY(wait_for(step->wants, end_ns));
  }
  return true;
}

Result<bool> Channel::receive(Frame& frame, i64 most_bytes, i64 limit_ms) {
  const i64 end_ns = now_ns() + limit_ms * 1'000'000;
  std::byte header[kHeaderBytes];
  MERCUTIO_LET(const bool there, fill(header, end_ns));
  if (!there) return false;
  MERCUTIO_LET(frame.header, parse_header(header));
  if (frame.header.data_bytes > most_bytes)
    return Error{ErrorClass::kIo, "a frame holds more data than was granted"};
  frame.payload.resize(static_cast<size_t>(frame.header.payload_bytes()));
  MERCUTIO_LET(const bool whole, fill(frame.payload, end_ns));
  if (!whole) return Error{ErrorClass::kIo, "the client closed the stream inside a frame", ECONNRESET};
  frame.lz4 = lz4_;
  MERCUTIO_TRY(unseal(frame.header, frame.payload, lz4_ ? most_bytes : 0));
  return true;
}

// Sends one frame at a time.
Status Channel::send(ConstBytes frame, i64 limit_ms) {
  {
    std::unique_lock turn(turns_);
    if (!next_turn_.wait_for(turn, std::chrono::milliseconds(limit_ms), [this] { return !sending_; }))
      return Error{ErrorClass::kIo, "the client takes nothing", ETIMEDOUT};
    sending_ = true;
  }
  Status sent = send_whole(frame, now_ns() + limit_ms * 1'000'000);
  {
    const std::lock_guard turn(turns_);
    sending_ = false;
  }
  next_turn_.notify_one();
  return sent;
}

Status Channel::send_whole(ConstBytes frame, i64 end_ns) {
  for (;;) {
    Result<TlsStep> step = TlsStep{};
    bool unsent = false;
    {
      std::lock_guard guard(tls_);
      step = stream_->write(frame);
      unsent = stream_->has_unsent();
    }
    if (!step) return step.error();
    frame = frame.subspan(static_cast<size_t>(step->bytes));
    if (frame.empty() && !unsent) return ok_status();
    if (step->wants != Wants::kNothing) MERCUTIO_TRY(wait_for(step->wants, end_ns));
  }
}

void Channel::cut() {
  (void)::shutdown(stream_->fd(), SHUT_RDWR);
}

}  // namespace mercutio::remote
