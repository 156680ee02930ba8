// From constructors to what data is moved by (src/model/type_spec.*, lower.cpp, flat_build.cpp). Any tree of constructors
// with any arguments gives an error exactly when the standard's rules are broken or numbers are too large; otherwise the
// bytes lie where the oracle, which expands element by element, has them, and the type survives being shipped.
#include <cstring>

#include "model/type_oracle.h"
#include "type_rules.h"
#include "walk.h"

namespace mercutio::fuzz {

Input example(Random& random) {
  Input out(static_cast<std::size_t>(pick(random, 2, 120)));
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  return out;
}

namespace {

constexpr i64 kMostWork = 20000;        // of the oracle
constexpr i64 kMostElements = 20000;
constexpr i64 kSafeReach = i64{1} << 59;  // numbers up to here must not be refused
constexpr i64 kSafeDepth = 200;           // flat nodes have a limit as well

void check_against_oracle(const TypeSpec& spec, const FlatTypeRef& type, Sizes sizes, Random& random) {
  const oracle::Typemap map = oracle::expand(spec, sizes);
  const std::vector<i64> once = oracle::byte_offsets(map, sizes, 1);
  const std::string text = to_string(spec);
  FUZZ_CHECK(type->size() == static_cast<i64>(once.size()), text);
  FUZZ_CHECK(type->lb() == map.lb && type->extent() == map.ub - map.lb,
             text + ": bounds " + std::to_string(type->lb()) + ", " + std::to_string(type->extent()) + ", not " + std::to_string(map.lb) + ", " +
                 std::to_string(map.ub - map.lb));
  if (once.empty()) return;
  const i64 copies = once.size() < 4000 ? std::min<i64>(2, type->stream_bytes() / type->size()) : 1;
  const std::vector<i64> offsets = oracle::byte_offsets(map, sizes, copies);
  check_cursors(type, offsets, random);
  for (int i = 0; i < 4; ++i) {
    const auto position = static_cast<std::size_t>(pick(random, 0, static_cast<i64>(offsets.size()) - 1));
    FUZZ_CHECK(type->offset_of(static_cast<i64>(position)) == offsets[position], text);
  }
  if (!type->keeps_kinds()) return;
  std::size_t element = 0;
  for (Cursor cursor(type, 0, 0, type->size()); !cursor.done();) {
    const StridedRun run = cursor.next();
    const i64 width = oracle::bytes_of(run.basic, sizes);
    FUZZ_CHECK(width > 0 && run.bytes % width == 0, text);
    for (i64 i = 0; i < run.count * run.bytes / width; ++i, ++element) {
      while (element < map.elements.size() && oracle::bytes_of(map.elements[element].basic, sizes) == 0) ++element;
      FUZZ_CHECK(element < map.elements.size() && map.elements[element].basic == run.basic, text + ", the kind of an element");
    }
  }
}

void check_shipping(const FlatType& type, const std::string& text) {
  Input bytes, again;
  type.serialize(bytes);
  const auto back = FlatType::deserialize(bytes);
  FUZZ_CHECK(back.ok(), text + ": " + (back.ok() ? "" : back.error().what));
  (*back)->serialize(again);
  FUZZ_CHECK(bytes == again && (*back)->hash() == type.hash() && (*back)->size() == type.size(), text + " came back as another type");
  FUZZ_CHECK((*back)->lb() == type.lb() && (*back)->extent() == type.extent() && (*back)->true_lb() == type.true_lb() &&
                 (*back)->true_extent() == type.true_extent(), text + " came back with other bounds");
}

}  // namespace
}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio;
  using namespace mercutio::fuzz;
  Taker taker(std::as_bytes(std::span(data, size)));
  const i64 head = taker.byte();
  const bool tame = (head & 1) != 0, keep_kinds = (head & 6) == 6;
  const Sizes sizes = (head & 8) != 0 ? Sizes::kExternal32 : Sizes::kNative;
  const TypeSpecRef spec = type_from(taker, static_cast<int>(head >> 4) % 8, tame);
  if (!spec) return 0;
  FUZZ_CHECK(to_string(*spec).size() < 20000, "the text of a type");
  const Judgement judged = judge(*spec, sizes);
  const auto lowered = FlatType::lower(*spec, sizes, keep_kinds);
  if (!lowered) {
    FUZZ_CHECK(!judged.legal || judged.reach > kSafeReach || judged.bytes > kSafeReach || judged.depth > kSafeDepth,
               to_string(*spec) + " refused: " + lowered.error().what);
    FUZZ_CHECK(!lowered.error().what.empty() && lowered.error().what.size() < 400, "the text of an error");
    return 0;
  }
  FUZZ_CHECK(judged.legal, "accepted: " + to_string(*spec));
  Random random((*lowered)->hash());
  check_shipping(**lowered, to_string(*spec));
  check_type(*lowered, random);
  if (judged.reach <= kSafeReach && judged.work <= kMostWork && judged.bytes <= kMostElements) check_against_oracle(*spec, *lowered, sizes, random);
  return 0;
}
