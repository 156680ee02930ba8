// Elements: the predefined items of a memory type, walked in typemap order between the program's buffer and the
// contiguous form they have in a file. Inside file/ only. Memory cursors come from types lowered with kinds kept.
#pragma once

#include "base/result.h"
#include "model/flat_type.h"

namespace mercutio {

// Some elements in a row: what they take in memory (data bytes) and in the file.
struct ElementChunk {
  i64 elements = 0;
  i64 native_bytes = 0;
  i64 file_bytes = 0;
};

enum class ElementForm { kNative, kExternal32 };  // what the file holds: the bytes as they are, or external32

// As many whole elements from the cursor on as fit into `file_bytes`. kConversion where one is larger than `largest`.
Result<ElementChunk> measure(Cursor memory, i64 file_bytes, i64 largest);

// Moves the elements that fill `file` exactly, converting them; the cursor ends behind them.
Status elements_to_file(Cursor& memory, Bytes file, ElementForm form);
Status elements_from_file(Cursor& memory, ConstBytes file, ElementForm form);

}  // namespace mercutio
