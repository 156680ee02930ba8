// Random views and memory types for a program.
#pragma once

#include "draw.h"
#include "program.h"

namespace mercutio::programs {

// A view for each rank over one etype.
struct View {
  Basic basic = Basic::kByte;
  int etype = 0;
  i64 etype_bytes = 1;
  std::vector<int> filetypes;
  std::vector<i64> displacements;
  bool disjoint = false;  // no two ranks see the same byte
};

[[nodiscard]] int basic_type(Program& program, Basic basic);
// Bytes, the same for all.
[[nodiscard]] View plain_view(Program& program);
[[nodiscard]] View draw_view(Program& program, Draw& draw);
// Rank r sees `block` bytes of every `tile`, from place r * block + displacement.
[[nodiscard]] View interleaved_view(Program& program, Draw& draw, i64 block, i64 tile);
// A type and count of `basics` elements in memory.
[[nodiscard]] std::pair<int, i64> draw_memory(Program& program, Draw& draw, Basic basic, i64 basics);

}  // namespace mercutio::programs
