// One stream of a client: connection, routers, TLS and hello, then frames in both directions. Never blocks. One thread drives it by
// polling.
#pragma once

#include <functional>

#include "remote/route.h"
#include "remote/sockets.h"
#include "remote/wire.h"

namespace mercutio::remote {

// The Link::Connector for the network.
Result<int> connected_socket(const Endpoint& to, std::optional<Addresses>& known, size_t& address);

class Link {
 public:
  enum class State { kDown, kConnecting, kRouting, kHandshaking, kGreeting, kReady };

  State state() const { return state_; }
  bool ready() const { return state_ == State::kReady; }
  const Welcome& welcome() const { return welcome_; }
  bool uses(u64 capability) const { return (welcome_.capabilities & capability) != 0; }

  // Returns a nonblocking socket that is connected or connecting to the given address of the name. Sets the one to try next; 0: it was the last.
  // To look a name up may take long: what is known is used, and otherwise kept there.
  using Connector = std::function<Result<int>(const Endpoint& to, std::optional<Addresses>& known, size_t& address)>;
  struct Way {
    Endpoint server;
    std::vector<Hop> hops;   // routers, in order
    Connector connect;
  };
  // Begins to connect. Any previous connection is discarded.
  Status begin(const Way& way, const std::shared_ptr<TlsContext>& tls, const Hello& hello);
  void drop();   // closes the stream without a message
  void leave();  // the same, but the server hears that the client has ended
  int fd() const { return fd_; }
  short events() const;               // for poll()
  bool has_more() const { return has_more_; }   // data has been received already, which poll() does not show

  // What a reply is for. `memory_for`: where to receive its data, or nothing, if that memory is not contiguous; the memory must stay
  // valid until `take`, or until the stream is dropped.
  struct Receiver {
    std::function<Bytes(const FrameHeader&)> memory_for;
    std::function<Status(const FrameHeader&, ConstBytes message, ConstBytes data)> take;
  };
  // Makes progress without blocking. An Error: the link is broken (kAccess: wrong key; sys_errno has the details).
  Status advance(const Receiver& receiver);
  // Frames are appended to outgoing() while can_take() holds.
  bool can_take() const { return ready() && out_.size() < kEnoughBytes && data_.empty() && !stream_->has_unsent(); }
  Buffer& outgoing() { return out_; }
  // The file data of the last frame of outgoing(), which is sent from where it is. It must not change while has_data() is true.
  void attach(ConstBytes data) { data_ = data; }
  bool has_data() const { return !data_.empty(); }
  Status flush();

  // Stored here for the session.
  i64 last_heard_ns = 0, retry_at_ns = 0, retries = 0;
  i64 doubts = 0;   // failed handshakes since it was last ready that looked like those with a wrong key
  bool ping_sent = false;
  bool server_refused = false;   // the link broke because the connection to the server's port was refused

 private:
  static constexpr size_t kEnoughBytes = 64 * KiB;
  bool has_outgoing() const { return !out_.empty() || !data_.empty() || (stream_ && stream_->has_unsent()); }
  Status reach();
  Status connected();
  Status next_address(const Error& error);
  Error not_connected(Error error);
  Status next_hop();
  Status pass_router();
  Status greet();
  Status receive(const Receiver& receiver);
  Status take_frame(const Receiver& receiver);
  Status take_welcome(const FrameHeader& header, ConstBytes payload);

  State state_ = State::kDown;
  int fd_ = -1;                       // owned until a TLS stream exists
  std::shared_ptr<TlsContext> tls_;
  Way way_;
  size_t hop_ = 0;
  size_t address_ = 0, next_address_ = 0;   // of the first hop: the one that is tried, or has answered the last time
  bool all_addresses_ = false;              // since begin(), or as far as they were tried
  bool welcomed_ = false;                   // since begin()
  std::optional<Addresses> known_;          // of the first hop, until none of them leads to a welcome
  std::optional<Error> failure_;
  std::optional<RouteRequest> routing_;
  std::unique_ptr<TlsStream> stream_;
  Hello hello_;
  Welcome welcome_;
  Wants wants_ = Wants::kNothing;
  Buffer out_, in_;
  ConstBytes data_;
  Bytes apart_;                       // where the data of the frame is received that in_ has the message of
  size_t out_done_ = 0, in_done_ = 0;
  bool has_more_ = false;
  FrameHeader header_;
  bool in_payload_ = false;
};

}  // namespace mercutio::remote
