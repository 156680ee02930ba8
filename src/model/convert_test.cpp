// Conversion to and from external32: known encodings, round trips, ranges. The long double tests use __float128 as
// judge.
#include "model/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace mercutio {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> hex(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

template <class T>
std::vector<std::byte> out(const BasicType& basic, const std::vector<T>& values) {
  const auto count = static_cast<i64>(values.size() * sizeof(T)) / basic.native_bytes;
  std::vector<std::byte> external(static_cast<std::size_t>(count * basic.external_bytes));
  const Status status = to_external32(basic, bytes_of(values).data(), external.data(), count);
  EXPECT_TRUE(status.ok()) << status.error().what;
  return external;
}

template <class T>
std::vector<T> in(const BasicType& basic, const std::vector<std::byte>& external) {
  const auto count = static_cast<i64>(external.size()) / basic.external_bytes;
  std::vector<std::byte> native(static_cast<std::size_t>(count * basic.native_bytes));
  EXPECT_TRUE(from_external32(basic, external.data(), native.data(), count).ok());
  std::vector<T> values(native.size() / sizeof(T));
  std::memcpy(values.data(), native.data(), native.size());
  return values;
}

TEST(Convert, KnownEncodings) {
  EXPECT_EQ(out<std::int32_t>({Basic::kSigned, 4, 4}, {0x01020304, -2}), hex({1, 2, 3, 4, 255, 255, 255, 254}));
  EXPECT_EQ(out<std::int16_t>({Basic::kSigned, 2, 2}, {0x0102}), hex({1, 2}));
  EXPECT_EQ(out<double>({Basic::kFloat, 8, 8}, {1.0}), hex({0x3f, 0xf0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(out<float>({Basic::kComplexFloat, 8, 8}, {1.0F, -2.0F}), hex({0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}));
  EXPECT_EQ(out<char>({Basic::kChar, 1, 1}, {'a', 'b'}), hex({'a', 'b'}));
  EXPECT_EQ(out<std::uint32_t>({Basic::kWideChar, 4, 2}, {0x20ac}), hex({0x20, 0xac}));
}

TEST(Convert, LongBecomesFourBytesOrAnError) {
  const BasicType type{Basic::kSigned, 8, 4};
  const std::vector<i64> values{0, 1, -1, INT32_MAX, INT32_MIN};
  const auto external = out(type, values);
  EXPECT_EQ(external.size(), 20U);
  EXPECT_EQ(in<i64>(type, external), values);
  for (i64 bad : {i64{INT32_MAX} + 1, i64{INT32_MIN} - 1, INT64_MIN}) {
    std::byte file[8];
    const i64 pair[2] = {7, bad};
    const Status status = to_external32(type, reinterpret_cast<const std::byte*>(pair), file, 2);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().cls, ErrorClass::kConversion);
    EXPECT_NE(status.error().what.find("element 1 is " + std::to_string(bad)), std::string::npos)
        << status.error().what;
  }
}

TEST(Convert, UnsignedAndWideRanges) {
  const BasicType type{Basic::kUnsigned, 8, 4}, wide{Basic::kWideChar, 4, 2};
  const std::vector<std::uint64_t> values{0, 1, UINT32_MAX};
  EXPECT_EQ(in<std::uint64_t>(type, out(type, values)), values);
  std::byte file[4];
  const std::uint64_t bad = std::uint64_t{UINT32_MAX} + 1;
  EXPECT_FALSE(to_external32(type, reinterpret_cast<const std::byte*>(&bad), file, 1).ok());
  const std::uint32_t emoji = 0x1f600;
  EXPECT_FALSE(to_external32(wide, reinterpret_cast<const std::byte*>(&emoji), file, 1).ok());
  EXPECT_EQ(in<std::uint32_t>(wide, hex({0xff, 0xff})), (std::vector<std::uint32_t>{0xffff}));
}

TEST(Convert, LogicalsKeepTheirTruth) {
  const BasicType wide{Basic::kLogical, 8, 4}, narrow{Basic::kLogical, 1, 4};
  EXPECT_EQ(out<i64>(wide, {0, 1, -1, i64{1} << 40}), hex({0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(in<char>(narrow, hex({0, 0, 0, 0, 1, 0, 0, 0})), (std::vector<char>{0, 1}));
}

// Any byte that is not zero makes it true, which is 1 for the compiler.
template <class T>
void check_truth() {
  const i64 size = sizeof(T);
  const BasicType type{Basic::kLogical, size, size};
  for (i64 place = 0; place < size; ++place) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(2 * size)), truth(bytes);   // false behind it
    bytes[static_cast<std::size_t>(place)] = std::byte{0x80};
    truth[static_cast<std::size_t>(size - 1)] = std::byte{1};
    EXPECT_EQ(out(type, bytes), truth) << size << " bytes, at " << place;
    EXPECT_EQ(in<T>(type, bytes), (std::vector<T>{1, 0})) << size << " bytes, at " << place;
  }
}

TEST(Convert, LogicalsAreTrueByAnyByte) {
  check_truth<std::uint8_t>();
  check_truth<std::uint16_t>();
  check_truth<std::uint32_t>();
  check_truth<std::uint64_t>();
  __extension__ using Wide = unsigned __int128;
  check_truth<Wide>();
}

TEST(Convert, PlainSwapsRoundTrip) {
  std::mt19937 rng(7);
  for (i64 size : {1, 2, 4, 8, 16}) {
    for (Basic kind : {Basic::kSigned, Basic::kFloat}) {
      const BasicType type{kind, size, size};
      std::vector<std::byte> values(static_cast<std::size_t>(size * 37));
      for (auto& b : values) b = static_cast<std::byte>(rng());
      const auto external = out(type, values);
      EXPECT_EQ(in<std::byte>(type, external), values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t s = static_cast<std::size_t>(size), first = i / s * s;
        ASSERT_EQ(external[i], values[std::endian::native == std::endian::big ? i : first + s - 1 - (i - first)]);
      }
    }
  }
}

TEST(Convert, ImpossibleSizesAreErrors) {
  std::byte a[64] = {}, b[64] = {};
  EXPECT_FALSE(to_external32({Basic::kFloat, 8, 4}, a, b, 1).ok());
  EXPECT_FALSE(to_external32({Basic::kSigned, 16, 8}, a, b, 1).ok());
  EXPECT_FALSE(from_external32({Basic::kLongDouble, 16, 8}, a, b, 1).ok());
  EXPECT_TRUE(to_external32({Basic::kFloat, 8, 8}, nullptr, nullptr, 0).ok());
}

#if LDBL_MANT_DIG == 64

__extension__ typedef __float128 Quad;

Quad quad_of(const std::byte* external) {
  std::byte turned[16];
  for (int i = 0; i < 16; ++i) turned[i] = external[15 - i];
  Quad q;
  std::memcpy(&q, turned, 16);
  return q;
}

std::vector<std::byte> external_of(Quad q) {
  std::vector<std::byte> bytes(16);
  std::memcpy(bytes.data(), &q, 16);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

constexpr BasicType kLong{Basic::kLongDouble, 16, 16};

std::vector<long double> interesting() {
  using L = std::numeric_limits<long double>;
  std::vector<long double> values{
      0.0L,     -0.0L,           1.0L,         -1.5L,         1.0L / 3,       L::max(),        L::lowest(),
      L::min(), L::denorm_min(), L::min() / 3, L::infinity(), -L::infinity(), L::epsilon() + 1};
  std::mt19937_64 rng(3);
  for (int i = 0; i < 2000; ++i)
    values.push_back(std::ldexp(static_cast<long double>(rng()), static_cast<int>(rng() % 32700) - 16445));
  return values;
}

TEST(Convert, LongDoubleGoesOutExactly) {
  const auto values = interesting();
  const auto external = out(kLong, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Quad q = quad_of(external.data() + 16 * i), expected = values[i];
    ASSERT_EQ(std::memcmp(&q, &expected, 16), 0) << static_cast<double>(values[i]) << " at " << i;
  }
  const auto back = in<long double>(kLong, external);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(std::memcmp(&back[i], &values[i], 10), 0) << i;
}

TEST(Convert, LongDoubleComesInRoundedToNearest) {
  std::mt19937_64 rng(9);
  for (int i = 0; i < 5000; ++i) {
    // Values with all 113 digits, and exact ties.
    Quad q =
        static_cast<Quad>(rng()) + static_cast<Quad>(i % 3 == 0 ? (rng() & 1) << 48 : rng() >> 15) / (Quad(1ULL << 49));
    const int power = static_cast<int>(rng() % 32000) - 16400;
    for (int p = 0; p < std::abs(power); ++p) q = power < 0 ? q / 2 : q * 2;
    if (i % 2) q = -q;
    const auto back = in<long double>(kLong, external_of(q));
    const auto expected = static_cast<long double>(q);
    ASSERT_EQ(std::memcmp(back.data(), &expected, 10), 0) << "case " << i << " power " << power;
  }
}

TEST(Convert, LongDoubleNotANumberStaysOne) {
  const auto external = out<long double>(kLong, {std::numeric_limits<long double>::quiet_NaN()});
  EXPECT_TRUE(std::isnan(in<long double>(kLong, external)[0]));
  auto tiny_payload = hex({0x7f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  EXPECT_TRUE(std::isnan(in<long double>(kLong, tiny_payload)[0]));
  const BasicType complex{Basic::kComplexLongDouble, 32, 32};
  const std::vector<long double> pair{1.25L, -3.0L};
  EXPECT_EQ(in<long double>(complex, out(complex, pair)), pair);
}

#endif

}  // namespace
}  // namespace mercutio
