#include "plan/new_file.h"

#include <algorithm>

namespace mercutio {
namespace {

constexpr i64 kGiB = 1024 * MiB;

struct Step {
  i64 end, servers, stripe_bytes;
};
constexpr Step kSteps[] = {{1 * MiB, 1, 1 * MiB}, {10 * kGiB, 8, 1 * MiB}, {100 * kGiB, 24, 4 * MiB}, {1024 * kGiB, 72, 4 * MiB}, {kEndOfFile, 216, 4 * MiB}};

}  // namespace

Layout layout_of_new_file(i64 nodes, i64 ranks) {
  Layout layout;
  if (ranks < 2) return layout;
  const i64 most = std::min(ranks, kMostServersForANode * std::max<i64>(1, nodes));
  i64 begin = 0;
  for (const Step& step : kSteps) {
    const i64 servers = std::min(most, step.servers);
    if (layout.components.empty() || layout.components.back().stripe_count < servers) {
      LayoutComponent component;
      component.begin = begin;
      component.stripe_bytes = step.stripe_bytes;
      component.stripe_count = servers;
      component.instantiated = false;
      layout.components.push_back(component);
    }
    layout.components.back().end = begin = step.end;
  }
  return layout;
}

}  // namespace mercutio
