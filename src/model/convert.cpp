// Conversion of basic types between this machine and external32. The plain swaps compile to vector code; x87 long
// doubles are taken apart as integers, so that the result does not depend on the rounding mode and traps nothing.
#include "model/convert.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstring>
#include <string>
#include <utility>

namespace mercutio {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr bool kBigEndian = std::endian::native == std::endian::big;

// One job: `count` elements from `in` to `out`; widths in bytes.
struct Job {
  const std::byte* in;
  std::byte* out;
  i64 in_bytes, out_bytes, count;
  bool to_external;
};

u64 swapped(u64 v) {
  return __builtin_bswap64(v);
}
u32 swapped(u32 v) {
  return __builtin_bswap32(v);
}
u16 swapped(u16 v) {
  return __builtin_bswap16(v);
}

template <class Word>
void swap_words(const Job& j) {
  for (i64 i = 0; i < j.count; ++i) {
    Word w;
    std::memcpy(&w, j.in + i * static_cast<i64>(sizeof w), sizeof w);
    w = swapped(w);
    std::memcpy(j.out + i * static_cast<i64>(sizeof w), &w, sizeof w);
  }
}

void swap_quads(const Job& j) {
  for (i64 i = 0; i < j.count; ++i) {
    u64 w[2];
    std::memcpy(w, j.in + i * 16, 16);
    const u64 turned[2] = {swapped(w[1]), swapped(w[0])};
    std::memcpy(j.out + i * 16, turned, 16);
  }
}

Error unsupported(const Job& j) {
  return Error{ErrorClass::kConversion, "no conversion from " + std::to_string(j.in_bytes) + " to " +
                                            std::to_string(j.out_bytes) + " bytes for this datatype in external32"};
}

Status same_size(const Job& j) {
  switch (kBigEndian ? 1 : j.in_bytes) {
    case 1:
      if (j.count > 0) std::memcpy(j.out, j.in, static_cast<std::size_t>(j.count * j.in_bytes));
      return ok_status();
    case 2:
      swap_words<u16>(j);
      return ok_status();
    case 4:
      swap_words<u32>(j);
      return ok_status();
    case 8:
      swap_words<u64>(j);
      return ok_status();
    case 16:
      swap_quads(j);
      return ok_status();
    default:
      return unsupported(j);
  }
}

// An element of `bytes` (at most 8) as a number, not sign-extended.
u64 load(const std::byte* at, i64 bytes, bool big) {
  u64 v = 0;
  for (i64 i = 0; i < bytes; ++i) v = v << 8 | std::to_integer<u64>(at[big ? i : bytes - 1 - i]);
  return v;
}

void store(std::byte* at, i64 bytes, bool big, u64 v) {
  for (i64 i = 0; i < bytes; ++i, v >>= 8) at[big ? bytes - 1 - i : i] = static_cast<std::byte>(v);
}

u64 sign_extended(u64 v, i64 bytes) {
  const i64 unused = 64 - 8 * bytes;
  return static_cast<u64>(static_cast<i64>(v << unused) >> unused);
}

enum class Width { kSigned, kUnsigned };

Status resize(const Job& j, Width width) {
  if (j.in_bytes > 8 || j.out_bytes > 8 || j.in_bytes < 1 || j.out_bytes < 1) return unsupported(j);
  const bool in_big = kBigEndian || !j.to_external, out_big = kBigEndian || j.to_external;
  for (i64 i = 0; i < j.count; ++i) {
    u64 v = load(j.in + i * j.in_bytes, j.in_bytes, in_big);
    if (width == Width::kSigned) v = sign_extended(v, j.in_bytes);
    if (j.out_bytes < j.in_bytes) {
      const u64 kept = width == Width::kSigned ? sign_extended(v, j.out_bytes) : v & ((u64{1} << 8 * j.out_bytes) - 1);
      if (kept != v)
        return Error{ErrorClass::kConversion,
                     "element " + std::to_string(i) + " is " +
                         (width == Width::kSigned ? std::to_string(static_cast<i64>(v)) : std::to_string(v)) +
                         " and does not fit into " + std::to_string(j.out_bytes) + " bytes" +
                         (j.to_external ? " of external32; use a datatype of fixed size, like MPI_INT64_T" : "")};
    }
    store(j.out + i * j.out_bytes, j.out_bytes, out_big, v);
  }
  return ok_status();
}

// Logicals of any width: 0 is false, all else is true (MPI 14.5.2), and 1 once converted.
Status truths(const Job& j) {
  const bool big = kBigEndian || j.to_external;
  for (i64 i = 0; i < j.count; ++i) {
    const std::byte* in = j.in + i * j.in_bytes;
    const bool truth = std::any_of(in, in + j.in_bytes, [](std::byte b) { return b != std::byte{0}; });
    store(j.out + i * j.out_bytes, j.out_bytes, big, truth ? 1 : 0);
  }
  return ok_status();
}

constexpr u64 kIntegerBit = u64{1} << 63;
constexpr u64 kFraction63 = kIntegerBit - 1;
constexpr u64 kFraction48 = (u64{1} << 48) - 1;
constexpr u64 kMaxExponent = 0x7fff;

// x87 extended (64-bit significand with its integer bit) -> binary128, exactly; little-endian 10 bytes in.
void x87_to_quad(const std::byte* in, std::byte* out) {
  const u64 significand = load(in, 8, false);
  const u64 head = load(in + 8, 2, false);
  u64 exponent = head & kMaxExponent, fraction = significand & kFraction63;
  const bool integer_bit = (significand & kIntegerBit) != 0;
  if (exponent == 0 && integer_bit) exponent = 1;  // a pseudo-denormal is a normal number
  if (exponent != 0 && !integer_bit) {             // the processor refuses these encodings
    exponent = kMaxExponent;
    fraction = kIntegerBit >> 1;
  }
  store(out, 8, true, (head >> 15) << 63 | exponent << 48 | fraction >> 15);
  store(out + 8, 8, true, fraction << 49);
}

// binary128 -> x87 extended, rounded to nearest, ties to even; the padding bytes are zero.
void quad_to_x87(const std::byte* in, std::byte* out, i64 out_bytes) {
  const u64 high = load(in, 8, true), low = load(in + 8, 8, true);
  const u64 sign = high >> 63;
  u64 exponent = high >> 48 & kMaxExponent;
  u64 fraction = (high & kFraction48) << 15 | low >> 49;  // 63 of 112 bits
  const u64 rest = low << 15;                             // the 49 others, left-aligned
  if (exponent == kMaxExponent) {
    if (fraction == 0 && rest != 0) fraction = kIntegerBit >> 1;  // a NaN stays one
  } else if (rest > kIntegerBit || (rest == kIntegerBit && (fraction & 1))) {
    if (++fraction > kFraction63) {  // carried: 1.0 of the next exponent, perhaps infinity
      fraction = 0;
      ++exponent;
    }
  }
  std::memset(out, 0, static_cast<std::size_t>(out_bytes));
  store(out, 8, false, fraction | (exponent != 0 ? kIntegerBit : 0));
  store(out + 8, 2, false, sign << 15 | exponent);
}

#if LDBL_MANT_DIG == 106
// Power's pair of doubles <-> binary128, as the compiler converts them.
Status pairs_of_doubles(const Job& j) {
  __extension__ using Quad = __float128;
  for (i64 i = 0; i < j.count; ++i) {
    long double pair;
    Quad quad;
    const Job swap{reinterpret_cast<const std::byte*>(&quad), reinterpret_cast<std::byte*>(&quad), 16, 16, 1, j.to_external};
    std::memcpy(j.to_external ? static_cast<void*>(&pair) : &quad, j.in + i * 16, 16);
    if (j.to_external) quad = pair;
    MERCUTIO_TRY(same_size(swap));
    if (!j.to_external) pair = static_cast<long double>(quad);
    std::memcpy(j.out + i * 16, j.to_external ? static_cast<void*>(&quad) : &pair, 16);
  }
  return ok_status();
}
#endif

Status long_doubles(const Job& j) {
  const i64 native = j.to_external ? j.in_bytes : j.out_bytes;
  if ((j.to_external ? j.out_bytes : j.in_bytes) != 16) return unsupported(j);
  if constexpr (LDBL_MANT_DIG == 113) return same_size(j);
#if LDBL_MANT_DIG == 106
  return pairs_of_doubles(j);
#endif
  if (native != 10 && native != 12 && native != 16) return unsupported(j);
  for (i64 i = 0; i < j.count; ++i) {
    const std::byte* in = j.in + i * j.in_bytes;
    std::byte* out = j.out + i * j.out_bytes;
    if (j.to_external)
      x87_to_quad(in, out);
    else
      quad_to_x87(in, out, native);
  }
  return ok_status();
}

Status convert(Basic kind, Job j) {
  switch (kind) {
    case Basic::kByte:
      if (j.in_bytes != 1) return Error{ErrorClass::kConversion, "external32 does not define how a predefined datatype of " + std::to_string(j.in_bytes) + " bytes, which only this MPI has, is represented"};
      [[fallthrough]];
    case Basic::kChar:
      if (j.in_bytes != j.out_bytes) return unsupported(j);
      if (j.count > 0) std::memcpy(j.out, j.in, static_cast<std::size_t>(j.count * j.in_bytes));
      return ok_status();
    case Basic::kComplexFloat:
    case Basic::kComplexLongDouble:
      j.in_bytes /= 2;
      j.out_bytes /= 2;
      j.count *= 2;
      return convert(kind == Basic::kComplexFloat ? Basic::kFloat : Basic::kLongDouble, j);
    case Basic::kLongDouble:
      return long_doubles(j);
    case Basic::kFloat:
      return j.in_bytes == j.out_bytes ? same_size(j) : unsupported(j);
    case Basic::kSigned:
      return j.in_bytes == j.out_bytes ? same_size(j) : resize(j, Width::kSigned);
    case Basic::kUnsigned:
    case Basic::kWideChar:
      return j.in_bytes == j.out_bytes ? same_size(j) : resize(j, Width::kUnsigned);
    case Basic::kLogical:
      return truths(j);
  }
  return unsupported(j);
}

}  // namespace

Status to_external32(const BasicType& basic, const std::byte* native, std::byte* external, i64 count) {
  return convert(basic.kind, {native, external, basic.native_bytes, basic.external_bytes, count, true});
}

Status from_external32(const BasicType& basic, const std::byte* external, std::byte* native, i64 count) {
  return convert(basic.kind, {external, native, basic.external_bytes, basic.native_bytes, count, false});
}

}  // namespace mercutio
