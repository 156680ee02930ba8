#include "buffer.h"

#include <algorithm>

namespace mercutio::programs {

Buffer::Buffer(const Program& program, const Step& step, int rank) : program_(program), step_(step), rank_(rank) {
  const Part& part = step.parts[static_cast<size_t>(rank)];
  const Map& map = program.map(part.memory);
  constexpr i64 kMargin = 16;
  const i64 last = std::max<i64>(part.count - 1, 0) * map.extent;
  const i64 low = std::min<i64>({0, map.true_lb, map.true_lb + last});
  const i64 high = std::max<i64>({0, map.true_ub, map.true_ub + last});
  base_ = kMargin - low + (low < 0 ? (16 + low % 16) % 16 : 0);
  bytes_.resize(static_cast<size_t>(base_ + high + kMargin));
  for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = guard(static_cast<i64>(i));
  for_each_segment(map, 0, map.size * part.count, [&](i64 at, i64, i64 bytes) { places_.push_back({base_ + at, bytes}); });
  if (!step.write) return;
  std::uint32_t source = 0;
  for (const Segment& place : places_) {
    for (i64 i = 0; i < place.bytes; ++i) {
      bytes_[static_cast<size_t>(place.at + i)] = pattern(key_of(step.id, rank), source++);
    }
  }
}

std::optional<std::string> Buffer::check(const Expected& expected, i64 moved) const {
  if (moved < expected.least || moved > expected.most) {
    return "the status says " + std::to_string(moved) + " bytes, not " + std::to_string(expected.least) +
           (expected.most == expected.least ? "" : " to " + std::to_string(expected.most)) + " of " +
           std::to_string(expected.bytes);
  }
  std::vector<bool> data(bytes_.size(), false);
  i64 stream = 0;
  for (const Segment& place : places_) {
    for (i64 i = place.at; i < place.at + place.bytes; ++i, ++stream) {
      data[static_cast<size_t>(i)] = true;
      const std::uint8_t found = bytes_[static_cast<size_t>(i)];
      if (step_.write) {
        if (found != pattern(key_of(step_.id, rank_), static_cast<std::uint32_t>(stream))) {
          return "a write changed byte " + std::to_string(stream) + " of its own buffer";
        }
        continue;
      }
      const Want& want = expected.data[static_cast<size_t>(stream)];
      if (want.key != kAnything && found != value_of(want)) return wrong_byte(expected, stream, i);
    }
  }
  for (size_t i = 0; i < bytes_.size(); ++i) {
    if (!data[i] && bytes_[i] != guard(static_cast<i64>(i))) {
      return "byte " + std::to_string(static_cast<i64>(i) - base_) + " of the memory, outside of the type, was changed";
    }
  }
  return std::nullopt;
}

std::string Buffer::wrong_byte(const Expected& expected, i64 stream, i64 at) const {
  i64 wrong = 0, k = 0;
  for (const Segment& place : places_) {
    for (i64 i = place.at; i < place.at + place.bytes; ++i, ++k) {
      const Want& want = expected.data[static_cast<size_t>(k)];
      wrong += want.key != kAnything && bytes_[static_cast<size_t>(i)] != value_of(want);
    }
  }
  const std::uint8_t found = bytes_[static_cast<size_t>(at)];
  return "byte " + std::to_string(stream) + " of " + std::to_string(expected.bytes) + " read is " + std::to_string(found) +
         (found == guard(at) ? " (untouched)" : "") + ", not " +
         std::to_string(value_of(expected.data[static_cast<size_t>(stream)])) + " of " +
         origin_of(program_, expected.data[static_cast<size_t>(stream)]) + "; " + std::to_string(wrong) + " bytes are wrong";
}

std::optional<std::string> check_file(const Program& program, const Expected& expected,
                                      const std::vector<std::uint8_t>& content) {
  const i64 size = static_cast<i64>(content.size());
  if (size < expected.least || size > expected.most) {
    return "the file has " + std::to_string(size) + " bytes, not " + std::to_string(expected.least) +
           (expected.most == expected.least ? "" : " to " + std::to_string(expected.most));
  }
  i64 wrong = 0, first = -1;
  for (size_t i = 0; i < content.size() && i < expected.data.size(); ++i) {
    if (expected.data[i].key == kAnything || content[i] == value_of(expected.data[i])) continue;
    if (wrong++ == 0) first = static_cast<i64>(i);
  }
  if (wrong == 0) return std::nullopt;
  const Want& want = expected.data[static_cast<size_t>(first)];
  return "byte " + std::to_string(first) + " of the file is " + std::to_string(content[static_cast<size_t>(first)]) + ", not " +
         std::to_string(value_of(want)) + " of " + origin_of(program, want) + "; " + std::to_string(wrong) + " bytes are wrong";
}

std::string origin_of(const Program&, const Want& want) {
  if (want.key == 0) return "a hole";
  if (want.key >= key_of_file(0)) return "the beginning";
  const std::uint32_t number = want.key - 1;
  return "step " + std::to_string(number / 8) + ", rank " + std::to_string(number % 8);
}

}  // namespace mercutio::programs
