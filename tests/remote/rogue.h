// A client with the right key that says what it likes, frame by frame.
#pragma once

#include <gtest/gtest.h>

#include "relay.h"
#include "remote/channel.h"

namespace mercutio::remote {

class Rogue {
 public:
  Rogue(int port, const Key& key) : Rogue(port, key, kOwnIdentity) { EXPECT_TRUE(let_in); }
  Rogue(int port, const Key& key, const std::string& identity) {
    auto tls = make_tls(TlsSide::kClient, key, {identity, {}});
    channel = std::make_unique<Channel>(std::move(*(*tls)->wrap(connect_to(port))), "rogue");
    let_in = channel->shake_hands(5000).ok();
  }
  void hello(Hello hello = {}) { (void)channel->send(frame_with(Kind::kHello, 0, hello), 5000); }
  // Whether the server ends the stream, after whatever it has to say.
  bool is_cut() {
    Frame frame;
    for (int i = 0; i < 5; ++i) {
      const auto got = channel->receive(frame, kMaxDataBytes, 5000);
      if (!got) return got.error().sys_errno != ETIMEDOUT;
      if (!*got) return true;
    }
    return false;
  }
  // A request, which acknowledges nothing, and the reply to it; ask() does not wait for that.
  template <class Message>
  void ask(Kind kind, u64 id, const Message& message, ConstBytes data = {}) {
    Buffer frame(static_cast<size_t>(kHeaderBytes));
    RemoteEncoder writer(frame);
    writer(u64{0});
    put_message(frame, message);
    frame.insert(frame.end(), data.begin(), data.end());
    (void)seal(frame, 0, {kind, id, static_cast<i64>(frame.size() - data.size()) - kHeaderBytes});
    EXPECT_TRUE(channel->send(frame, 5000).ok());
  }
  Reply reply_to(u64 id) {
    Frame frame;
    while (channel->receive(frame, kMaxDataBytes, 20'000).ok())
      if (frame.header.kind == Kind::kReply && frame.header.id == id) return *get_message<Reply>(frame.body());
    ADD_FAILURE() << "no reply to " << id;
    return {};
  }
  // The reply to hello, if it isn't a welcome.
  Reply refusal() {
    Frame frame;
    const auto got = channel->receive(frame, kMaxDataBytes, 5000);
    return got && *got && frame.header.kind == Kind::kReply ? *get_message<Reply>(frame.body()) : Reply{};
  }
  std::unique_ptr<Channel> channel;
  bool let_in = false;   // the key was right
};

}  // namespace mercutio::remote
