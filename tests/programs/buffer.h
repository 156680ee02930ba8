// The memory of one access: filled before it, looked at after it, in the data of the memory type and around them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "oracle.h"

namespace mercutio::programs {

struct Finding {
  int step = 0, rank = 0;
  std::string text;
};

class Buffer {
 public:
  // Of a part of an access step of the program.
  Buffer(const Program& program, const Step& step, int rank);
  // What MPI gets as the address: where the type's origin lies.
  [[nodiscard]] void* origin() { return bytes_.data() + base_; }
  // What is wrong after the access; `moved` are the bytes in its status.
  [[nodiscard]] std::optional<std::string> check(const Expected& expected, i64 moved) const;

 private:
  [[nodiscard]] std::string wrong_byte(const Expected& expected, i64 stream, i64 at) const;
  static std::uint8_t guard(i64 at) { return static_cast<std::uint8_t>(0xC0 + at % 61); }

  const Program& program_;
  const Step& step_;
  int rank_;
  i64 base_ = 0;
  std::vector<Segment> places_;  // of the data, in the order of the stream
  std::vector<std::uint8_t> bytes_;
};

// What is wrong with a file that was read by POSIX; `content` empty and `exists` false: there is none.
[[nodiscard]] std::optional<std::string> check_file(const Program& program, const Expected& expected,
                                                    const std::vector<std::uint8_t>& content);

// Which write a value may come from, for messages.
[[nodiscard]] std::string origin_of(const Program& program, const Want& want);

}  // namespace mercutio::programs
