// Elements: the predefined items of a memory type, converted in typemap order between the program's buffer and their contiguous form
// in a file. Internal to file/. Memory cursors must come from types lowered with keep_kinds.
#pragma once

#include "base/result.h"
#include "model/flat_type.h"

namespace mercutio {

// Consecutive elements: their data bytes in memory and in the file.
struct ElementChunk {
  i64 elements = 0;
  i64 native_bytes = 0;
  i64 file_bytes = 0;
};

enum class ElementForm { kNative, kExternal32 };  // representation in the file

// The whole elements from the cursor on that fit into `file_bytes`.
Result<ElementChunk> measure(Cursor memory, i64 file_bytes);

// Moves and converts the elements that fill `file` exactly, and advances the cursor past them.
Status elements_to_file(Cursor& memory, Bytes file, ElementForm form);
Status elements_from_file(Cursor& memory, ConstBytes file, ElementForm form);

}  // namespace mercutio
