#include "engine/peer_views.h"

#include <algorithm>
#include <map>

#include "base/attempt.h"
#include "engine/engine.h"
#include "engine/messages.h"

namespace mercutio {

std::pair<i64, i64> PeerAccess::part_in(i64 from, i64 to) const {
  if (end <= begin || last <= from || first >= to) return {0, 0};
  const i64 part_begin = first >= from ? begin : std::max(begin, stream_position(from));
  const i64 part_end = last <= to ? end : std::min(end, stream_position(to));
  return part_begin < part_end ? std::pair{part_begin, part_end} : std::pair<i64, i64>{0, 0};
}

bool PeerViews::latest_is(i64 rank, std::uint64_t hash) {
  std::lock_guard lock(mutex_);
  if (rank >= static_cast<i64>(known_.size())) return false;
  const Tree& latest = known_[static_cast<size_t>(rank)].latest;
  return latest.type && latest.hash == hash;
}

FlatTypeRef PeerViews::find(i64 rank, std::uint64_t hash) {
  std::lock_guard lock(mutex_);
  if (rank >= static_cast<i64>(known_.size())) return nullptr;
  const Known& known = known_[static_cast<size_t>(rank)];
  if (known.latest.hash == hash && known.latest.type) return known.latest.type;
  return known.before.hash == hash ? known.before.type : nullptr;
}

void PeerViews::store(i64 rank, std::uint64_t hash, FlatTypeRef type) {
  std::lock_guard lock(mutex_);
  if (rank >= static_cast<i64>(known_.size())) known_.resize(static_cast<size_t>(rank) + 1);
  Known& known = known_[static_cast<size_t>(rank)];
  if (known.latest.type && known.latest.hash == hash) return;
  known.before = std::exchange(known.latest, Tree{hash, std::move(type)});
}

namespace {

// The gather: the lowest rank of each distinct hash sends its tree.
Task<Status> gather_unknown(Channel channel, FlatTypeRef mine, std::span<const ViewHeader> headers,
                            std::span<PeerAccess> peers) {
  const i64 me = channel.comm->rank();
  std::map<std::uint64_t, i64> shipper;
  for (size_t r = 0; r < headers.size(); ++r) {
    if (peers[r].end > peers[r].begin && !headers[r].known) shipper.emplace(headers[r].hash, static_cast<i64>(r));
  }
  std::vector<std::byte> tree;
  auto my_shipper = shipper.find(headers[static_cast<size_t>(me)].hash);
  Status ready = ok_status();
  if (mine && my_shipper != shipper.end() && my_shipper->second == me) {
    ready = attempt([&] {
      mine->serialize(tree);
      return ok_status();
    });
    if (!ready) tree.clear();
  }
  channel.described(static_cast<i64>(tree.size()));
  auto gathered = co_await all_gather_strings(channel, tree);
  if (!gathered) co_return std::move(gathered).error();
  if (!ready) co_return ready;

  std::map<std::uint64_t, FlatTypeRef> arrived;
  for (auto& [hash, rank] : shipper) {
    if (mine && mine->hash() == hash) {
      arrived[hash] = mine;
      continue;
    }
    auto& bytes = (*gathered)[static_cast<size_t>(rank)];
    auto type = FlatType::deserialize(bytes);
    if (!type) co_return std::move(type).error();
    if ((*type)->hash() != hash) co_return Error{ErrorClass::kIntern, "a filetype arrived that is not the one announced"};
    arrived[hash] = std::move(*type);
    bytes = {};
  }
  for (size_t r = 0; r < headers.size(); ++r) {
    if (peers[r].end > peers[r].begin && !headers[r].known) peers[r].filetype = arrived[headers[r].hash];
  }
  co_return ok_status();
}

}  // namespace

Task<Status> ship_views(Channel channel, PeerViews& views, FlatTypeRef mine, std::span<const ViewHeader> headers,
                        std::span<PeerAccess> peers) {
  bool unknown = false;
  for (size_t r = 0; r < headers.size(); ++r) unknown |= peers[r].end > peers[r].begin && !headers[r].known;
  if (unknown) {
    Status gathered = co_await gather_unknown(channel, mine, headers, peers);
    // An agreement, so that either all ranks know the trees from now on or none does.
    MERCUTIO_CO_TRY(co_await agree(channel, std::move(gathered)));
    for (size_t r = 0; r < headers.size(); ++r) {
      if (peers[r].filetype) views.store(static_cast<i64>(r), headers[r].hash, peers[r].filetype);
    }
  }
  for (size_t r = 0; r < headers.size(); ++r) {
    PeerAccess& peer = peers[r];
    if (peer.end <= peer.begin || peer.filetype) continue;
    // It was sent in an access that is still in progress on this rank and doesn't wait for this one, so waiting is
    // safe.
    const i64 rank = static_cast<i64>(r);
    co_await until([&] { return (peer.filetype = views.find(rank, headers[r].hash)) != nullptr; });
  }
  co_return ok_status();
}

std::shared_ptr<PeerViews> make_peer_views() { return std::make_shared<PeerViews>(); }

}  // namespace mercutio
