// What the fuzz targets share. A target is one source file with
//   extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t)   one case; returns 0, or ends in fail()
//   Bytes mercutio::fuzz::example(Random&)                                    a valid input, made up
// so that it links with driver.cpp (any compiler, seeded) as well as under clang's -fsanitize=fuzzer.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "base/types.h"

namespace mercutio::fuzz {

using Random = std::mt19937_64;
using Input = std::vector<std::byte>;

inline i64 pick(Random& random, i64 low, i64 high) {  // both included
  return low + static_cast<i64>(random() % static_cast<std::uint64_t>(high - low + 1));
}

Input example(Random& random);
Input input_of(const std::string& text);

// Says what is wrong and ends the process; the driver adds which case it was.
[[noreturn]] void fail(const char* file, int line, const std::string& what);

// The memory that operator new has given out since the last call, at its highest. More than kMostMemory is refused with
// std::bad_alloc, on every machine alike: an input must not make the library ask for it.
inline constexpr i64 kMostMemory = 128 * MiB;
void start_measuring_memory();
i64 most_memory_used();

// Takes values off an input. Past its end everything is zero.
class Taker {
 public:
  explicit Taker(ConstBytes bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  i64 byte();
  bool flag() { return (byte() & 1) != 0; }
  i64 pick(i64 low, i64 high);        // both included
  i64 word();                         // eight bytes as they are
  i64 number();                       // any i64: small ones, powers of two and their neighbours, or eight bytes
  std::string text(i64 most_bytes);   // a length byte or two, and as many bytes
  ConstBytes rest() const { return rest_; }

 private:
  ConstBytes rest_;
};

}  // namespace mercutio::fuzz

#define FUZZ_CHECK(condition, what) \
  ((condition) ? void() : ::mercutio::fuzz::fail(__FILE__, __LINE__, std::string(#condition) + ": " + (what)))
