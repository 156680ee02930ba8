#include "engine/known_forms.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace mercutio {
namespace {

std::uint64_t hash_of(ConstBytes form) {
  std::uint64_t hash = form.size();
  for (size_t at = 0; at < form.size(); at += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, form.data() + at, std::min(sizeof word, form.size() - at));
    hash = mix_hash(hash, word);
  }
  return hash;
}

}  // namespace

void KnownForms::begin(i64 most_bytes) {
  if ((full_ && found_ == 0) || bytes_ > most_bytes) clear();
  most_bytes_ = most_bytes;
  found_ = 0;
  full_ = false;
}

i64 KnownForms::find(ConstBytes form) {
  const auto entry = place_of_.find(hash_of(form));
  if (entry == place_of_.end() || !std::ranges::equal(at(entry->second), form)) return kNowhere;
  ++found_;
  return entry->second;
}

i64 KnownForms::keep(ConstBytes form) {
  const i64 place = static_cast<i64>(forms_.size());
  full_ = full_ || bytes_ + static_cast<i64>(form.size()) > most_bytes_;
  if (full_ || !place_of_.emplace(hash_of(form), place).second) return kNowhere;
  forms_.emplace_back(form.begin(), form.end());
  bytes_ += static_cast<i64>(form.size());
  return place;
}

bool KnownForms::expect(i64 place, i64 bytes, i64 most_bytes) {
  if (place == 0) clear();
  if (place != static_cast<i64>(forms_.size()) || bytes_ + bytes > most_bytes) return false;
  forms_.emplace_back();
  bytes_ += bytes;
  return true;
}

void KnownForms::clear() {
  forms_.clear();
  place_of_.clear();
  bytes_ = 0;
}

}  // namespace mercutio
