// DensePatterns: what a file remembers of collective writes whose ranks together left no hole: the same bytes at another
// place leave none either, so that nobody has to set a valid map. For maps of single elements the valid map
// costs as much as the copies.
//
// All ranks must decide alike, and one may learn of a pattern later than another. So each says with every access which
// ones it knows, and only what all of them know counts.
#pragma once

#include <array>
#include <mutex>

#include "base/hash.h"
#include "base/thread_annotations.h"
#include "model/access.h"

namespace mercutio {

// A rank's part of a pattern: the signature of its bytes, and where it begins.
struct AccessSignature {
  std::uint64_t hash = 0;   // 0: no bytes
  i64 origin = 0;
};

// Accesses of equal signatures have the same bytes, moved by the difference of their origins.
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
  // Of the latest; 0: none. Any thread, as the others.
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
