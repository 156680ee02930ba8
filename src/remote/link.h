// One stream of a client: connecting, routers, TLS, hello, then frames both ways. Never blocks; one thread drives it, which polls.
#pragma once

#include <functional>

#include "remote/route.h"
#include "remote/wire.h"

namespace mercutio::remote {

Result<int> connected_socket(const Endpoint& to);   // the network's Link::Connector

class Link {
 public:
  enum class State { kDown, kConnecting, kRouting, kHandshaking, kGreeting, kReady };

  State state() const { return state_; }
  bool ready() const { return state_ == State::kReady; }
  const Welcome& welcome() const { return welcome_; }
  bool uses(u64 capability) const { return (welcome_.capabilities & capability) != 0; }

  // Begins to connect. What the link was before is forgotten.
  // A socket that connects, or is connected, and does not block.
  using Connector = std::function<Result<int>(const Endpoint& to)>;
  struct Way {
    Endpoint server;
    std::vector<Hop> hops;   // routers, in order
    Connector connect;
  };
  Status begin(const Way& way, const std::shared_ptr<TlsContext>& tls, const Hello& hello);
  void drop();   // down, without a word
  int fd() const { return fd_; }
  short events() const;               // to poll for
  bool has_more() const { return has_more_; }   // came already, though a poll of the descriptor doesn't show it

  using OnFrame = std::function<Status(const FrameHeader&, ConstBytes payload)>;
  // Does what can be done now. An Error: the link is broken (kAccess: wrong key; sys_errno says what else).
  Status advance(const OnFrame& on_frame);
  // Frames are appended to outgoing() while can_take(). The data of the last one may lie elsewhere, in what `keep` owns.
  bool can_take() const { return ready() && out_.size() < kEnoughBytes && data_.empty() && !stream_->has_unsent(); }
  Buffer& outgoing() { return out_; }
  void send_from(ConstBytes data, std::shared_ptr<const void> keep);
  Status flush();

  // Kept here, used by the session.
  i64 last_heard_ns = 0, retry_at_ns = 0, retries = 0;
  i64 doubts = 0;   // handshakes since it was ready that looked like those of another key
  bool ping_sent = false;
  bool server_refused = false;   // why it broke: nobody listens at the server's port

 private:
  static constexpr size_t kEnoughBytes = 64 * KiB;
  bool has_outgoing() const { return !out_.empty() || !data_.empty() || (stream_ && stream_->has_unsent()); }
  Status connected();
  Status next_hop();
  Status pass_router();
  Status greet();
  Status receive(const OnFrame& on_frame);
  Status take_frame(const OnFrame& on_frame);
  Status take_welcome(const FrameHeader& header, ConstBytes payload);

  State state_ = State::kDown;
  int fd_ = -1;                       // owned while there is no stream
  std::shared_ptr<TlsContext> tls_;
  Way way_;
  size_t hop_ = 0;
  std::optional<RouteRequest> routing_;
  std::unique_ptr<TlsStream> stream_;
  Hello hello_;
  Welcome welcome_;
  Wants wants_ = Wants::kNothing;
  Buffer out_, in_;
  ConstBytes data_;                   // goes after out_
  std::shared_ptr<const void> keep_;
  size_t out_done_ = 0, in_done_ = 0;
  bool has_more_ = false;
  FrameHeader header_;
  bool in_payload_ = false;
};

}  // namespace mercutio::remote
