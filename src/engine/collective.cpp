// The body of every collective access: enter, plan, move, agree.
//
// One gather of a few words a rank; every decision that ranks must share is computed from it, the same on each. No rank needs
// another one's view: each moves its own bytes.
#include <algorithm>
#include <optional>
#include <string_view>

#include "base/attempt.h"
#include "engine/agree.h"
#include "engine/messages.h"
#include "engine/pieces.h"
#include "engine/exchange.h"

namespace mercutio {
namespace {

// One rank's contribution to the gather at the begin of an access. Only rank 0's value is used of the fields marked
// (0), which might differ between ranks although they must not.
struct Entry {
  i64 failed = 0;
  i64 position = 0;
  RankSummary summary;
  i64 orderly = 1;          // the view is monotone and has no byte twice
  i64 atomic = 0;
  i64 more = 0;             // another round of this access follows
  i64 alignment_bits = 0;       // or-ed of where pieces begin and end; its lowest bit divides them all
  AccessSignature signature;
  DensePatterns::Keys dense{};   // the dense patterns that this rank knows
  BlockingDetector::Reads reads = BlockingDetector::Reads::kUnknown;   // whether reads of this file have blocked
  i64 file_bytes = -1;      // reading: the file size after all earlier writes of this rank; -1: unknown
  i64 known_bytes = -1;     // the size that is known without asking, if rank 0 asks when it is needed; else -1
  i64 stripe_bytes = 0;     // (0)
  i64 stripe_count = 0;     // (0)
  i64 block_bytes = 0;      // (0)
  std::uint64_t layout = 0;     // the key of the layout by range that this rank holds; (0): of the one in effect, 0 if there is none
  i64 buffering = 0;        // (0) romio_cb_read or romio_cb_write
  i64 buffer_bytes = 0;     // (0)
  i64 aggregators = 0;      // (0)
};
static_assert(sizeof(Entry) <= NodeArena::kGatherBytes);   // a larger gather would need messages

bool reads(const Access& access) { return access.direction == Direction::kRead; }

// The layout that the storage reports, else the one of the hints.
Layout layout_of(const EngineFile& file) {
  Layout layout = file.storage->layout();
  if (layout.stripe_bytes > 0) return layout;
  layout.stripe_bytes = file.hints->striping_unit;
  layout.stripe_count = file.hints->striping_factor;
  return layout;
}

BlockingDetector::Reads reads_of(const EngineFile& file) {
  static constexpr std::string_view kInMemory[] = {"tmpfs", "ramfs", "memory"};
  const std::string& where = file.storage->traits().file_system;
  if (std::find(std::begin(kInMemory), std::end(kInMemory), where) != std::end(kInMemory)) return BlockingDetector::Reads::kCopy;
  return file.blocking ? file.blocking->reads() : BlockingDetector::Reads::kUnknown;
}

// Whether reads get the file size first and are clipped to it. A rank alone reads without an exchange unless a hint
// asks for it.
bool should_know_size(const EngineFile& file) {
  const bool may_exchange = file.comm->size() > 1 || file.hints->romio_cb_read == Toggle::kEnable || file.hints->mercutio_strategy != "auto";
  return may_exchange && file.storage->traits().coherence == Coherence::kImmediate;
}

i64 size_or_unknown(Storage& storage) {
  const Result<i64> size = storage.size();
  return size ? *size : -1;
}

Entry make_entry(const EngineFile& file, const Access& access, const CollectiveOptions& options, LayoutByRange& layout_by_range) {
  Entry entry;
  entry.failed = options.entry.ok() ? 0 : 1;
  entry.atomic = options.atomic;
  entry.more = options.more && *options.more;
  if (file.dense) entry.dense = file.dense->known();
  if (reads(access)) entry.reads = reads_of(file);
  if (!entry.failed && access.bytes > 0) {
    const View& view = *access.view;
    entry.summary = summary_of(view, access.position, access.bytes);
    entry.position = access.position;
    entry.signature = signature_of(access);
    entry.orderly = view.filetype->monotone() && !view.filetype->overlapping();
    entry.alignment_bits = view.displacement | view.filetype->alignment() | entry.summary.first | entry.summary.last;
  }
  if (reads(access) && should_know_size(file)) {
    if (file.storage->traits().metadata_is_remote)
      entry.known_bytes = file.storage->known_size();
    else
      entry.file_bytes = size_or_unknown(*file.storage);
  }
  if (file.layout) layout_by_range = file.layout->held();
  if (file.comm->rank() == 0) {
    const Layout layout = layout_of(file);
    if (file.layout) layout_by_range = file.layout->hold(layout);
    entry.stripe_bytes = layout.stripe_bytes;
    entry.stripe_count = layout.stripe_count;
    entry.block_bytes = file.storage->traits().block_bytes;
    entry.buffering = static_cast<i64>(reads(access) ? file.hints->romio_cb_read : file.hints->romio_cb_write);
    entry.buffer_bytes = file.hints->cb_buffer_size;
    entry.aggregators = file.hints->cb_nodes;
  }
  entry.layout = layout_by_range.key;
  return entry;
}

// Rank 0's layout by range, where there is one: sent when some rank holds another one.
Task<Status> learn_layout(const EngineFile& file, Channel channel, const std::vector<Entry>& entries, LayoutByRange& layout) {
  const std::uint64_t key = entries[0].layout;
  if (key == 0) layout = {};
  if (std::all_of(entries.begin(), entries.end(), [&](const Entry& entry) { return key == 0 || entry.layout == key; })) co_return ok_status();
  std::vector<std::byte> message = bytes_of_ranges(layout.ranges);
  MERCUTIO_CO_TRY(co_await broadcast(channel, 0, message));
  layout = LayoutByRange{key, ranges_of_bytes(message)};
  if (file.layout) file.layout->hold(layout);
  co_return ok_status();
}

std::shared_ptr<const Plan> plan_from(const EngineFile& file, const Channel& channel, Direction direction, const std::vector<Entry>& entries,
                                      const LayoutByRange& layout_by_range) {
  std::vector<RankSummary> ranks;
  ranks.reserve(entries.size());
  bool atomic = false, orderly = true;
  BlockingDetector::Reads seen = BlockingDetector::Reads::kUnknown;
  for (const Entry& entry : entries) {
    ranks.push_back(entry.summary);
    seen = std::max(seen, entry.reads);
    atomic |= entry.atomic != 0;
    orderly &= entry.orderly != 0;
  }
  Hints agreed = *file.hints;
  agreed.romio_cb_read = agreed.romio_cb_write = static_cast<Toggle>(entries[0].buffering);
  // Windows are found by counting the bytes below an offset, which needs a monotone view. Other views occur in reads
  // only.
  if (!orderly) agreed.romio_cb_read = agreed.romio_cb_write = Toggle::kDisable;
  agreed.cb_buffer_size = entries[0].buffer_bytes;
  agreed.cb_nodes = entries[0].aggregators;
  Layout layout;
  layout.stripe_bytes = entries[0].stripe_bytes;
  layout.stripe_count = entries[0].stripe_count;
  layout.block_bytes = entries[0].block_bytes;
  layout.cached = seen == BlockingDetector::Reads::kCopy;
  layout.components = layout_by_range.components();
  const i64 start = file.trace ? now_ns() : 0;
  const Topology* topology = &file.comm->topology();
  Topology apart;
  if (!channel.ticket && topology->segment_bytes > 0) {
    apart = *topology;
    apart.segment_bytes = 0;
    topology = &apart;
  }
  std::optional<PlanCache> none;
  PlanCache& plans = file.plans ? *file.plans : none.emplace();
  const PlanCache::Answer answer = plans.plan_for({direction, atomic, ranks, agreed, *topology, layout});
  file.counters->plans_reused += answer.remembered ? 1 : 0;
  if (file.trace && answer.remembered) {
    record(file, TraceKind::kPlan, start, 0, -1);
  } else if (file.trace) {
    const Pattern pattern = summarise(direction, atomic, ranks);
    record(file, TraceKind::kPlan, start, pattern.bytes, pattern.begin, explain(*answer.plan, pattern));
  }
  return answer.plan;
}

PeerAccess peer_from(const Entry& entry) {
  PeerAccess peer;
  peer.begin = entry.position;
  peer.end = entry.position + entry.summary.bytes;
  peer.first = entry.summary.first;
  peer.last = entry.summary.last;
  return peer;
}

// The hints for an access without exchange, where the plan decides about sieving.
Hints hints_for(const Plan& plan, Hints hints) {
  if (plan.strategy == Strategy::kList) hints.romio_ds_read = hints.romio_ds_write = Toggle::kDisable;
  if (plan.strategy == Strategy::kSieve) hints.romio_ds_read = hints.romio_ds_write = Toggle::kEnable;
  return hints;
}

std::vector<PeerAccess> peers_from(const std::vector<Entry>& entries) {
  std::vector<PeerAccess> peers;
  for (const Entry& entry : entries) peers.push_back(peer_from(entry));
  return peers;
}

// No data beyond the end of the file is requested or sent, so that part of the user's buffer is unchanged.
void clip_to_file(PeerAccess& peer, i64 file_bytes) {
  if (peer.end <= peer.begin || peer.last <= file_bytes) return;
  peer.end = std::clamp(peer.stream_position(file_bytes), peer.begin, peer.end);
  peer.last = file_bytes;
}

// Records whether the read blocked: the next plan depends on it.
Result<i64> move_alone(const EngineFile& file, const Access& access, bool atomic) {
  BlockingDetector* const blocking = reads(access) && access.bytes >= BlockingDetector::kTellingBytes ? file.blocking : nullptr;
  const BlockingDetector::Probe probe = blocking ? blocking->before(/*closely=*/true) : BlockingDetector::Probe{};
  Result<i64> moved = independent(file, access, IndependentOptions{atomic});
  if (blocking && moved) blocking->saw_read(*moved, probe);
  return moved;
}

Task<Result<i64>> run_individual(const EngineFile& file, Channel channel, const Access& access, CollectiveOptions options) {
  Result<i64> moved = i64{0};
  if (access.bytes > 0) moved = attempt([&] { return move_alone(file, access, options.atomic); });
  Status status = std::move(options.entry);   // not a conditional inside the co_await: g++ 12 evaluates both arms there
  if (!moved) status = moved.error();
  channel.counters->clock.enter(Phase::kAgree);
  MERCUTIO_CO_TRY(co_await agree(channel, std::move(status)));
  co_return moved;
}

// The key of a pattern among those of the file; 0: it has none. Patterns of equal keys cover the same bytes of
// [plan.begin, plan.end).
std::uint64_t dense_key(const EngineFile& file, const Plan& plan, const Access& access, const std::vector<Entry>& entries) {
  // Segments contain the bytes of some ranks only, and node streams need the valid map.
  const bool whole = plan.exchange == ExchangeKind::kSharedMemory && plan.domain_map != DomainMap::kSegments;
  if (!file.dense || reads(access) || !whole) return 0;
  std::uint64_t key = static_cast<std::uint64_t>(plan.end - plan.begin);
  for (const Entry& entry : entries) {
    key = mix_hash(key, entry.signature.hash);
    if (entry.signature.hash != 0) key = mix_hash(key, static_cast<std::uint64_t>(entry.signature.origin - plan.begin));
  }
  return key | 1;
}

bool all_know(const std::vector<Entry>& entries, std::uint64_t key) {
  return key != 0 && std::all_of(entries.begin(), entries.end(), [key](const Entry& entry) {
    return std::find(entry.dense.begin(), entry.dense.end(), key) != entry.dense.end();
  });
}

// An aggregator caches nothing of what it wrote for others: their own later writes of these bytes must come after it.
Status hand_on(const EngineFile& file, const Access& access, Status stored) {
  if (reads(access)) return stored;
  Status written = file.storage->flush();
  return stored ? std::move(written) : std::move(stored);
}

// Returns the bytes moved by this rank after all ranks have agreed on the status and on the end of the file.
Task<Result<i64>> finish(Channel channel, const Access& access, Status storage_status, i64 end_of_file, PeerAccess mine) {
  channel.counters->clock.enter(Phase::kAgree);
  MERCUTIO_CO_TRY(co_await agree_with_minimum(channel, std::move(storage_status), end_of_file));
  if (reads(access) && mine.last > end_of_file && mine.end > mine.begin) {
    mine.end = std::clamp(mine.stream_position(end_of_file), mine.begin, mine.end);
  }
  co_return mine.end - mine.begin;
}

// What all ranks know after the gather, with equal values.
struct Agreed {
  std::vector<Entry> entries;
  std::shared_ptr<const Plan> plan;
  i64 file_bytes = -1;   // no rank has written beyond it; -1: unknown
};

// Where the windows of an access lie: in the memory of the node, or where every rank is a node of its own, in this rank's.
struct WindowMemory {
  NodeArena* arena = nullptr;
  std::shared_ptr<NodeArena> own;   // of this access alone
};

Task<Status> find_memory(const Channel& channel, const Plan& plan, WindowMemory& memory) {
  if (channel.ticket) co_await until([&] { return channel.ticket->is_current(); });
  NodeArena* const shared = channel.ticket ? &channel.ticket->arena() : nullptr;
  if (plan.exchange != ExchangeKind::kMessages) {
    memory.arena = shared;
  } else {
    const bool known = shared && shared->private_part_agreed();   // the same on all ranks
    Status made = attempt([&]() -> Status {
      if (shared) {
        MERCUTIO_LET(memory.arena, shared->private_part(*channel.comm));
      } else {
        MERCUTIO_LET(memory.own, NodeArena::make_private(*channel.comm));
        memory.arena = memory.own.get();
      }
      return ok_status();
    });
    if (!known) MERCUTIO_CO_TRY(co_await agree(channel, std::move(made)));
    if (shared) shared->set_private_part_agreed();
  }
  co_return verify_room(plan, memory.arena->room_bytes());   // the same on all ranks
}

Task<Result<i64>> exchange_and_agree(const EngineFile& file, Channel channel, const Access& access, const Agreed& agreed) {
  const std::vector<Entry>& entries = agreed.entries;
  const std::vector<PeerAccess> ranges = peers_from(entries);
  PeerAccess mine = ranges[static_cast<size_t>(channel.comm->rank())];
  if (mine.end > mine.begin) {
    mine.filetype = access.view->filetype;
    mine.displacement = access.view->displacement;
  }
  if (reads(access) && agreed.file_bytes >= 0) clip_to_file(mine, agreed.file_bytes);
  i64 alignment_bits = 0;
  for (const Entry& entry : entries) alignment_bits |= entry.alignment_bits;
  const PieceBorders borders{alignment_bits & -alignment_bits, reads(access) ? agreed.file_bytes : 0};
  const std::uint64_t key = dense_key(file, *agreed.plan, access, entries);
  channel.counters->clock.enter(Phase::kWait);
  WindowMemory memory;
  MERCUTIO_CO_TRY(co_await find_memory(channel, *agreed.plan, memory));
  const i64 start = file.trace ? now_ns() : 0;
  Exchange exchange(file, channel, *memory.arena, {*agreed.plan, ranges, borders, all_know(entries, key)},
                    RankAccess{access.direction, mine, &access.memory, access.position});
  co_await until([&] {
    const ExchangePhaseScope scope(*channel.counters);
    return exchange.advance();
  });
  record(file, TraceKind::kExchange, start, mine.end - mine.begin, mine.first);
  const Outcome& outcome = exchange.outcome();
  if (!outcome.messages) co_return outcome.messages.error();
  if (reads(access)) co_return co_await finish(channel, access, outcome.storage, outcome.end_of_file, mine);
  channel.counters->clock.enter(Phase::kAgree);
  i64 dense = outcome.holes ? 0 : 1;
  MERCUTIO_CO_TRY(co_await agree_with_minimum(channel, hand_on(file, access, outcome.storage), dense));
  if (key != 0 && dense == 1) file.dense->learn(key);
  co_return mine.end - mine.begin;
}

// The file size to which reads are clipped. Ranks arrive at different times, and each must see its own writes, so it is
// the maximum of their sizes. Where each would have to ask a server, rank 0 asks after all have arrived, if a read goes
// beyond the known size.
Task<Status> learn_size(const EngineFile& file, Channel channel, Agreed& agreed) {
  i64 known = -1, last = 0;
  bool unknown = false;
  for (const Entry& entry : agreed.entries) {
    agreed.file_bytes = std::max(agreed.file_bytes, entry.file_bytes);
    unknown |= entry.file_bytes < 0;
    known = std::max(known, entry.known_bytes);
    last = std::max(last, entry.summary.last);
  }
  if (unknown) agreed.file_bytes = -1;
  if (known < 0 || last <= known) co_return ok_status();
  i64 size = channel.comm->rank() == 0 ? size_or_unknown(*file.storage) : -1;
  MERCUTIO_CO_TRY(co_await all_reduce(channel, std::span(&size, 1), Reduce::kMax));
  agreed.file_bytes = size;
  co_return ok_status();
}

Task<Result<i64>> enter_and_move(EngineFile file, Channel channel, Access access, CollectiveOptions options) {
  if (options.individual) co_return co_await run_individual(file, channel, access, std::move(options));
  LayoutByRange layout;
  const Entry mine = make_entry(file, access, options, layout);
  Agreed agreed;
  agreed.entries.resize(static_cast<size_t>(channel.comm->size()));
  channel.counters->clock.enter(Phase::kArrive);
  MERCUTIO_CO_TRY(co_await all_gather(channel, const_bytes_of(std::span(&mine, 1)), bytes_of(std::span(agreed.entries))));
  channel.counters->clock.enter(Phase::kOwn);
  bool failed = false, atomic = false, more = false;
  for (const Entry& entry : agreed.entries) {
    failed |= entry.failed != 0;
    atomic |= entry.atomic != 0;
    more |= entry.more != 0;
  }
  if (options.more) *options.more = more;
  if (failed) {   // no rank moves data
    Status why = co_await agree(channel, options.entry);
    if (!why.ok()) co_return std::move(why).error();
    co_return Error{ErrorClass::kIntern, "ranks disagree on whether one of them failed"};
  }
  MERCUTIO_CO_TRY(co_await learn_layout(file, channel, agreed.entries, layout));
  agreed.plan = plan_from(file, channel, access.direction, agreed.entries, layout);
  if (!agreed.plan->exchanges()) {
    const Hints hints = hints_for(*agreed.plan, *file.hints);
    file.hints = &hints;
    options.atomic = atomic;
    co_return co_await run_individual(file, channel, access, std::move(options));
  }
  if (reads(access)) MERCUTIO_CO_TRY(co_await learn_size(file, channel, agreed));
  if (!channel.ticket) file.run_lists = nullptr;   // another operation may use a stream at the same time
  co_return co_await exchange_and_agree(file, channel, access, agreed);
}

}  // namespace

Task<Result<i64>> collective(EngineFile file, Channel channel, Access access, CollectiveOptions options) {
  Counters here;   // where nobody else counts
  if (!file.counters) file.counters = &here;
  Counters& counters = *file.counters;
  channel.counters = &counters;
  const i64 start = file.trace ? now_ns() : 0;
  Result<i64> moved = co_await enter_and_move(file, channel, std::move(access), std::move(options));
  if (file.trace) {
    file.trace->record(TraceEvent{TraceKind::kCollective, start, now_ns(), moved ? *moved : 0, -1, {}, &counters});
  }
  co_return moved;
}

}  // namespace mercutio
