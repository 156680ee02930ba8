// Seeded drawing. The same numbers on every machine, so that all ranks make the same program of a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "program.h"

namespace mercutio::programs {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {
    state_ = next() ^ (seed << 32);  // so that the numbers of one seed are not those of the next, moved by one
  }
  [[nodiscard]] std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  [[nodiscard]] i64 between(i64 low, i64 high) {
    return high <= low ? low : low + static_cast<i64>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  [[nodiscard]] bool percent(int chance) { return between(0, 99) < chance; }
  template <class Value>
  [[nodiscard]] Value one_of(const std::vector<Value>& values) {
    return values[static_cast<size_t>(between(0, static_cast<i64>(values.size()) - 1))];
  }

 private:
  std::uint64_t state_;
};

// Hints out of src/model/hints.def: some, or (dense) about half of all.
[[nodiscard]] Info draw_hints(Draw& draw, bool dense);
// Variables out of src/model/environment.def for a job; files go into `folder`.
[[nodiscard]] Info draw_environment(Draw& draw, const std::string& folder);

}  // namespace mercutio::programs
