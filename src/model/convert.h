// Converts elements of a basic type between native and external32 (MPI 14.5.2: big-endian, IEEE, fixed sizes). Buffers need no
// alignment. Elements of equal size are byte-swapped or copied; others are converted one by one, with a range check. Of logicals only the
// truth is kept.
#pragma once

#include "model/type_spec.h"

namespace mercutio {

// `count` elements: count * native_bytes bytes <-> count * external_bytes bytes. The buffers must not overlap. An integer or
// character out of range is an Error of class kConversion; the elements after it are not set. A float out of range becomes an
// infinity; one with too many digits is rounded to nearest.
Status to_external32(const BasicType& basic, const std::byte* native, std::byte* external, i64 count);
Status from_external32(const BasicType& basic, const std::byte* external, std::byte* native, i64 count);

}  // namespace mercutio
