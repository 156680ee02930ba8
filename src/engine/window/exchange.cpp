#include "engine/window/exchange.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "engine/window/window_parts.h"
#include "plan/schedule.h"

namespace mercutio {
namespace {

// Polling one stream costs about as much as copying this many bytes. A rank polls its streams when it has copied as many bytes as
// the polls cost. If it polled after each window, polls would dominate for ranks with few bytes in many windows.
constexpr i64 kPollCostBytes = 1 * KiB;

class Exchange {
 public:
  Exchange(const EngineFile& file, const Channel& channel, NodeArena& arena, const Agreed& agreed,
           const RankAccess& mine)
      : file_(file),
        channel_(channel),
        arena_(arena),
        plan_(*agreed.plan),
        topology_(file.comm->topology()),
        ranges_(agreed.ranges),
        mine_(mine),
        writing_(mine.direction == Direction::kWrite),
        dense_(agreed.dense),
        apart_(plan_.exchange == ExchangeKind::kMessages),
        me_(file.comm->rank()) {
    if (plan_.exchange == ExchangeKind::kTwoLayer) between_nodes_.emplace(plan_.aggregators, topology_);
    domains_.reserve(plan_.aggregators.size());
    for (i64 i = 0; i < plan_.domains(); ++i) {
      const NodeBuffer own{plan_.aggregators[static_cast<size_t>(i)], 0};
      domains_.emplace_back(WindowBuffer(arena, plan_, agreed.borders, i, between_nodes_ ? between_nodes_->of(i, arena.place().node, arena.members()) : own));
    }
    if (file.run_lists) file.run_lists->begin(plan_);
    make_endpoints();
    for (Domain* const domain : visited_) {
      finish_up_to(*domain, 0);
      if (!writing_) request_from(*domain, 0);
    }
    open_ = visited_;
    for (const auto& endpoint : endpoints_) active_.push_back(endpoint.get());
  }

  // Makes progress without blocking. Returns true when this rank has finished its part or an error prevents it: then it must not be called again.
  bool advance() {
    bool moved = true;
    while (moved && outcome_.messages) {
      moved = advance_endpoints();
      for (Domain* const domain : open_) {
        if (!visit(*domain)) continue;
        moved = true;
        while (domain->led && domain->led->advance()) {
        }
        while (copied_ >= streams_ * kPollCostBytes && advance_endpoints()) {
        }
      }
      std::erase_if(open_, [](const Domain* domain) { return domain->next.window >= domain->buffer.windows(); });
    }
    std::erase_if(active_, [](const WindowEndpoint* endpoint) { return endpoint->over(); });
    if (outcome_.messages && !(open_.empty() && active_.empty())) return false;
    for (Domain* const domain : visited_) domain->buffer.leave();
    return true;
  }

  const Outcome& outcome() const { return outcome_; }

 private:
  struct Domain {
    explicit Domain(WindowBuffer b) : buffer(std::move(b)) {}
    WindowBuffer buffer;
    WindowPart next, request;        // the next window with bytes of this rank, to move and to request
    WindowEndpoint* led = nullptr;   // of the buffer, if this rank is its leader
  };

  // Whether a node, some ranks of it or one rank, may have data in a domain, as far as all ranks know.
  bool may_have_data(i64 domain, i64 node, std::span<const i64> ranks) const {
    const FileRange data = ranges_[static_cast<size_t>(node)], owned = plan_.domain(domain);
    return !data.empty() && data.begin < owned.end && data.end > owned.begin && plan_.serves_any(domain, ranks);
  }
  bool may_have_data(i64 domain, i64 rank) const {
    const bool by_rank = std::ssize(ranges_) == topology_.ranks();
    return may_have_data(domain, by_rank ? rank : topology_.node_of_rank[static_cast<size_t>(rank)], std::span(&rank, 1));
  }

  // The ranks that stream to the aggregator of a domain, which is this one: the leaders of the other nodes that may have data there.
  std::vector<i64> leaders_of(i64 domain) const {
    std::vector<i64> leaders;
    for (i64 rank = 0; apart_ && rank < topology_.ranks(); ++rank) {
      if (rank != me_ && may_have_data(domain, rank)) leaders.push_back(rank);
    }
    for (i64 node = 0; between_nodes_ && node < topology_.nodes(); ++node) {
      const std::span<const i64> members = arena_.ranks_by_node(topology_).of(node);
      if (node != arena_.place().node && may_have_data(domain, node, members)) leaders.push_back(between_nodes_->of(domain, node, members).leader);
    }
    return leaders;
  }

  void lead(Domain& domain, std::unique_ptr<WindowEndpoint> endpoint, i64 streams) {
    domain.led = endpoint.get();
    streams_ += streams;
    endpoints_.push_back(std::move(endpoint));
  }

