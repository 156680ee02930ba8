// Elements: walks runs of one predefined type; the cost of a run is that of its bytes, nothing more.
#include "file/elements.h"

#include <algorithm>
#include <cstring>

#include "model/convert.h"

namespace mercutio {
namespace {

// Elements of a run that lie one after the other, at `address`.
struct Row {
  i64 address;
  i64 elements;
  BasicType basic;
};

// Calls f(row) for the elements from the cursor on, until it has seen `elements` of them.
template <class F>
Status for_rows(Cursor& memory, i64 elements, F&& f) {
  while (elements > 0) {
    const i64 start = memory.position();
    const StridedRun run = memory.next();
    const i64 size = run.basic.native_bytes;
    const i64 in_piece = run.bytes / size;
    i64 taken = 0;
    for (i64 piece = 0; piece < run.count && elements > 0; ++piece) {
      const i64 now = std::min(in_piece, elements);
      MERCUTIO_TRY(f(Row{run.offset + piece * run.stride, now, run.basic}));
      elements -= now;
      taken += now;
    }
    if (elements == 0) memory.seek(start + taken * size);
  }
  return ok_status();
}

// Elements that take exactly `file_bytes` from the cursor on.
Result<i64> elements_of(const Cursor& memory, i64 file_bytes) {
  MERCUTIO_LET(const ElementChunk chunk, measure(memory, file_bytes));
  if (chunk.file_bytes != file_bytes)
    return Error{ErrorClass::kIntern, "a chunk of elements was cut in the middle of one"};
  return chunk.elements;
}

}  // namespace

Result<ElementChunk> measure(Cursor memory, i64 file_bytes) {
  ElementChunk chunk;
  while (!memory.done()) {
    const StridedRun run = memory.next();
    const i64 native = run.basic.native_bytes, in_file = run.basic.external_bytes;
    if (native <= 0 || run.bytes % native != 0)
      return Error{ErrorClass::kIntern, "a run of elements holds a part of one"};
    if (in_file <= 0)
      return Error{ErrorClass::kConversion, "an element takes " + std::to_string(in_file) + " bytes in the file"};
    const i64 in_run = run.bytes / native * run.count;
    const i64 fit = std::min(in_run, (file_bytes - chunk.file_bytes) / in_file);
    chunk.elements += fit;
    chunk.native_bytes += fit * native;
    chunk.file_bytes += fit * in_file;
    if (fit < in_run) break;
  }
  return chunk;
}

Status elements_to_file(Cursor& memory, Bytes file, ElementForm form) {
  MERCUTIO_LET(const i64 elements, elements_of(memory, static_cast<i64>(file.size())));
  std::byte* to = file.data();
  return for_rows(memory, elements, [&](const Row& row) -> Status {
    const auto* from = reinterpret_cast<const std::byte*>(row.address);
    if (form == ElementForm::kNative) {
      if (row.basic.external_bytes != row.basic.native_bytes)
        return Error{ErrorClass::kConversion, "the data representation has no function to convert for writing"};
      std::memcpy(to, from, static_cast<size_t>(row.elements * row.basic.native_bytes));
    } else {
      MERCUTIO_TRY(to_external32(row.basic, from, to, row.elements));
    }
    to += row.elements * row.basic.external_bytes;
    return ok_status();
  });
}

Status elements_from_file(Cursor& memory, ConstBytes file, ElementForm form) {
  MERCUTIO_LET(const i64 elements, elements_of(memory, static_cast<i64>(file.size())));
  const std::byte* from = file.data();
  return for_rows(memory, elements, [&](const Row& row) -> Status {
    auto* to = reinterpret_cast<std::byte*>(row.address);
    if (form == ElementForm::kNative) {
      if (row.basic.external_bytes != row.basic.native_bytes)
        return Error{ErrorClass::kConversion, "the data representation has no function to convert for reading"};
      std::memcpy(to, from, static_cast<size_t>(row.elements * row.basic.native_bytes));
    } else {
      MERCUTIO_TRY(from_external32(row.basic, from, to, row.elements));
    }
    from += row.elements * row.basic.external_bytes;
    return ok_status();
  });
}

}  // namespace mercutio
