// DensePatterns: the collective writes of a file that are known to leave no hole. The same bytes at another offset
// leave none either, so that no rank has to set a valid map. For maps of single elements the valid map costs as much as
// the copies.
//
// All ranks must decide alike, and one may learn of a pattern later than another. So each rank gathers the patterns it
// knows with every access, and a pattern counts if all ranks know it.
#pragma once

#include <array>
#include <mutex>

#include "base/hash.h"
#include "base/thread_annotations.h"
#include "model/access.h"

namespace mercutio {

// One rank's part of a pattern: a hash of its layout, and its offset.
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
  // The latest patterns; 0: none. Any thread may call the members.
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
