// DensePatterns: the patterns of a file whose collective writes are known to leave no holes. The same pattern at another offset has
// no holes either, so no rank has to set a valid map. For views with pieces of one element, valid maps cost as much as the copies.
//
// All ranks must make the same decision, but one may learn of a pattern later than another. Therefore each rank gathers the keys of
// the patterns it knows with every access, and a pattern is dense only if all ranks know it.
#pragma once

#include <array>
#include <mutex>

#include "base/hash.h"
#include "base/thread_annotations.h"
#include "model/access.h"

namespace mercutio {

// The access signature of one rank: the hash of its layout, and its offset.
struct AccessSignature {
  std::uint64_t hash = 0;   // 0: no data
  i64 origin = 0;
};

// Accesses with equal hashes cover the same bytes, shifted by the difference of their origins.
inline AccessSignature signature_of(const Access& access) {
  if (access.bytes <= 0) return {};
  const FlatType& type = *access.view->filetype;
  const i64 copies = access.position / type.size();
  std::uint64_t hash = mix_hash(type.hash(), static_cast<std::uint64_t>(access.position - copies * type.size()));
  hash = mix_hash(hash, static_cast<std::uint64_t>(access.bytes));
  return {hash | 1, access.view->displacement + copies * type.extent()};
}

class DensePatterns {
 public:
  using Keys = std::array<std::uint64_t, 2>;
  // the keys of the latest patterns; 0: none. All members are thread-safe
  Keys known() {
    std::lock_guard lock(mutex_);
    return keys_;
  }
  void learn(std::uint64_t key) {
    std::lock_guard lock(mutex_);
    if (keys_[0] != key) keys_ = {key, keys_[0]};
  }

 private:
  std::mutex mutex_;
  Keys keys_ MERCUTIO_GUARDED_BY(mutex_){};
};

}  // namespace mercutio
