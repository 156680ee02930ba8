#include "engine/exchange.h"

#include <algorithm>

#include "plan/schedule.h"

namespace mercutio {
namespace {

// Polling one stream costs about as much as copying this many bytes. A rank polls its streams when it has copied as many bytes as
// the polls cost. If it polled after each window, polls would dominate for ranks with few bytes in many windows.
constexpr i64 kPollCostBytes = 1 * KiB;

}  // namespace

Exchange::Exchange(const EngineFile& file, const Channel& channel, NodeArena& arena, const AgreedAccess& agreed, const RankAccess& mine)
    : file_(file),
      channel_(channel),
      arena_(arena),
      plan_(agreed.plan),
      ranges_(agreed.ranges),
      mine_(mine),
      writing_(mine.direction == Direction::kWrite),
      dense_(agreed.dense),
      apart_(plan_.exchange == ExchangeKind::kMessages),
      me_(file.comm->rank()) {
  const Topology& topology = file.comm->topology();
  std::vector<NodeBuffer> node_buffers;
  if (apart_) {
    for (const i64 aggregator : plan_.aggregators) node_buffers.push_back(NodeBuffer{aggregator, 0});
  } else {
    node_buffers = node_buffers_of(plan_.aggregators, topology, topology.node_of_rank[static_cast<size_t>(me_)]);
  }
  for (i64 domain = 0; domain < plan_.domains(); ++domain) {
    buffers_.emplace_back(arena_, plan_, agreed.borders, domain, node_buffers[static_cast<size_t>(domain)]);
  }
  routes_.resize(buffers_.size());
  requests_.resize(buffers_.size());
  led_.resize(buffers_.size());
  make_endpoints();
  begin();
}

// Whether the rank's node may have data in a domain, as far as all ranks know.
bool Exchange::may_have_data(i64 domain, i64 rank) const {
  const Topology& topology = file_.comm->topology();
  const bool by_rank = std::ssize(ranges_) == topology.ranks();
  const FileRange data = ranges_[static_cast<size_t>(by_rank ? rank : topology.node_of_rank[static_cast<size_t>(rank)])];
  const FileRange owned = plan_.domain(domain);
  return !data.empty() && plan_.serves(domain, rank) && data.begin < owned.end && data.end > owned.begin;
}

// The ranks that stream to the aggregator of a domain: the leaders of the other nodes that may have data there.
std::vector<i64> Exchange::leaders_of(i64 domain) const {
  const Topology& topology = file_.comm->topology();
  std::vector<i64> leaders;
  if (apart_) {
    for (i64 rank = 0; rank < topology.ranks(); ++rank) {
      if (rank != me_ && may_have_data(domain, rank)) leaders.push_back(rank);
    }
    return leaders;
  }
  std::vector<bool> needed(static_cast<size_t>(topology.nodes()), false);
  for (i64 rank = 0; rank < topology.ranks(); ++rank) {
    const auto node = static_cast<size_t>(topology.node_of_rank[static_cast<size_t>(rank)]);
    needed[node] = needed[node] || may_have_data(domain, rank);
  }
  for (size_t node = 0; node < needed.size(); ++node) {
    if (!needed[node] || static_cast<i64>(node) == topology.node_of_rank[static_cast<size_t>(me_)]) continue;
    leaders.push_back(node_buffers_of(plan_.aggregators, topology, static_cast<i64>(node))[static_cast<size_t>(domain)].leader);
  }
  return leaders;
}

// Adds the endpoint of a window buffer of which this rank is the leader.
void Exchange::add_endpoint(i64 domain, std::unique_ptr<WindowEndpoint> endpoint, i64 streams) {
  led_[static_cast<size_t>(domain)] = endpoint.get();
  streams_ += streams;
  endpoints_.push_back(std::move(endpoint));
}

// Creates the endpoints of the window buffers and streams of which this rank is the leader.
void Exchange::make_endpoints() {
  const Topology& topology = file_.comm->topology();
  const ExchangeSchedule schedule(plan_, topology);
  const i64 most_streams = std::max(apart_ ? topology.ranks() : topology.nodes(), plan_.domains());   // of one rank, in either direction
  const EndpointContext context{file_, channel_, writing_, dense_, RunListCache::kMostBytes / most_streams, outcome_};
  std::vector<i64> streams;
  for (i64 step = 0; step < plan_.domains(); ++step) {
    const i64 domain = schedule.peer(me_, step);
    const WindowBuffer& buffer = buffers_[static_cast<size_t>(domain)];
    const bool leads = buffer.leader() == me_;
    if (!apart_ || leads) visited_.push_back(domain);
    if (leads && !buffer.has_stream()) {
      const std::vector<i64> leaders = leaders_of(domain);
      add_endpoint(domain, make_aggregator_endpoint(buffer, context, leaders), std::ssize(leaders));
    }
    if (apart_ && !leads && may_have_data(domain, me_)) streams.push_back(domain);
    if (!leads || !buffer.has_stream()) continue;
    const std::span<const i64> members = arena_.members();
    const bool needed = std::any_of(members.begin(), members.end(), [&](i64 rank) { return may_have_data(domain, rank); });
    if (needed) add_endpoint(domain, make_node_leader(buffer, context, plan_.aggregators[static_cast<size_t>(domain)]), 1);
  }
  if (!streams.empty()) endpoints_.push_back(make_rank_streams(buffers_, context, mine_, streams));
}

void Exchange::begin() {
  for (const i64 domain : visited_) {
    finish_up_to(domain, 0);
    if (!writing_) request_from(domain, 0);
  }
}

// This rank has finished all windows of the domain before its next one.
void Exchange::finish_up_to(i64 domain, i64 from) {
  const auto i = static_cast<size_t>(domain);
  routes_[i] = next_part(plan_, domain, me_, mine_.part, from);
  buffers_[i].set_finished(routes_[i].window);
}

void Exchange::request_from(i64 domain, i64 from) {
  const auto i = static_cast<size_t>(domain);
  if (!buffers_[i].has_stream() && !plan_.sparse) return;
  requests_[i] = from == 0 ? routes_[i] : next_part(plan_, domain, me_, mine_.part, from);
  buffers_[i].set_requested(requests_[i].window);
}

Cursor Exchange::in_slot(i64 domain, const WindowPart& route) const {
  const WindowBuffer& buffer = buffers_[static_cast<size_t>(domain)];
  return mine_.part.cursor_in(buffer.slot(route.window).data, buffer.window(route.window).begin, route.begin, route.end);
}

void Exchange::set_valid_map(i64 domain, const WindowPart& route) {
  const WindowBuffer& buffer = buffers_[static_cast<size_t>(domain)];
  const Slot slot = buffer.slot(route.window);
  const auto unit = static_cast<unsigned long long>(buffer.unit_of(buffer.window(route.window)));
  mercutio::set_valid(in_slot(domain, route), reinterpret_cast<i64>(slot.data), slot.valid, __builtin_ctzll(unit));
}

// Copies this rank's bytes of a window: into the slot when writing, out of it when reading.
void Exchange::move(i64 domain, const WindowPart& route) {
  const i64 bytes = route.end - route.begin;
  const PhaseScope phase(channel_.counters, Phase::kCopy);
  channel_.copied(bytes);
  copied_ += bytes;
  Cursor memory = mine_.memory->cursor();
  memory.seek(route.begin - mine_.memory_begin);
  Cursor in_window = in_slot(domain, route);
  if (!writing_) return copy(in_window, memory, bytes);
  if (!dense_) set_valid_map(domain, route);
  copy(memory, in_window, bytes);
  buffers_[static_cast<size_t>(domain)].slot(route.window).filled.fetch_add(bytes, std::memory_order_relaxed);
}

// Reading sparsely or through a node stream: sets the requests of this rank in its next window, if that has a slot.
bool Exchange::request(i64 domain) {
  const auto i = static_cast<size_t>(domain);
  WindowBuffer& buffer = buffers_[i];
  if (writing_ || (!buffer.has_stream() && !plan_.sparse) || requests_[i].window >= buffer.windows()) return false;
  if (requests_[i].window >= buffer.available()) return false;
  set_valid_map(domain, requests_[i]);
  request_from(domain, requests_[i].window + 1);
  return true;
}

// Copies this rank's bytes of its next window of a domain, if that is possible now.
bool Exchange::visit(i64 domain) {
  const auto i = static_cast<size_t>(domain);
  WindowBuffer& buffer = buffers_[i];
  const WindowPart route = routes_[i];
  const bool asked = request(domain);
  if (route.window >= buffer.windows()) return asked;
  const i64 completed = buffer.completed();
  if (writing_ ? route.window >= completed + plan_.depth : route.window >= completed) return asked;
  move(domain, route);
  finish_up_to(domain, route.window + 1);
  return true;
}

bool Exchange::advance_endpoints() {
  bool moved = false;
  copied_ = 0;
  for (const auto& endpoint : endpoints_) moved |= endpoint->advance();
  return moved;
}

bool Exchange::advance() {
  if (over_) return true;
  bool moved = true, rest = false;
  while (moved && outcome_.messages) {
    moved = advance_endpoints();
    rest = false;
    for (const i64 domain : visited_) {
      if (visit(domain)) {
        moved = true;
        WindowEndpoint* led = led_[static_cast<size_t>(domain)];
        while (led && led->advance()) {
        }
        while (copied_ >= streams_ * kPollCostBytes && advance_endpoints()) {
        }
      }
      rest = rest || routes_[static_cast<size_t>(domain)].window < plan_.windows(domain);
    }
  }
  over_ = !rest && std::all_of(endpoints_.begin(), endpoints_.end(), [](const auto& endpoint) { return endpoint->over(); });
  over_ = over_ || !outcome_.messages;
  if (over_) {
    for (const i64 domain : visited_) buffers_[static_cast<size_t>(domain)].leave();
  }
  return over_;
}

}  // namespace mercutio
