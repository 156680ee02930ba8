#include "model/layout.h"

#include <algorithm>

namespace mercutio {
namespace {

constexpr i64 kUsualStripeBytes = 1 * MiB;

// The components of the mirror in use that have bytes, as ranges. An extension has the stripes of what it extends.
std::vector<StripeRange> ranges_of(const Layout& layout) {
  std::vector<StripeRange> ranges;
  i64 most = 1, bytes = kUsualStripeBytes, count = 0;
  for (const LayoutComponent& component : layout.components) most = std::max(most, component.stripe_count);
  for (const LayoutComponent& component : layout.components) {
    if (component.mirror != layout.mirror) continue;
    if (!component.extension) {
      if (component.stripe_bytes > 0) bytes = component.stripe_bytes;
      count = component.stripe_count > 0 ? component.stripe_count : most;
    }
    if (component.begin < component.end && count > 0) ranges.push_back({component.begin, component.end, bytes, count});
  }
  return ranges;
}

}  // namespace

const LayoutComponent* Layout::component_at(i64 offset) const {
  for (const LayoutComponent& component : components) {
    if (component.mirror == mirror && offset >= component.begin && offset < component.end) return &component;
  }
  return nullptr;
}

i64 Layout::server_at(i64 offset) const {
  const LayoutComponent* const component = component_at(offset);
  if (!component || component->servers.empty() || component->stripe_bytes <= 0) return -1;
  return component->servers[static_cast<size_t>(offset / component->stripe_bytes % static_cast<i64>(component->servers.size()))];
}

bool Layout::may_change() const {
  return std::any_of(components.begin(), components.end(), [&](const LayoutComponent& component) {
    return component.extension || !component.instantiated || component.mirror != mirror;
  });
}

std::vector<StripeRange> stripes_of(const Layout& layout, i64 begin, i64 end) {
  std::vector<StripeRange> all = ranges_of(layout), out;
  if (all.empty() && layout.stripe_bytes > 0) all.push_back({0, kEndOfFile, layout.stripe_bytes, layout.stripe_count});
  i64 at = begin;
  for (size_t i = 0; i < all.size() && at < end; ++i) {
    StripeRange range = all[i];
    range.begin = at;   // what no component has belongs to the one that follows, at the end to the last
    if (i + 1 == all.size()) range.end = end;
    range.end = std::min(range.end, end);
    if (range.end <= at) continue;
    const bool alike = !out.empty() && out.back().stripe_bytes == range.stripe_bytes && out.back().stripe_count == range.stripe_count;
    if (alike) out.back().end = range.end;
    else out.push_back(range);
    at = range.end;
  }
  return out;
}

Layout within(const Layout& layout, i64 begin, i64 end) {
  Layout out = layout;
  if (layout.components.empty()) return out;
  out.components.clear();
  out.mirror = 0;
  i64 most = -1;
  const std::vector<StripeRange> ranges = stripes_of(layout, begin, std::max(end, begin + 1));
  for (const StripeRange& range : ranges) {
    if (range.end - range.begin > most) {
      most = range.end - range.begin;
      out.stripe_bytes = range.stripe_bytes;
      out.stripe_count = range.stripe_count;
    }
    if (ranges.size() == 1) continue;
    LayoutComponent component;
    component.begin = range.begin;
    component.end = range.end;
    component.stripe_bytes = range.stripe_bytes;
    component.stripe_count = range.stripe_count;
    out.components.push_back(std::move(component));
  }
  return out;
}

}  // namespace mercutio
