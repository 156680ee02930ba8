// What a file view costs: setting up a vector of 10^7 blocks, finding etype 10^9, and moving small pieces.
// Bars: set-up < 1 ms in bounded memory; an offset < 10 us. Exits with 1 when a bar is missed.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/trace.h"
#include "model/view.h"

using namespace mercutio;

namespace {

View make_view(const TypeSpecRef& etype, const TypeSpecRef& filetype) {
  View view;
  view.etype_spec = etype;
  view.filetype_spec = filetype;
  view.etype = FlatType::lower(*etype).value();
  view.filetype = FlatType::lower(*filetype).value();
  return view;
}

bool measure_set_up(const TypeSpecRef& etype, const TypeSpecRef& filetype) {
  i64 best = INT64_MAX, bytes = 0;
  for (int i = 0; i < 5; ++i) {
    const i64 start = now_ns();
    const View view = make_view(etype, filetype);
    const bool good = check_view(view, true).ok() && view.cursor(0, view.filetype->size()).next().count > 0;
    best = std::min(best, now_ns() - start);
    if (!good) return false;
    bytes = view.filetype->memory_bytes();
  }
  std::printf("view set-up, vector of 10^7 blocks: %.1f us, %lld bytes\n", static_cast<double>(best) / 1e3,
              static_cast<long long>(bytes));
  return best < 1'000'000 && bytes < 4096;
}

void measure_irregular() {
  const auto float64 = make_named({Basic::kFloat, 8, 8});
  Numbers places;
  for (i64 i = 0, at = 0; i < 1'000'000; ++i, at += 2 + i * i % 3) places.push_back(at);
  const TypeSpecRef spec = make_indexed_block(1, places, float64);
  const i64 start = now_ns();
  const FlatTypeRef type = FlatType::lower(*spec).value();
  const i64 lowered = now_ns();
  std::vector<std::byte> wire;
  type->serialize(wire);
  const i64 shipped = now_ns();
  const bool same = FlatType::deserialize(wire).value()->hash() == type->hash();
  std::printf(
      "irregular map of 10^6 places: lower %.1f ms, %lld bytes; serialise %.1f ms, %zu bytes; back %.1f ms (%s)\n",
      static_cast<double>(lowered - start) / 1e6, static_cast<long long>(type->memory_bytes()),
      static_cast<double>(shipped - lowered) / 1e6, wire.size(), static_cast<double>(now_ns() - shipped) / 1e6,
      same ? "the same" : "DIFFERENT");
}

bool measure_offset(const TypeSpecRef& etype, const TypeSpecRef& filetype) {
  const View view = make_view(etype, filetype);
  constexpr i64 kTimes = 10000;
  i64 sum = 0;
  const i64 start = now_ns();
  for (i64 i = 0; i < kTimes; ++i) sum += view.file_offset((1'000'000'000 + i) * view.etype->size());
  const double each = static_cast<double>(now_ns() - start) / kTimes;
  std::printf("offset of etype 10^9: %.1f ns (checksum %lld)\n", each, static_cast<long long>(sum));
  return each < 10'000;
}

void measure_pack(const char* name, const TypeSpecRef& spec) {
  const FlatTypeRef type = FlatType::lower(*spec).value();
  std::vector<std::byte> memory(static_cast<std::size_t>(type->true_extent())),
      packed(static_cast<std::size_t>(type->size()));
  i64 pieces = 0;
  for (Cursor c(type, 0, 0, type->size()); !c.done();) pieces += c.next().count;
  const i64 base = reinterpret_cast<i64>(memory.data()) - type->true_lb();
  i64 best[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
  for (int i = 0; i < 5; ++i) {
    const auto timed = [&best](int which, auto work) {
      const i64 start = now_ns();
      work();
      best[which] = std::min(best[which], now_ns() - start);
    };
    Cursor out(type, base, 0, type->size()), in(type, base, 0, type->size());
    Cursor from(contiguous_bytes(), reinterpret_cast<i64>(packed.data()), 0, type->size()),
        to(type, base, 0, type->size());
    timed(0, [&] { pack(out, packed); });
    timed(1, [&] { unpack(in, packed); });
    timed(2, [&] { copy(from, to, type->size()); });
  }
  const auto each = [&](int which) { return static_cast<double>(best[which]) / static_cast<double>(pieces); };
  std::printf("%s: %lld pieces of %lld bytes; pack %.2f, unpack %.2f, copy %.2f ns a piece\n", name,
              static_cast<long long>(pieces), static_cast<long long>(type->size() / pieces), each(0), each(1), each(2));
}

}  // namespace

int main() {
  const auto float64 = make_named({Basic::kFloat, 8, 8});
  const auto vector = make_resized(0, 10'000'000 * 64, make_vector(10'000'000, 1, 8, float64));
  const bool good = measure_set_up(float64, vector) && measure_offset(float64, vector);
  measure_irregular();
  measure_pack("vector", make_vector(1'000'000, 1, 2, float64));
  measure_pack("pairs of vectors", make_hvector(300'000, 1, 80, make_vector(3, 1, 2, float64)));
  measure_pack("3-d subarray", make_subarray({100, 100, 100}, {98, 98, 98}, {1, 1, 1}, true, float64));
  Numbers places, lengths;
  for (i64 i = 0, at = 0; i < 1'000'000; ++i, at += 2 + i * i % 3) places.push_back(at), lengths.push_back(1);
  measure_pack("indexed block", make_indexed_block(1, places, float64));
  for (std::size_t i = 0; i + 1 < places.size(); i += 3) lengths[i] = places[i + 1] - places[i] - 1;
  measure_pack("indexed", make_indexed(lengths, places, float64));
  measure_pack("records",
               make_contiguous(300'000, make_resized(0, 40, make_struct({1, 1}, {0, 24}, {float64, float64}))));
  return good ? 0 : 1;
}
