// One data access, as the engine sees it.
#pragma once

#include "model/view.h"

namespace mercutio {

// The user's buffer: `count` copies of `type` from `base`. Data bytes in typemap order.
struct Memory {
  std::byte* base = nullptr;
  FlatTypeRef type;
  i64 count = 0;
  i64 bytes() const { return type ? type->size() * count : 0; }
  bool contiguous() const { return !type || type->contiguous() || (count == 1 && type->size() == type->true_extent() && type->monotone() && !type->overlapping()); }
  Cursor cursor() const { return Cursor(type, reinterpret_cast<i64>(base), 0, bytes()); }
};

struct Access {
  Direction direction = Direction::kRead;
  ViewRef view;
  i64 position = 0;   // stream position in the view, bytes
  i64 bytes = 0;      // == memory.bytes()
  Memory memory;
  bool reads() const { return direction == Direction::kRead; }
};

}  // namespace mercutio
