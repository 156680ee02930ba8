#include "engine/window/run_list_cache.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace mercutio {
namespace {

std::uint64_t hash_of(ConstBytes run_list) {
  std::uint64_t hash = run_list.size();
  for (size_t at = 0; at < run_list.size(); at += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, run_list.data() + at, std::min(sizeof word, run_list.size() - at));
    hash = mix_hash(hash, word);
  }
  return hash;
}

}  // namespace

void RunListCache::begin(i64 most_bytes) {
  if ((full_ && found_ == 0) || bytes_ > most_bytes) clear();
  most_bytes_ = most_bytes;
  found_ = 0;
  full_ = false;
}

i64 RunListCache::find(ConstBytes run_list) {
  const auto entry = index_of_.find(hash_of(run_list));
  if (entry == index_of_.end() || !std::ranges::equal(at(entry->second), run_list)) return kNone;
  ++found_;
  return entry->second;
}

i64 RunListCache::keep(ConstBytes run_list) {
  const i64 index = static_cast<i64>(lists_.size());
  full_ = full_ || bytes_ + static_cast<i64>(run_list.size()) > most_bytes_;
  const auto hash = hash_of(run_list);
  if (full_ || index_of_.contains(hash)) return kNone;
  lists_.emplace_back(run_list.begin(), run_list.end());
  index_of_.emplace(hash, index);   // last: without memory it refers to no list that isn't there
  bytes_ += static_cast<i64>(run_list.size());
  return index;
}

bool RunListCache::expect(i64 index, i64 bytes, i64 most_bytes) {
  if (index == 0) clear();
  if (index != static_cast<i64>(lists_.size()) || bytes_ + bytes > most_bytes) return false;
  lists_.emplace_back();
  bytes_ += bytes;
  return true;
}

void RunListCache::clear() {
  lists_.clear();
  index_of_.clear();
  bytes_ = 0;
}

void RunListCaches::begin(const Plan& plan) {
  std::uint64_t key = static_cast<std::uint64_t>(plan.exchange);
  for (const i64 rank : plan.aggregators) key = mix_hash(key, static_cast<std::uint64_t>(rank));
  key |= 1;
  if (std::ranges::find(plans_, key) != plans_.end()) return;
  if (plans_.back() != 0) {
    caches_.clear();
    plans_ = {};
  }
  *std::ranges::find(plans_, 0) = key;
}

}  // namespace mercutio
