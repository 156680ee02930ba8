#include "plan/layout_known.h"

#include <cstring>

#include "base/hash.h"

namespace mercutio {
namespace {

constexpr i64 kMostStripeBytes = i64{1} << 32, kMostServers = 1 << 20;
constexpr size_t kMostRanges = 4096;

std::uint64_t key_of(const std::vector<StripeRange>& ranges) {
  std::uint64_t key = ranges.size();
  for (const StripeRange& range : ranges) {
    for (const i64 number : {range.begin, range.end, range.stripe_bytes, range.stripe_count}) key = mix_hash(key, static_cast<std::uint64_t>(number));
  }
  return key | 1;
}

bool tiles_file(const std::vector<StripeRange>& ranges) {
  i64 at = 0;
  for (const StripeRange& range : ranges) {
    if (range.begin != at || range.end <= at) return false;
    if (range.stripe_bytes < 1 || range.stripe_bytes > kMostStripeBytes || range.stripe_count < 1 || range.stripe_count > kMostServers) return false;
    at = range.end;
  }
  return at == kEndOfFile;
}

}  // namespace

std::vector<LayoutComponent> LayoutByRange::components() const {
  std::vector<LayoutComponent> components;
  for (size_t i = 0; ranges && i < ranges->size(); ++i) {
    const StripeRange& range = (*ranges)[i];
    LayoutComponent& component = components.emplace_back();
    component.begin = range.begin;
    component.end = range.end;
    component.stripe_bytes = range.stripe_bytes;
    component.stripe_count = range.stripe_count;
  }
  return components;
}

std::vector<std::byte> bytes_of_ranges(const std::shared_ptr<const std::vector<StripeRange>>& ranges) {
  if (!ranges || ranges->empty()) return {};
  std::vector<std::byte> bytes(ranges->size() * sizeof(StripeRange));
  std::memcpy(bytes.data(), ranges->data(), bytes.size());
  return bytes;
}

std::shared_ptr<const std::vector<StripeRange>> ranges_of_bytes(ConstBytes bytes) {
  if (bytes.empty() || bytes.size() % sizeof(StripeRange) != 0 || bytes.size() / sizeof(StripeRange) > kMostRanges) return nullptr;
  auto ranges = std::make_shared<std::vector<StripeRange>>(bytes.size() / sizeof(StripeRange));
  std::memcpy(ranges->data(), bytes.data(), bytes.size());
  if (!tiles_file(*ranges)) return nullptr;
  return ranges;
}

LayoutByRange LayoutKnown::held() {
  std::lock_guard lock(mutex_);
  return held_;
}

void LayoutKnown::hold(LayoutByRange layout) {
  std::lock_guard lock(mutex_);
  held_ = std::move(layout);
}

LayoutByRange LayoutKnown::hold(const Layout& layout) {
  LayoutByRange now;
  if (!layout.components.empty()) {
    auto ranges = std::make_shared<std::vector<StripeRange>>(stripes_of(layout, 0, kEndOfFile));
    if (ranges->size() > 1 && ranges->size() <= kMostRanges && tiles_file(*ranges)) now = LayoutByRange{key_of(*ranges), std::move(ranges)};
  }
  hold(now);
  return now;
}

}  // namespace mercutio
