// What the oracle knows of a handle.
#pragma once

#include <array>
#include <vector>

#include "content.h"

namespace mercutio::programs {

inline constexpr i64 kUnknown = -1;
inline constexpr i64 kFarthest = 4000000;  // etypes: pointers that run away

struct ViewOfRank {
  i64 displacement = 0, etype_bytes = 1;
  int filetype = 0;
};

struct Opening {  // of a handle: one MPI_File_open
  Step open;
  bool atomic = false;
  std::array<ViewOfRank, kMaxRanks> views;
  std::array<i64, kMaxRanks> individual{}, shared{};  // shared: by colour
  std::array<Clock, kMaxRanks> seen{};                // the clock of a rank at its last sync or open
  std::array<std::vector<int>, kMaxRanks> flushed;    // its syncs and its close
};

struct UnderWay {
  int file = 0, effect = -1;
};

}  // namespace mercutio::programs
