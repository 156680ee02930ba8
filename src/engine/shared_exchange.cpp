#include "engine/shared_exchange.h"

#include <algorithm>

namespace mercutio {

SharedExchange::SharedExchange(const EngineFile& file, Channel channel, const Plan& plan, Direction direction,
                               AgreedPieces pieces)
    : file_(file),
      channel_(std::move(channel)),
      plan_(plan),
      schedule_(plan, file.comm->topology()),
      writing_(direction == Direction::kWrite),
      dense_(pieces.dense),
      me_(file.comm->rank()) {
  const Topology& topology = file.comm->topology();
  const std::vector<NodeBuffer> node_buffers = node_buffers_of(plan.aggregators, topology, topology.node_of_rank[static_cast<size_t>(me_)]);
  for (i64 domain = 0; domain < plan.domains(); ++domain) {
    buffers_.emplace_back(channel_.ticket->arena(), plan, pieces.borders, domain, node_buffers[static_cast<size_t>(domain)]);
  }
  routes_.resize(buffers_.size());
  requests_.resize(buffers_.size());
  make_endpoints(pieces.ranges);
}

bool SharedExchange::has_data(std::span<const PeerAccess> ranges, i64 domain, i64 rank) const {
  const PeerAccess& access = ranges[static_cast<size_t>(rank)];
  const FileRange owned = plan_.domain(domain);
  return access.end > access.begin && plan_.serves(domain, rank) && access.first < owned.end && access.last > owned.begin;
}

// Creates the endpoints of the node buffers that this rank leads. A node stream exists if the leader's node has data in
// the domain.
void SharedExchange::make_endpoints(std::span<const PeerAccess> ranges) {
  const Topology& topology = file_.comm->topology();
  const i64 most_streams = std::max(topology.nodes(), plan_.domains());   // the most that one rank has, in either direction
  const EndpointContext context{file_, channel_, writing_, dense_, RunListCache::kMostBytes / most_streams, outcome_};
  for (i64 domain = 0; domain < plan_.domains(); ++domain) {
    const WindowBuffer& buffer = buffers_[static_cast<size_t>(domain)];
    if (buffer.leader() != me_) continue;
    if (buffer.has_stream()) {
      const std::span<const i64> members = channel_.ticket->arena().members();
      const bool needed = std::any_of(members.begin(), members.end(), [&](i64 rank) { return has_data(ranges, domain, rank); });
      if (needed) endpoints_.push_back(make_node_leader(buffer, context, plan_.aggregators[static_cast<size_t>(domain)]));
      continue;
    }
    std::vector<bool> needed(static_cast<size_t>(topology.nodes()), false);
    for (i64 rank = 0; rank < topology.ranks(); ++rank) {
      const auto node = static_cast<size_t>(topology.node_of_rank[static_cast<size_t>(rank)]);
      needed[node] = needed[node] || has_data(ranges, domain, rank);
    }
    std::vector<i64> leaders;
    for (size_t node = 0; node < needed.size(); ++node) {
      if (!needed[node] || static_cast<i64>(node) == topology.node_of_rank[static_cast<size_t>(me_)]) continue;
      leaders.push_back(node_buffers_of(plan_.aggregators, topology, static_cast<i64>(node))[static_cast<size_t>(domain)].leader);
    }
    endpoints_.push_back(make_aggregator_endpoint(buffer, context, leaders));
  }
}

void SharedExchange::set_access(const PeerAccess& mine, const Memory& memory, i64 memory_begin) {
  mine_ = mine;
  memory_ = &memory;
  memory_begin_ = memory_begin;
  for (i64 domain = 0; domain < plan_.domains(); ++domain) {
    finish_up_to(domain, 0);
    if (!writing_) request_from(domain, 0);
  }
  channel_.ticket->arena().wake_others();   // they may wait for windows in which this rank has no data
}

// This rank continues with its next window; all windows before it are finished.
void SharedExchange::finish_up_to(i64 domain, i64 from) {
  const auto i = static_cast<size_t>(domain);
  routes_[i] = next_part(plan_, domain, me_, mine_, from);
  buffers_[i].set_finished(routes_[i].window);
}

void SharedExchange::request_from(i64 domain, i64 from) {
  const auto i = static_cast<size_t>(domain);
  if (!buffers_[i].has_stream()) return;
  requests_[i] = from == 0 ? routes_[i] : next_part(plan_, domain, me_, mine_, from);
  buffers_[i].set_requested(requests_[i].window);
}

Cursor SharedExchange::in_slot(i64 domain, const WindowPart& route) const {
  const WindowBuffer& buffer = buffers_[static_cast<size_t>(domain)];
  return mine_.cursor_in(buffer.slot(route.window).data, buffer.window(route.window).begin, route.begin, route.end);
}

void SharedExchange::set_valid_map(i64 domain, const WindowPart& route) {
  const WindowBuffer& buffer = buffers_[static_cast<size_t>(domain)];
  const Slot slot = buffer.slot(route.window);
  const auto unit = static_cast<unsigned long long>(buffer.unit_of(buffer.window(route.window)));
  set_valid(in_slot(domain, route), reinterpret_cast<i64>(slot.data), slot.valid, __builtin_ctzll(unit));
}

// Copies this rank's bytes of a window: into the slot for a write, out of it for a read.
void SharedExchange::move(i64 domain, const WindowPart& route) {
  const i64 bytes = route.end - route.begin;
  const PhaseScope phase(channel_.counters, Phase::kCopy);
  channel_.copied(bytes);
  Cursor memory = memory_->cursor();
  memory.seek(route.begin - memory_begin_);
  Cursor in_window = in_slot(domain, route);
  if (!writing_) return copy(in_window, memory, bytes);
  if (!dense_) set_valid_map(domain, route);
  copy(memory, in_window, bytes);
  buffers_[static_cast<size_t>(domain)].slot(route.window).filled.fetch_add(bytes, std::memory_order_relaxed);
}

// Reading through a node stream: requests this rank's bytes of the next window if its slot is free.
bool SharedExchange::request(i64 domain) {
  const auto i = static_cast<size_t>(domain);
  WindowBuffer& buffer = buffers_[i];
  if (writing_ || !buffer.has_stream() || requests_[i].window >= buffer.windows()) return false;
  if (requests_[i].window >= buffer.available()) return false;
  set_valid_map(domain, requests_[i]);
  request_from(domain, requests_[i].window + 1);
  if (buffer.leader() != me_) buffer.wake_leader();
  return true;
}

// Copies this rank's bytes of its next window of a domain if that is possible now.
bool SharedExchange::visit(i64 domain) {
  const auto i = static_cast<size_t>(domain);
  WindowBuffer& buffer = buffers_[i];
  const WindowPart route = routes_[i];
  const bool asked = request(domain);
  if (route.window >= buffer.windows()) return asked;
  const i64 completed = buffer.completed();
  if (writing_ ? route.window >= completed + plan_.depth : route.window >= completed) return asked;
  move(domain, route);
  finish_up_to(domain, route.window + 1);
  if (buffer.leader() != me_) buffer.wake_leader();
  return true;
}

bool SharedExchange::advance_endpoints() {
  bool moved = false;
  for (const auto& endpoint : endpoints_) moved |= endpoint->advance();
  return moved;
}

bool SharedExchange::advance() {
  if (over_) return true;
  bool moved = true, rest = false;
  while (moved && outcome_.messages) {
    moved = advance_endpoints();
    rest = false;
    for (i64 step = 0; step < plan_.domains(); ++step) {
      const i64 domain = schedule_.peer(me_, step);
      if (visit(domain)) {
        moved = true;
        while (advance_endpoints()) {
        }
      }
      rest = rest || routes_[static_cast<size_t>(domain)].window < plan_.windows(domain);
    }
  }
  over_ = !rest && std::all_of(endpoints_.begin(), endpoints_.end(), [](const auto& endpoint) { return endpoint->over(); });
  over_ = over_ || !outcome_.messages;
  if (over_) {
    for (WindowBuffer& buffer : buffers_) buffer.leave();
  }
  return over_;
}

}  // namespace mercutio
