#include "plan/agreed_hints.h"

namespace mercutio {
namespace {

// Whether aggregators save other ranks a connection to another cluster: short shares that lie together are one request of an aggregator in place of
// one of each rank.
bool saves_connections(const Pattern& pattern) {
  constexpr i64 kShortBytes = 1 * MiB;
  const bool together = pattern.disjoint && pattern.contiguous == pattern.participants && pattern.gap_bytes() == 0;
  return pattern.ranks > 1 && together && pattern.bytes < pattern.participants * kShortBytes;
}

}  // namespace

std::unique_ptr<const Hints> agreed_hints(const Hints& mine, const ChosenHints& chosen, const Pattern& pattern, bool remote_cluster, bool disorderly) {
  constexpr i64 kRemoteDepth = 8;   // an answer takes a round trip, in which windows of other data keep the link busy
  const i64 depth = mine.mercutio_depth == 0 && remote_cluster ? kRemoteDepth : mine.mercutio_depth;
  Toggle buffering = static_cast<Toggle>(chosen.buffering);
  if (buffering == Toggle::kAutomatic && remote_cluster && saves_connections(pattern)) buffering = Toggle::kEnable;
  // Windows are found by counting the bytes below an offset, which needs a monotone view. Only reads may have other views.
  if (disorderly) buffering = Toggle::kDisable;
  const bool same = mine.romio_cb_read == buffering && mine.romio_cb_write == buffering && mine.cb_buffer_size == chosen.buffer_bytes &&
                    mine.cb_nodes == chosen.aggregators && mine.mercutio_depth == depth;
  if (same) return nullptr;
  auto agreed = std::make_unique<Hints>(mine);
  agreed->romio_cb_read = agreed->romio_cb_write = buffering;
  agreed->cb_buffer_size = chosen.buffer_bytes;
  agreed->cb_nodes = chosen.aggregators;
  agreed->mercutio_depth = depth;
  return agreed;
}

}  // namespace mercutio
