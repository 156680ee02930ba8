// What came of each call of a run, to be judged when the run is over: only then it is known which bytes are determined.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "buffer.h"

namespace mercutio::programs {

struct Entry {
  Came came = Came::kNotMade;
  Error error;  // of one that failed
  i64 value = 0;  // bytes moved, a size
  std::shared_ptr<Buffer> buffer;
  std::vector<std::uint8_t> content;  // of a file that was looked at
};

using Record = std::vector<std::array<Entry, kMaxRanks>>;  // of each step

}  // namespace mercutio::programs
