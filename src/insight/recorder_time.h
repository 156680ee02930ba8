// What recording costs the program between its calls, which is no time of the run without it: in one of a number of times the clock is
// read before and after. Where the thread lost its core in between, that is no cost of recording.
#pragma once

#include <algorithm>

#include "insight/recorder.h"

namespace mercutio {

class Recorder::OwnTime {
 public:
  explicit OwnTime(Recorder& recorder) : recorder_(recorder), start_ns_(recorder.samples_++ % kEvery == 0 ? now_ns() : 0) {}
  ~OwnTime() {
    if (start_ns_ > 0) recorder_.header_->own_ns += kEvery * std::min(now_ns() - start_ns_, kLongestNs);
  }
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;

 private:
  static constexpr i64 kEvery = 61, kLongestNs = 20'000;
  Recorder& recorder_;
  const i64 start_ns_;
};

}  // namespace mercutio
