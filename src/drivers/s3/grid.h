// How a file is divided into the parts of an upload: at most 10,000, each of 5 MiB to 5 GiB but for the last one. The same on all ranks
// without a word between them, whatever the file's size will be: the parts of each next thousand are twice as long, from 8 MiB on. So
// a file of 8 GB has parts of 8 MiB, and one of 5 TB some of 4 GiB. A hint makes all of one length.
#pragma once

#include <algorithm>

#include "failure.h"

namespace mercutio_s3 {

class Grid {
 public:
  static constexpr i64 kMostParts = 10000, kSmallest = 5 * MiB, kLargest = 5 * GiB, kFirst = 8 * MiB, kOfOneLength = 1000;

  // 0: growing.
  explicit Grid(i64 wanted = 0) : part_bytes_(wanted > 0 ? std::clamp(wanted, kSmallest, kLargest) : 0) {}

  i64 wanted() const { return part_bytes_; }
  i64 first_bytes() const { return part_bytes_ > 0 ? part_bytes_ : kFirst; }
  i64 most_bytes() const { return begin(kMostParts); }

  // Parts are counted from 0; the store counts from 1.
  i64 begin(i64 part) const {
    if (part_bytes_ > 0) return part * part_bytes_;
    const i64 doublings = part / kOfOneLength;
    return kOfOneLength * kFirst * ((i64{1} << doublings) - 1) + (part % kOfOneLength) * (kFirst << doublings);
  }
  i64 end(i64 part) const { return begin(part + 1); }
  i64 part_of(i64 offset) const {
    if (part_bytes_ > 0) return offset / part_bytes_;
    i64 doublings = 0;
    while (offset >= begin((doublings + 1) * kOfOneLength)) ++doublings;
    return doublings * kOfOneLength + (offset - begin(doublings * kOfOneLength)) / (kFirst << doublings);
  }

 private:
  i64 part_bytes_;
};

}  // namespace mercutio_s3
