// The parser of shipped datatypes (src/model/flat_serialize.cpp). Arbitrary bytes give an error, or a type that serialises to
// the same bytes again, that keeps every promise of its header, and that takes memory in proportion to the bytes.
#include <cstring>

#include "model/type_oracle.h"
#include "walk.h"

namespace mercutio::fuzz {

Input example(Random& random) {
  std::mt19937 words(static_cast<unsigned>(random()));
  for (;;) {
    const auto spec = oracle::random_type(words, static_cast<int>(pick(random, 0, 4)), pick(random, 0, 1) == 1);
    const auto type = FlatType::lower(*spec, pick(random, 0, 1) ? Sizes::kNative : Sizes::kExternal32, pick(random, 0, 3) == 0);
    if (!type) continue;
    Input out;
    (*type)->serialize(out);
    return out;
  }
}

namespace {

constexpr i64 kMemoryForAByte = 1024;
constexpr i64 kMemoryForAnyInput = 2 * MiB;  // the search for overlaps has a budget of its own

FlatTypeRef parse(const Input& bytes) {
  start_measuring_memory();
  auto parsed = FlatType::deserialize(bytes);
  FUZZ_CHECK(most_memory_used() <= kMemoryForAnyInput + kMemoryForAByte * static_cast<i64>(bytes.size()),
             std::to_string(most_memory_used()) + " bytes of memory for " + std::to_string(bytes.size()));
  if (parsed) return std::move(*parsed);
  FUZZ_CHECK(parsed.error().cls == ErrorClass::kIntern || parsed.error().cls == ErrorClass::kCount, parsed.error().what);
  return nullptr;
}

}  // namespace
}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio;
  using namespace mercutio::fuzz;
  Input bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  const FlatTypeRef type = parse(bytes);
  if (!type) return 0;
  Input again;
  type->serialize(again);
  FUZZ_CHECK(again == bytes, "a type that serialises otherwise");
  Random random(type->hash());
  check_type(type, random);
  return 0;
}
