// The bytes and the size of one file in the oracle's world, with the writes each may come from.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "oracle.h"

namespace mercutio::programs {

using Clock = std::array<int, kMaxRanks>;  // the last step of each rank that is known to be over
inline constexpr int kUnderWay = 1 << 30;

// An effect on a file: a write of a rank, or a collective change of the size (rank -1).
struct Effect {
  int rank = -1, opening = 0, colour = 0;
  int done = kUnderWay;  // the step in which it was completed
  bool atomic = false;
  bool failed = false;  // it may have been made, in part, or not
  std::uint32_t key = 0;
};

// Who looks or writes, and when.
struct Observer {
  int rank = -1, opening = 0;
};

class Order {
 public:
  virtual ~Order() = default;
  [[nodiscard]] virtual bool visible(const Effect& effect, Observer to) const = 0;
};

// A read or a question for the size that later effects may still overtake.
struct Look {
  int rank = 0, opening = 0;
  int done = kUnderWay;
  int step = 0;                 // where the expectation is
  std::vector<Segment> places;  // in the file; the data in the order of the stream
  i64 low = 0, high = 0;        // of the size
  std::vector<Want> data;
};

class Content {
 public:
  // A version of a byte: the effects that may have made it.
  struct Version {
    std::vector<int> effects;
    bool known = true;
    std::uint32_t key = 0;
  };
  struct Cell {
    int version = 0;
    std::uint32_t source = 0;
  };

  void start(i64 bytes, std::uint32_t key);
  void remove();
  void lose() { lost_ = true; }  // nothing is known of it any more
  // `places` in the order of the stream.
  void write(const std::vector<Segment>& places, int effect, Observer who, const Order& order);
  void grow(i64 end, int effect);
  void set_size(i64 bytes, int effect, Observer who, const Order& order);
  [[nodiscard]] std::pair<i64, i64> size(Observer to, const Order& order) const;
  [[nodiscard]] i64 touched() const { return static_cast<i64>(cells_.size()); }  // bytes that anybody has written
  void read(Look& look, bool with_data, const Order& order) const;

  std::vector<Effect> effects;
  std::vector<Look> looks;  // that are not over yet for everybody

 private:
  struct Resize {
    int effect;
    i64 end;
    bool exact, after_all;
  };
  [[nodiscard]] int next_version(int version, int effect, Observer who, const Order& order);
  [[nodiscard]] const Effect& at(int effect) const { return effects[static_cast<size_t>(effect)]; }

  std::vector<Cell> cells_;
  std::vector<Version> versions_;
  std::map<std::pair<int, int>, int> next_;
  std::map<int, int> alone_;  // the version that is an effect and nothing else
  std::vector<Resize> sizes_;
  i64 initial_bytes_ = 0;
  bool lost_ = false;
};

}  // namespace mercutio::programs
