// One accepted stream as the server's threads use it: calls block, but never for longer than a limit. One thread receives;
// any thread sends whole frames.
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
  bool lz4 = false;   // what is answered may be encoded
  ConstBytes body() const { return ConstBytes(payload).first(static_cast<size_t>(header.body_bytes)); }
  ConstBytes data() const { return ConstBytes(payload).subspan(static_cast<size_t>(header.body_bytes)); }
};

class Channel {
 public:
  Channel(std::unique_ptr<TlsStream> stream, std::string peer) : stream_(std::move(stream)), peer_(std::move(peer)) {}

  Status shake_hands(i64 limit_ms);
  void allow_lz4() { lz4_ = true; }   // before the next frame is received
  // False: the other end closed the stream. kIo: cut, silent for too long, damaged, or not a frame of at most `most_bytes` of data.
  Result<bool> receive(Frame& frame, i64 most_bytes, i64 limit_ms);
  Status send(ConstBytes frame, i64 limit_ms);
  void cut();   // any thread; who waits gets an error
  const std::string& peer() const { return peer_; }
  std::string identity() const { return stream_->identity(); }   // of the key that it has shown; after the handshake

 private:
  Status send_whole(ConstBytes frame, i64 end_ns);
  Status wait_for(Wants wants, i64 end_ns);
  Result<bool> fill(Bytes bytes, i64 end_ns);

  bool lz4_ = false;
  std::mutex tls_;
  std::mutex turns_;   // not a timed mutex: GCC 12's TSan doesn't see that one is taken
  std::condition_variable next_turn_;
  bool sending_ = false;
  std::unique_ptr<TlsStream> stream_;
  const std::string peer_;
};

}  // namespace mercutio::remote
