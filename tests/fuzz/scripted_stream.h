// The two ends of the remote protocol without TLS and network: what a peer says comes out of a function, what is said to it goes
// into one. Deterministic, in one thread.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "fuzz.h"
#include "remote/tls.h"
#include "remote/wire.h"

namespace mercutio::fuzz {

struct Peer {
  virtual ~Peer() = default;
  virtual bool say(remote::Buffer& out) = 0;   // appends what comes next; false: the stream ends
  virtual size_t takes(size_t bytes) { return bytes; }   // how many of these it has room for now
  virtual void hear(ConstBytes bytes) = 0;
};

class ScriptedStream final : public remote::TlsStream {
 public:
  // `idle`: a peer that says nothing is waited for, instead of being gone.
  ScriptedStream(int fd, Peer& peer, bool idle) : fd_(fd), peer_(peer), idle_(idle) {}
  ~ScriptedStream() override { ::close(fd_); }
  int fd() const override { return fd_; }
  Result<remote::Wants> shake_hands() override { return remote::Wants::kNothing; }
  Result<remote::TlsStep> read(Bytes into) override {
    remote::TlsStep step;
    if (was_cut()) return Error{ErrorClass::kIo, "cut", ECONNRESET};
    if (at_ == in_.size()) {
      in_.clear();
      at_ = 0;
      const bool goes_on = peer_.say(in_);
      step.closed = !goes_on && in_.empty();
    }
    const size_t bytes = std::min(into.size(), in_.size() - at_);
    std::copy_n(in_.begin() + static_cast<std::ptrdiff_t>(at_), bytes, into.begin());
    at_ += bytes;
    step.bytes = static_cast<i64>(bytes);
    if (bytes == 0 && !step.closed) step.wants = remote::Wants::kRead;
    if (bytes == 0 && !step.closed && !idle_) step.closed = true;
    return step;
  }
  Result<remote::TlsStep> write(ConstBytes from, ConstBytes then) override {
    if (was_cut()) return Error{ErrorClass::kIo, "cut", ECONNRESET};
    remote::TlsStep step;
    for (const ConstBytes part : {from, then}) {
      const size_t bytes = peer_.takes(part.size());
      if (bytes > 0) peer_.hear(part.first(bytes));
      step.bytes += static_cast<i64>(bytes);
      if (bytes == part.size()) continue;
      step.wants = remote::Wants::kWrite;
      break;
    }
    return step;
  }
  bool has_unsent() const override { return false; }
  std::string identity() const override { return remote::kOwnIdentity; }

 private:
  bool was_cut() const {
    std::byte byte;
    return ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }
  const int fd_;
  Peer& peer_;
  const bool idle_;
  remote::Buffer in_;
  size_t at_ = 0;
};

// A descriptor of a connection whose other end only keeps it open.
class HeldSocket {
 public:
  HeldSocket() { FUZZ_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0, "no socketpair"); }
  ~HeldSocket() {
    if (!taken_) ::close(ends_[0]);
    ::close(ends_[1]);
  }
  HeldSocket(const HeldSocket&) = delete;
  HeldSocket& operator=(const HeldSocket&) = delete;
  int take() { return taken_ = true, ends_[0]; }
  int other() const { return ends_[1]; }

 private:
  int ends_[2];
  bool taken_ = false;
};

// Cuts what is heard into frames, each of which must be whole, sealed and within what was granted.
class FrameReader {
 public:
  struct Heard {
    remote::FrameHeader header;
    remote::Buffer payload;
    ConstBytes body() const { return ConstBytes(payload).first(static_cast<size_t>(header.body_bytes)); }
    ConstBytes data() const { return ConstBytes(payload).subspan(static_cast<size_t>(header.body_bytes)); }
  };
  void add(ConstBytes bytes) { in_.insert(in_.end(), bytes.begin(), bytes.end()); }
  bool next(Heard& heard, i64 most_data, bool lz4) {
    if (in_.size() < static_cast<size_t>(remote::kHeaderBytes)) return false;
    const auto header = remote::parse_header(ConstBytes(in_).first(static_cast<size_t>(remote::kHeaderBytes)));
    FUZZ_CHECK(header.ok(), "what was sent is no frame");
    const size_t whole = static_cast<size_t>(remote::kHeaderBytes + header->payload_bytes());
    if (in_.size() < whole) return false;
    heard.header = *header;
    heard.payload.assign(in_.begin() + remote::kHeaderBytes, in_.begin() + static_cast<std::ptrdiff_t>(whole));
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(whole));
    FUZZ_CHECK(lz4 || header->encoding == remote::Encoding::kPlain, "an encoding that was not agreed on");
    FUZZ_CHECK(remote::unseal(heard.header, heard.payload, most_data).ok(), "a frame was sent that its other end refuses");
    FUZZ_CHECK(heard.header.data_bytes <= most_data, "more data than was granted");
    return true;
  }
  void clear() { in_.clear(); }

 private:
  remote::Buffer in_;
};

}  // namespace mercutio::fuzz
