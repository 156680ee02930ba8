// The memory of a piece: nowhere else, or in a file that the ranks of a node share. Each has a part of its own of it, behind those that
// came before, also those of other jobs: nobody's is ever cut, which would kill who has it mapped.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace mercutio {

struct MappedPiece {
  std::byte* base = nullptr;
  i64 bytes = 0;      // whole pages
  std::string path;   // of the file; empty: there is none
};
// Its space is taken at once: a mapped file without it would kill the program when the disk is full. Where files can't be locked, the file
// is of this process alone. An empty path: in memory only.
Result<MappedPiece> map_piece(const std::string& path, i64 bytes);

}  // namespace mercutio
