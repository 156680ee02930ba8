// Elements of a basic type, native <-> external32 (MPI 14.5.2: big-endian, IEEE, fixed sizes). Buffers need no
// alignment. The same size: a byte swap, or a copy. Others element by element, with a check of the range.
#pragma once

#include "model/type_spec.h"

namespace mercutio {

// `count` elements: count * native_bytes bytes <-> count * external_bytes bytes. The buffers do not overlap. An integer
// or character that does not fit gives kConversion and leaves what comes after it unset; a float that is too large
// becomes an infinity, one with too many digits is rounded to nearest.
Status to_external32(const BasicType& basic, const std::byte* native, std::byte* external, i64 count);
Status from_external32(const BasicType& basic, const std::byte* external, std::byte* native, i64 count);

}  // namespace mercutio
