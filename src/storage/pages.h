// Pages of a file for small reads that are close together, in any order. The second read in a page fetches it, and it serves later ones.
// Writes of this process update it. Not for several threads at once.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "storage/storage.h"

namespace mercutio {

constexpr i64 kPageBytes = 16 * KiB;

class Pages {
 public:
  bool read(std::span<const IoPiece> pieces) const;   // false: some of it is not here
  // The begin of the page to fetch, if these pieces and an earlier read lie in it; else -1.
  i64 wanted(std::span<const IoPiece> pieces);
  void keep(i64 begin, std::vector<std::byte> bytes);   // fewer than kPageBytes: the file ends there
  void wrote(std::span<const IoPiece> pieces);
  void forget();

 private:
  struct Page {
    i64 begin = 0;
    std::vector<std::byte> bytes;
    i64 end() const { return begin + static_cast<i64>(bytes.size()); }
  };
  void update(const IoPiece& piece);

  std::deque<Page> pages_;     // in the order they were fetched
  std::deque<i64> touched_;    // begin offsets of the pages read last without being fetched
};

}  // namespace mercutio
