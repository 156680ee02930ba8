#include "plan/key.h"

#include <functional>
#include <string>

namespace mercutio {
namespace {

// FNV-1a over words, finished by a multiplication (Knuth): keys are compared in full after their hashes.
class Hasher {
 public:
  void add(std::uint64_t word) {
    for (int byte = 0; byte < 8; ++byte) {
      state_ ^= (word >> (8 * byte)) & 0xff;
      state_ *= 0x100000001b3ULL;
    }
  }
  void add(i64 word) { add(static_cast<std::uint64_t>(word)); }
  void add(bool word) { add(static_cast<std::uint64_t>(word)); }
  void add(Toggle word) { add(static_cast<std::uint64_t>(word)); }
  void add(const std::string& text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace

PatternKey key_of(const Pattern& pattern, const Hints& hints, std::span<const std::uint64_t> view_hashes) {
  PatternKey key;
  key.shape = pattern;
  key.shape.begin = 0;
  key.shape.end -= pattern.begin;
  for (RankGroup& group : key.shape.groups) {
    group.begin -= pattern.begin;
    group.end -= pattern.begin;
  }
  Hasher hasher;
#define MERCUTIO_HINT(type, name, initial, alias, low, high, unit, when, agree, doc) hasher.add(hints.name);
#include "model/hints.def"
#undef MERCUTIO_HINT
  for (const std::uint64_t view : view_hashes) hasher.add(view);
  key.inputs = hasher.value();
  return key;
}

std::uint64_t PatternKey::hash() const {
  Hasher hasher;
  hasher.add(inputs);
  for (const i64 word : {static_cast<i64>(shape.direction), static_cast<i64>(shape.atomic), shape.ranks, shape.participants,
                         shape.contiguous, shape.bytes, shape.end, static_cast<i64>(shape.disjoint), shape.run_bytes}) {
    hasher.add(word);
  }
  for (const RankGroup& group : shape.groups) {
    for (const i64 word : {group.first_rank, group.end_rank, group.bytes, group.begin, group.end}) hasher.add(word);
  }
  return hasher.value();
}

bool serves_shifted(const Plan& plan, i64 planned_begin, i64 begin) {
  return !plan.exchanges() || (begin - planned_begin) % plan.shift_unit() == 0;
}

}  // namespace mercutio
