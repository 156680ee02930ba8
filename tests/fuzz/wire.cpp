// What ranks tell each other when a file is opened (src/file/wire.h). Arbitrary bytes: the reader stays inside and doesn't
// return more than there is. What the writer wrote comes back, and a message that was cut short is noticed.
#include "file/wire.h"

#include "fuzz.h"

namespace mercutio::fuzz {

Input example(Random& random) {
  WireWriter writer;
  writer.put(pick(random, -3, 1000));
  InfoItems items;
  for (i64 i = pick(random, 0, 3); i > 0; --i)
    items.emplace_back(std::string(static_cast<std::size_t>(pick(random, 0, 9)), 'k'), std::string(static_cast<std::size_t>(pick(random, 0, 9)), 'v'));
  writer.put(items);
  writer.put(std::string("text"));
  Input out{static_cast<std::byte>(pick(random, 0, 3))};
  for (const std::byte b : writer.take()) out.push_back(b);
  return out;
}

namespace {

void check_asked(ConstBytes bytes) {
  WireReader reader(bytes);
  const std::vector<AskedHint> asked = reader.asked();
  if (reader.failed()) return;
  WireWriter writer;
  writer.put(asked);
  const Input written = writer.take();
  WireReader again(written);
  FUZZ_CHECK(again.asked() == asked && !again.failed(), "other hints than were read");
}

void check_any_bytes(ConstBytes bytes) {
  const auto size = static_cast<i64>(bytes.size());
  start_measuring_memory();
  WireReader reader(bytes);
  reader.number();
  const InfoItems items = reader.items();
  const std::string text = reader.text();
  FUZZ_CHECK(most_memory_used() <= 16 * KiB + 16 * size, std::to_string(most_memory_used()) + " bytes of memory for " + std::to_string(size));
  check_asked(bytes);
  i64 held = static_cast<i64>(text.size());
  for (const auto& [key, value] : items) held += 16 + static_cast<i64>(key.size() + value.size());
  FUZZ_CHECK(held <= size || reader.failed(), "more came out than went in");
  if (reader.failed()) return;
  // Read without damage: writing it gives the bytes that were read.
  WireReader first(bytes);
  WireWriter writer;
  writer.put(first.number());
  writer.put(items);
  writer.put(text);
  const Input again = writer.take();
  FUZZ_CHECK(again.size() <= bytes.size() && std::equal(again.begin(), again.end(), bytes.begin()), "other bytes are written than were read");
}

void check_round_trip(Taker taker) {
  const i64 number = taker.number(), cut = taker.byte();
  InfoItems items;
  for (i64 i = taker.byte() % 6; i > 0; --i) {
    std::string key = taker.text(40);
    items.emplace_back(std::move(key), taker.text(300));
  }
  const std::string text = taker.text(100);
  WireWriter writer;
  writer.put(number);
  writer.put(items);
  writer.put(text);
  const Input bytes = writer.take();
  WireReader reader(bytes);
  FUZZ_CHECK(reader.number() == number && reader.items() == items && reader.text() == text && !reader.failed(), "another message came back");
  WireReader beyond(bytes);
  beyond.number(), beyond.items(), beyond.text();
  FUZZ_CHECK(beyond.number() == 0 && beyond.failed(), "there is something past the end");
  WireReader partial(ConstBytes(bytes).first(bytes.size() - 1 - static_cast<std::size_t>(cut) % bytes.size()));
  partial.number(), partial.items(), partial.text();
  FUZZ_CHECK(partial.failed(), "a message without its end passes");
}

}  // namespace
}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio::fuzz;
  Taker taker(std::as_bytes(std::span(data, size)));
  if (taker.flag())
    check_round_trip(taker);
  else
    check_any_bytes(taker.rest());
  return 0;
}