  // Creates the endpoints of the window buffers and streams of which this rank is the leader.
  void make_endpoints() {
    const ExchangeSchedule schedule(plan_, topology_);
    // Of one rank, in either direction.
    const i64 most_streams = std::max(apart_ ? topology_.ranks() : topology_.nodes(), plan_.domains());
    const EndpointContext context{file_, channel_, writing_, dense_, RunListCache::kMostBytes / most_streams, outcome_};
    std::vector<const WindowBuffer*> streams;
    for (i64 step = 0; step < plan_.domains(); ++step) {
      const i64 number = schedule.peer(arena_.place(), step);
      Domain& domain = domains_[static_cast<size_t>(number)];
      const bool leads = domain.buffer.leader() == me_;
      if (!apart_ || leads) visited_.push_back(&domain);
      if (!leads && apart_ && may_have_data(number, me_)) streams.push_back(&domain.buffer);
      if (!leads) continue;
      if (!domain.buffer.has_stream()) {
        const std::vector<i64> leaders = leaders_of(number);
        lead(domain, make_aggregator_endpoint(domain.buffer, context, leaders), std::ssize(leaders));
      } else if (may_have_data(number, arena_.place().node, arena_.members())) {
        lead(domain, make_node_leader(domain.buffer, context, plan_.aggregators[static_cast<size_t>(number)]), 1);
      }
    }
    if (!streams.empty()) endpoints_.push_back(make_rank_streams(streams, context, mine_));
  }

  // This rank has finished all windows of the domain before its next one.
  void finish_up_to(Domain& domain, i64 from) {
    domain.next = next_part(plan_, domain.buffer.domain(), me_, mine_, from);
    domain.buffer.set_finished(domain.next.window);
  }

  bool requests(const Domain& domain) const { return !writing_ && (domain.buffer.has_stream() || plan_.sparse); }
  void request_from(Domain& domain, i64 from) {
    if (!requests(domain)) return;
    domain.request = from == 0 ? domain.next : next_part(plan_, domain.buffer.domain(), me_, mine_, from);
    domain.buffer.set_requested(domain.request.window);
  }

  Cursor in_slot(const WindowBuffer& buffer, const WindowPart& part) const {
    return mine_.view->cursor_in(buffer.slot(part.window).data, buffer.window(part.window).begin, part.begin, part.end);
  }

  void set_valid_map(const WindowBuffer& buffer, const WindowPart& part) const {
    const ValidMap valid = buffer.valid_map(part.window);
    set_valid(in_slot(buffer, part), reinterpret_cast<i64>(buffer.slot(part.window).data), valid.flags, valid.shift);
  }

  // Copies this rank's bytes of a window: into the slot when writing, out of it when reading.
  void move(const WindowBuffer& buffer, const WindowPart& part) {
    const i64 bytes = part.end - part.begin;
    const PhaseScope phase(channel_.counters, Phase::kCopy);
    channel_.copied(bytes);
    copied_ += bytes;
    Cursor memory = mine_.memory_at(part.begin);
    Cursor in_window = in_slot(buffer, part);
    if (!writing_) return copy(in_window, memory, bytes);
    if (!dense_) set_valid_map(buffer, part);
    copy(memory, in_window, bytes);
    buffer.slot(part.window).filled.fetch_add(bytes, std::memory_order_relaxed);
  }

  // Reading sparsely or through a node stream: sets the requests of this rank in its next window, if that has a slot.
  bool request(Domain& domain) {
    if (!requests(domain)) return false;
    if (domain.request.window >= std::min(domain.buffer.windows(), domain.buffer.available())) return false;
    set_valid_map(domain.buffer, domain.request);
    request_from(domain, domain.request.window + 1);
    return true;
  }

  // Copies this rank's bytes of its next window of a domain, if that is possible now.
  bool visit(Domain& domain) {
    const bool asked = request(domain);
    const WindowPart next = domain.next;
    if (next.window >= domain.buffer.windows()) return asked;
    if (next.window >= domain.buffer.completed() + (writing_ ? plan_.depth : 0)) return asked;
    move(domain.buffer, next);
    finish_up_to(domain, next.window + 1);
    return true;
  }

  bool advance_endpoints() {
    bool moved = false;
    copied_ = 0;
    for (WindowEndpoint* const endpoint : active_) moved |= endpoint->advance();
    return moved;
  }

  const EngineFile& file_;
  const Channel& channel_;
  NodeArena& arena_;
  const Plan& plan_;
  const Topology& topology_;
  const std::span<const FileRange> ranges_;
  const RankAccess& mine_;
  const bool writing_, dense_, apart_;   // apart: every rank is a node of its own
  const i64 me_;
  std::optional<NodeBuffers> between_nodes_;   // otherwise each aggregator leads its own buffers, and nobody else does
  std::vector<Domain> domains_;
  std::vector<Domain*> visited_;         // those with windows on this node, in the order in which this rank visits them
  std::vector<Domain*> open_;            // those of them in which it has not moved all its bytes
  Outcome outcome_;
  std::vector<std::unique_ptr<WindowEndpoint>> endpoints_;
  std::vector<WindowEndpoint*> active_;  // those of them that are not over
  i64 streams_ = 0;                      // of the endpoints that are led
  i64 copied_ = 0;                       // bytes copied since all endpoints were last advanced
};

}  // namespace

Task<Outcome> exchange(const EngineFile& file, const Channel& channel, NodeArena& arena, const Agreed& agreed,
                       const RankAccess& mine) {
  Exchange exchange(file, channel, arena, agreed, mine);
  co_await until([&] {
    const ExchangePhaseScope scope(*channel.counters);
    return exchange.advance();
  });
  co_return exchange.outcome();
}

}  // namespace mercutio
