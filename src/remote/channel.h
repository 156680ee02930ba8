// One accepted stream, as the server's threads use it. Calls block, but only up to a time limit. One thread receives; any thread
// may send whole frames.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "remote/tls.h"
#include "remote/wire.h"

namespace mercutio::remote {

struct Frame {
  FrameHeader header;
  Buffer payload;
  bool lz4 = false;   // replies may be compressed
  ConstBytes body() const { return ConstBytes(payload).first(static_cast<size_t>(header.body_bytes)); }
  ConstBytes data() const { return ConstBytes(payload).subspan(static_cast<size_t>(header.body_bytes)); }
};

class Channel {
 public:
  Channel(std::unique_ptr<TlsStream> stream, std::string peer) : stream_(std::move(stream)), peer_(std::move(peer)) {}

  Status shake_hands(i64 limit_ms);
  void allow_lz4() { lz4_ = true; }   // call it before the next frame is received
  // False: the peer closed the stream. kIo: cut, timed out, corrupt, or not a frame with at most `most_bytes` of data.
  Result<bool> receive(Frame& frame, i64 most_bytes, i64 limit_ms);
  Status send(ConstBytes frame, i64 limit_ms);
  void cut();   // thread-safe; waiting calls return an error
  const std::string& peer() const { return peer_; }
  std::string identity() const { return stream_->identity(); }   // of the key that the peer has proved; valid after the handshake

 private:
  Status send_whole(ConstBytes frame, i64 end_ns);
  Status wait_for(Wants wants, i64 end_ns);
  Result<bool> fill(Bytes bytes, i64 end_ns);

  bool lz4_ = false;
  std::mutex tls_;
  std::mutex turns_;   // not a timed mutex, because TSan of GCC 12 does not know it
  std::condition_variable next_turn_;
  bool sending_ = false;
  std::unique_ptr<TlsStream> stream_;
  const std::string peer_;
};

}  // namespace mercutio::remote
