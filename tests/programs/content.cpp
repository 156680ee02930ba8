// Cells are numbers of versions, so that a write of many bytes asks for their order once for each version it meets.
#include "content.h"

#include <algorithm>
#include <tuple>

namespace mercutio::programs {
namespace {

constexpr i64 kLargest = i64{1} << 40;

}  // namespace

void Content::start(i64 bytes, std::uint32_t key) {
  versions_.push_back({{}, true, 0});
  versions_.push_back({{}, true, key});
  initial_bytes_ = bytes;
  cells_.resize(static_cast<size_t>(bytes));
  for (size_t i = 0; i < cells_.size(); ++i) cells_[i] = {1, static_cast<std::uint32_t>(i)};
}

void Content::remove() {
  cells_.clear();
  sizes_.clear();
  initial_bytes_ = 0;
}

int Content::next_version(int version, int effect, Observer who, const Order& order) {
  const auto [place, is_new] = next_.try_emplace({version, effect}, 0);
  if (!is_new) return place->second;
  Version next{{}, !at(effect).failed, at(effect).key};
  for (const int older : versions_[static_cast<size_t>(version)].effects) {
    if (older != effect && order.visible(at(older), who)) continue;
    if (older != effect) next.effects.push_back(older);
    next.known = next.known && older == effect && versions_[static_cast<size_t>(version)].known;
  }
  next.effects.push_back(effect);
  if (next.effects.size() == 1) {
    const auto [known, first] = alone_.try_emplace(effect, static_cast<int>(versions_.size()));
    if (!first) return place->second = known->second;
  }
  place->second = static_cast<int>(versions_.size());
  versions_.push_back(next);
  return place->second;
}

void Content::write(const std::vector<Segment>& places, int effect, Observer who, const Order& order) {
  std::uint32_t source = 0;
  for (const Segment& place : places) {
    const size_t end = static_cast<size_t>(place.at + place.bytes);
    if (end > cells_.size()) cells_.resize(end);
    int last = -1, next = 0;
    for (size_t i = static_cast<size_t>(place.at); i < end; ++i) {
      if (cells_[i].version != last) {
        last = cells_[i].version;
        next = next_version(last, effect, who, order);
      }
      cells_[i] = {next, source++};
    }
  }
}

void Content::grow(i64 end, int effect) {
  sizes_.push_back({effect, end, false, true});
}

void Content::set_size(i64 bytes, int effect, Observer who, const Order& order) {
  Resize resize{effect, bytes, true, true};
  for (const Resize& older : sizes_) {
    if (!order.visible(at(older.effect), who)) resize.after_all = false;
  }
  sizes_.push_back(resize);
  for (size_t i = static_cast<size_t>(bytes); i < cells_.size(); ++i) {
    if (cells_[i].version != 0) cells_[i].version = next_version(cells_[i].version, effect, who, order);
  }
}

std::pair<i64, i64> Content::size(Observer to, const Order& order) const {
  i64 low = 0, high = 0;
  if (lost_) return {0, kLargest};
  for (auto resize = sizes_.rbegin(); resize != sizes_.rend(); ++resize) {
    if (!resize->exact && resize->end <= low) continue;
    const bool seen = order.visible(at(resize->effect), to) && !at(resize->effect).failed;
    if (resize->exact && (!seen || !resize->after_all)) return {0, std::max<i64>(high, 1) + kLargest};
    high = std::max(high, resize->end);
    if (seen) low = std::max(low, resize->end);
    if (resize->exact) return {low, high};
  }
  return {std::max(low, initial_bytes_), std::max(high, initial_bytes_)};
}

void Content::read(Look& look, bool with_data, const Order& order) const {
  std::tie(look.low, look.high) = size({look.rank, look.opening}, order);
  if (!with_data) return;
  int last = -1;
  std::uint32_t key = 0;
  size_t bytes = 0;
  for (const Segment& place : look.places) bytes += static_cast<size_t>(place.bytes);
  look.data.reserve(bytes);
  for (const Segment& place : look.places) {
    for (i64 i = place.at; i < place.at + place.bytes; ++i) {
      const Cell cell = i < static_cast<i64>(cells_.size()) ? cells_[static_cast<size_t>(i)] : Cell{};
      if (cell.version != last) {
        last = cell.version;
        const Version& version = versions_[static_cast<size_t>(last)];
        key = version.known ? version.key : kAnything;
        for (const int effect : version.effects) {
          if (!order.visible(at(effect), {look.rank, look.opening})) key = kAnything;
        }
      }
      look.data.push_back({lost_ ? kAnything : key, cell.source});
    }
  }
}

}  // namespace mercutio::programs
