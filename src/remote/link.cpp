#include "remote/link.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/trace.h"
#include "remote/sockets.h"

namespace mercutio::remote {
namespace {

constexpr int kFramesAtOnce = 16;   // received before data is sent again

}  // namespace

Result<int> connected_socket(const Endpoint& to, std::optional<Addresses>& known, size_t& address) {
  const size_t which = std::exchange(address, 0);
  if (!known) {
    MERCUTIO_LET(known, Addresses::of(to));
  }
  if (which + 1 < known->count()) address = which + 1;
  return known->connect(which < known->count() ? which : 0);
}

Status Link::begin(const Way& way, const std::shared_ptr<TlsContext>& tls, const Hello& hello) {
  drop();
  if (!welcomed_ && next_address_ <= address_) known_.reset();   // there is no further one to try
  server_refused = welcomed_ = false;
  way_ = way;
  hop_ = 0;
  tls_ = tls;
  hello_ = hello;
  failure_.reset();
  all_addresses_ = next_address_ == 0;
  return reach();
}

Status Link::reach() {
  address_ = next_address_;
  const Result<int> fd = way_.connect(way_.hops.empty() ? way_.server : way_.hops.front().at, known_, next_address_);
  last_heard_ns = now_ns();
  if (!fd) return next_address(fd.error());
  fd_ = *fd;
  state_ = State::kConnecting;
  return ok_status();
}

// A name may have several.
Status Link::next_address(const Error& error) {
  failure_ = error_of_attempts(failure_, error);
  return next_address_ != 0 ? reach() : Status(not_connected(*failure_));
}

void Link::drop() {
  if (stream_)
    stream_.reset();
  else if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
  state_ = State::kDown;
  out_.clear();
  in_.clear();
  data_ = {};
  apart_ = {};
  out_done_ = in_done_ = 0;
  in_payload_ = ping_sent = has_more_ = false;
  routing_.reset();
  welcome_ = {};
}

void Link::leave() {
  if (ready() && !has_outgoing()) stream_->end();
  drop();
}

short Link::events() const {
  if (state_ == State::kConnecting) return POLLOUT;
  if (state_ == State::kHandshaking || state_ == State::kRouting) return wants_ == Wants::kWrite ? POLLOUT : POLLIN;
  return static_cast<short>(POLLIN | (has_outgoing() ? POLLOUT : 0));
}

Status Link::connected() {
  pollfd ready{fd_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 0) return ok_status();
  if (const Status reached = connection_of(fd_); !reached) {
    ::close(std::exchange(fd_, -1));
    return next_address(reached.error());
  }
  next_address_ = address_;
  return next_hop();
}

// That a router refuses the connection says nothing of the server.
Error Link::not_connected(Error error) {
  server_refused = error.sys_errno == ECONNREFUSED && way_.hops.empty() && all_addresses_;
  if (way_.hops.empty()) return error;
  const Endpoint& router = way_.hops.front().at;
  error.what = "the router " + router.address + " port " + std::to_string(router.port) + ": " + error.what;
  if (error.sys_errno == ECONNREFUSED) error.sys_errno = EHOSTUNREACH;
  return error;
}

// Begins the handshake with the next router, or TLS with the server.
Status Link::next_hop() {
  if (hop_ < way_.hops.size()) {
    const size_t last = way_.hops.size() - 1;
    routing_.emplace(way_.hops[hop_], hop_ == last ? way_.server : way_.hops[hop_ + 1].at);
    ++hop_;
    state_ = State::kRouting;
    return ok_status();
  }
  const int fd = fd_;
  fd_ = -1;   // owned by the stream from here on, even if its creation fails
  MERCUTIO_LET(stream_, tls_->wrap(fd));
  fd_ = fd;
  state_ = State::kHandshaking;
  return ok_status();
}

Status Link::pass_router() {
  while (state_ == State::kRouting) {
    const Result<Wants> step = routing_->advance(fd_);
    const bool refused = !step && step.error().sys_errno == ECONNREFUSED;
    server_refused = refused && hop_ == way_.hops.size();
    if (refused && !server_refused) return Error{step.error().cls, step.error().what, EHOSTUNREACH};   // by the next router
    MERCUTIO_LET(wants_, step);
    if (wants_ != Wants::kNothing) return ok_status();
    MERCUTIO_TRY(next_hop());
  }
  return ok_status();
}

Status Link::greet() {
  MERCUTIO_LET(wants_, stream_->shake_hands());
  if (wants_ != Wants::kNothing) return ok_status();
  state_ = State::kGreeting;
  out_ = frame_with(Kind::kHello, 0, hello_);
  return flush();
}

Status Link::advance(const Receiver& receiver) {
  if (state_ == State::kConnecting) MERCUTIO_TRY(connected());
  if (state_ == State::kRouting) MERCUTIO_TRY(pass_router());
  if (state_ == State::kHandshaking) MERCUTIO_TRY(greet());
  if (state_ != State::kGreeting && state_ != State::kReady) return ok_status();
  MERCUTIO_TRY(flush());
  return receive(receiver);
}

Status Link::flush() {
  while (has_outgoing()) {
    MERCUTIO_LET(const TlsStep step, stream_->write(ConstBytes(out_).subspan(out_done_), data_));
    const size_t bytes = static_cast<size_t>(step.bytes), framed = std::min(bytes, out_.size() - out_done_);
    out_done_ += framed;
    data_ = data_.subspan(bytes - framed);
    if (out_done_ == out_.size()) {
      out_.clear();
      out_done_ = 0;
    }
    if (step.wants != Wants::kNothing) return ok_status();
  }
  return ok_status();
}

Status Link::receive(const Receiver& receiver) {
  has_more_ = true;
  for (int frames = 0; frames < kFramesAtOnce;) {
    const size_t wanted = static_cast<size_t>(in_payload_ ? header_.payload_bytes() : kHeaderBytes), here = wanted - apart_.size();
    in_.resize(here);
    if (in_done_ < wanted) {
      MERCUTIO_LET(const TlsStep step, stream_->read(in_done_ < here ? Bytes(in_).subspan(in_done_) : apart_.subspan(in_done_ - here)));
      if (step.closed) return Error{ErrorClass::kIo, "the server closed the connection", ECONNRESET};
      if (step.bytes == 0) return has_more_ = false, ok_status();
      in_done_ += static_cast<size_t>(step.bytes);
      last_heard_ns = now_ns();
      if (in_done_ < wanted) continue;
    }
    in_done_ = 0;
    if (!in_payload_) {
      MERCUTIO_LET(header_, parse_header(in_));
      in_payload_ = true;
      if (ready() && header_.kind == Kind::kReply && header_.encoding == Encoding::kPlain && header_.data_bytes > 0) apart_ = receiver.memory_for(header_);
      continue;
    }
    in_payload_ = false;
    ++frames;
    MERCUTIO_TRY(take_frame(receiver));
  }
  return ok_status();
}

Status Link::take_frame(const Receiver& receiver) {
  const ConstBytes apart = std::exchange(apart_, {});
  MERCUTIO_TRY(apart.empty() ? unseal(header_, in_, uses(kLz4) ? welcome_.block_bytes : 0) : check(header_, in_, apart));
  const ConstBytes payload = in_;
  ping_sent = false;
  if (state_ == State::kGreeting) return take_welcome(header_, payload);
  if (header_.kind == Kind::kPong) return ok_status();
  if (header_.kind != Kind::kReply) return Error{ErrorClass::kIo, "a kind of frame that a server doesn't send", EPROTO};
  const size_t message = static_cast<size_t>(header_.body_bytes);
  return receiver.take(header_, payload.first(message), apart.empty() ? payload.subspan(message) : apart);
}

Status Link::take_welcome(const FrameHeader& header, ConstBytes payload) {
  if (header.kind == Kind::kReply) {
    MERCUTIO_LET(const Reply reply, get_message<Reply>(payload));
    Error error = error_of(reply);
    if (reply.outcome == static_cast<std::uint32_t>(Outcome::kSessionUnknown)) error.sys_errno = ESTALE;
    return error;
  }
  if (header.kind != Kind::kWelcome) return Error{ErrorClass::kIo, "the server does not answer a hello", EPROTO};
  MERCUTIO_LET(welcome_, get_message<Welcome>(payload));
  if (welcome_.version != kProtocolVersion || welcome_.block_bytes < kMinBlockBytes || welcome_.block_bytes > kMaxDataBytes ||
      welcome_.credit_bytes < 1)
    return Error{ErrorClass::kIo, "the server's welcome makes no sense: install the same Mercutio on both sides", EPROTO};
  welcome_.capabilities &= hello_.capabilities;
  state_ = State::kReady;
  welcomed_ = true;
  retries = doubts = 0;
  return ok_status();
}

}  // namespace mercutio::remote
