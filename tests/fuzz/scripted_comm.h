// A Comm with one rank on it: what comes from the others is taken from the input. A message is the last one that was sent,
// which is what partners in the same state say; or any bytes, numbers, or an error. All messages come at once.
#pragma once

#include <algorithm>
#include <cstring>

#include "comm/comm.h"
#include "fuzz.h"

namespace mercutio::fuzz {

class ScriptedComm final : public Comm {
 public:
  ScriptedComm(Taker& taker, i64 rank, i64 size) : taker_(taker), rank_(rank), size_(size) {
    topology_.node_of_rank.assign(static_cast<std::size_t>(size), 0);
    topology_.node_names = {"here"};
  }
  i64 rank() const override { return rank_; }
  i64 size() const override { return size_; }
  i64 tags() const override { return 64; }
  const Topology& topology() const override { return topology_; }
  std::string host() const override { return "here"; }
  bool concurrent() const override { return false; }
  Segment* segment() override { return nullptr; }
  void backoff(i64 spins) override { FUZZ_CHECK(spins < 1000, "a rank waits for what has come"); }

  Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) override {
    check_partner(to, tag);
    constexpr std::size_t kMostKept = 4096;
    last_sent_.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(std::min(data.size(), kMostKept)));
    return std::unique_ptr<Message>(std::make_unique<Done>());
  }
  Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) override {
    check_partner(from, tag);
    return std::unique_ptr<Message>(std::make_unique<Incoming>(*this, data));
  }
  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string&) override {
    return std::unique_ptr<SharedCounter>(std::make_unique<Counter>());
  }

 private:
  struct Done final : Message {
    Result<bool> test() override { return true; }
  };
  struct Incoming final : Message {
    Incoming(ScriptedComm& c, Bytes d) : comm(c), data(d) {}
    Result<bool> test() override { return comm.fill(data); }
    ScriptedComm& comm;
    Bytes data;
  };
  struct Counter final : SharedCounter {
    Result<i64> fetch_add(i64 delta) override { return std::exchange(value, value + delta); }
    Result<i64> load() override { return value; }
    Status store(i64 to) override {
      value = to;
      return ok_status();
    }
    i64 value = 0;
  };

  void check_partner(i64 rank, i64 tag) const {
    FUZZ_CHECK(rank >= 0 && rank < size_ && rank != rank_, "a message to or from rank " + std::to_string(rank));
    FUZZ_CHECK(tag >= 0 && tag < tags(), "a message with tag " + std::to_string(tag));
  }

  Result<bool> fill(Bytes data) {
    const i64 form = taker_.byte();
    if (form == 255) return Error{ErrorClass::kOther, "the network failed"};
    if (form < 128 && last_sent_.size() == data.size()) {
      std::copy(last_sent_.begin(), last_sent_.end(), data.begin());
    } else if (form % 2 == 0 && data.size() % sizeof(i64) == 0) {
      for (std::size_t at = 0; at < data.size(); at += sizeof(i64)) {
        const i64 number = taker_.number();
        std::memcpy(data.data() + at, &number, sizeof number);
      }
    } else {
      for (std::byte& b : data) b = static_cast<std::byte>(taker_.byte());
    }
    return true;
  }

  Taker& taker_;
  i64 rank_, size_;
  Topology topology_;
  Input last_sent_;
};

}  // namespace mercutio::fuzz
