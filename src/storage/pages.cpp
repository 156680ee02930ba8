#include "storage/pages.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mercutio {
namespace {

constexpr i64 kMostSmall = 2 * KiB;              // maximum size of a read that a page may serve
constexpr size_t kMostPages = 64, kMostTouched = 16;

// The begin of the page that contains all pieces; -1: there is none, or the pieces are too large.
i64 common_page(std::span<const IoPiece> pieces) {
  if (pieces.empty() || pieces.front().offset < 0) return -1;
  const i64 page = pieces.front().offset / kPageBytes * kPageBytes;
  i64 bytes = 0;
  for (const IoPiece& piece : pieces) {
    bytes += piece.bytes;
    if (piece.bytes < 0 || piece.offset < page || piece.offset + piece.bytes > page + kPageBytes) return -1;
  }
  return bytes > 0 && bytes <= kMostSmall ? page : -1;
}

}  // namespace

bool Pages::read(std::span<const IoPiece> pieces) const {
  const i64 begin = pages_.empty() ? -1 : common_page(pieces);
  const auto page = begin < 0 ? pages_.end() : std::find_if(pages_.begin(), pages_.end(), [&](const Page& known) { return known.begin == begin; });
  if (page == pages_.end()) return false;
  if (std::any_of(pieces.begin(), pieces.end(), [&](const IoPiece& piece) { return piece.offset + piece.bytes > page->end(); })) return false;
  for (const IoPiece& piece : pieces) std::memcpy(piece.data, page->bytes.data() + (piece.offset - begin), static_cast<size_t>(piece.bytes));
  return true;
}

i64 Pages::wanted(std::span<const IoPiece> pieces) {
  const i64 begin = common_page(pieces);
  if (begin < 0) return -1;
  std::erase_if(pages_, [&](const Page& page) { return page.begin == begin; });   // it ends before the requested bytes
  const auto known = std::find(touched_.begin(), touched_.end(), begin);
  if (known != touched_.end()) {
    touched_.erase(known);
    return begin;
  }
  touched_.push_back(begin);
  if (touched_.size() > kMostTouched) touched_.pop_front();
  return -1;
}

void Pages::keep(i64 begin, std::vector<std::byte> bytes) {
  if (pages_.size() >= kMostPages) pages_.pop_front();
  pages_.push_back({begin, std::move(bytes)});
}

void Pages::wrote(std::span<const IoPiece> pieces) {
  for (const IoPiece& piece : pieces) update(piece);
}

// A page that the data extends is extended; a page in which it would leave a gap is removed.
void Pages::update(const IoPiece& piece) {
  const i64 end = piece.offset + piece.bytes;
  std::erase_if(pages_, [&](Page& page) {
    const i64 from = std::max(piece.offset, page.begin), to = std::min(end, page.begin + kPageBytes);
    if (from >= to) return false;
    if (from > page.end()) return true;
    if (to > page.end()) page.bytes.resize(static_cast<size_t>(to - page.begin));
    std::memcpy(page.bytes.data() + (from - page.begin), piece.data + (from - piece.offset), static_cast<size_t>(to - from));
    return false;
  });
}

void Pages::forget() {
  pages_.clear();
  touched_.clear();
}

}  // namespace mercutio
