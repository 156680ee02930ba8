#include "engine/enter.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "engine/messages.h"
#include "engine/node_entry.h"
#include "engine/peers.h"
#include "engine/pieces.h"
#include "engine/repeated_plan.h"
#include "engine/runs.h"
#include "plan/adapter.h"

namespace mercutio {
namespace {

bool reads(const Access& access) { return access.direction == Direction::kRead; }

constexpr i64 kGatheredHeaderBytes = 256;   // of the result that the first rank of a node publishes
static_assert(sizeof(Entry) <= NodeArena::kGatherBytes && std::is_trivially_copyable_v<Entry>);

// The layout that the storage reports, or that of the hints if it reports none.
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

// Whether reads learn the file size first and are clipped to it. A single rank reads without an exchange unless a hint asks for it.
// The size on another cluster is the server's, which has every rank's writes then, whatever others see of them.
bool should_know_size(const EngineFile& file) {
  const bool may_exchange = file.comm->size() > 1 || file.hints->romio_cb_read == Toggle::kEnable || file.hints->mercutio_strategy != WantedStrategy::kAuto;
  const Traits& traits = file.storage->traits();
  return may_exchange && (traits.coherence == Coherence::kImmediate || traits.coherence == Coherence::kAfterPublish || traits.remote_cluster);
}

i64 size_or_unknown(Storage& storage) {
  const Result<i64> size = storage.size();
  return size ? *size : -1;
}

Entry make_entry(const EngineFile& file, const Access& access, const CollectiveOptions& options, LayoutByRange& layout_by_range) {
  Entry entry;
  Circumstances& mine = entry.circumstances;
  mine.failed = options.entry.ok() ? 0 : 1;
  mine.atomic = options.atomic;
  mine.disorderly = options.alone;
  mine.more = options.more && *options.more;
  // An access without exchange needs neither dense patterns nor the file size. If an exchange happens unexpectedly, this access
  // sets valid maps, and all ranks then ask for the size.
  const bool exchanges = !file.patterns || !file.patterns->moves_alone(access.direction);
  if (file.dense && exchanges && !reads(access)) entry.dense = file.dense->known();
  if (reads(access)) mine.reads = static_cast<i64>(reads_of(file));
  if (!mine.failed && access.bytes > 0) {
    const View& view = *access.view;
    entry.summary = summary_of(view, access.position, access.bytes);
    entry.signature = signature_of(access);
    mine.disorderly |= !view.filetype->monotone() || view.filetype->overlapping();
    const i64 bits = view.displacement | view.filetype->alignment() | entry.summary.first | entry.summary.last;
    mine.alignment = bits & -bits;
  }
  mine.unknown_size = Circumstances::kUnknown;
  if (reads(access) && should_know_size(file)) {
    if (file.storage->traits().metadata_is_remote) {
      mine.known_bytes = file.storage->known_size();
    } else if (exchanges) {
      mine.file_bytes = size_or_unknown(*file.storage);
      mine.unknown_size = mine.file_bytes < 0 ? Circumstances::kUnknown : 0;
    } else {
      mine.unknown_size = Circumstances::kNotAsked;
    }
  }
  if (file.layout) layout_by_range = file.layout->held();
  if (file.comm->rank() == 0) {
    const Layout layout = layout_of(file);
    if (file.layout && (layout_by_range.key != 0 || !layout.components.empty())) layout_by_range = file.layout->hold(layout);
    const Toggle buffering = reads(access) ? file.hints->romio_cb_read : file.hints->romio_cb_write;
    entry.choices = Choices{layout.stripe_bytes, layout.stripe_count, file.storage->traits().block_bytes, layout_by_range.key,
                            static_cast<i64>(buffering), file.hints->cb_buffer_size, file.hints->cb_nodes};
  }
  mine.lowest_layout = mine.highest_layout = layout_by_range.key;
  return entry;
}

// The combined entries of the ranks of a node, or of a rank that is a node of its own.
struct NodeSum {
  Circumstances circumstances;
  Choices choices;
  PatternPart part;
  void add(i64 rank, const Entry& entry) {
    circumstances.add(entry.circumstances);
    if (rank == 0) choices = entry.choices;
    part.add(rank, entry.summary);
  }
};

// Whether a node repeats an earlier access at another offset.
bool repeats(const PatternMemory::Last& last, const NodeSum& now, i64& moved_by) {
  if (!now.circumstances.all_hold(last.all.choices.layout)) return false;
  if (!last.mine.circumstances.plans_like(now.circumstances) || last.mine.choices != now.choices) return false;
  const std::vector<OpenGroup>& groups = now.part.groups();
  PatternTotals totals = last.mine.totals;
  if (totals.participants > 0) {
    moved_by = now.part.totals().begin - totals.begin;
    totals.begin += moved_by;
    totals.end += moved_by;
  }
  const auto moved_so = [moved_by](OpenGroup before, const OpenGroup& after) {
    before.group.begin += moved_by;
    before.group.end += moved_by;
    before.run_end += moved_by;
    return before == after;
  };
  return totals == now.part.totals() && std::equal(last.groups.begin(), last.groups.end(), groups.begin(), groups.end(), moved_so);
}

NodeEntry node_entry(const NodeSum& sum, const PatternMemory::Last* last) {
  const std::vector<OpenGroup>& groups = sum.part.groups();
  NodeEntry entry;
  entry.circumstances = sum.circumstances;
  entry.choices = sum.choices;
  entry.totals = sum.part.totals();
  entry.repeats = last && repeats(*last, sum, entry.moved_by);
  entry.disjoint = are_disjoint(groups);
  entry.groups = std::ssize(groups);
  if (groups.size() <= kGroupsInEntry) std::copy(groups.begin(), groups.end(), entry.first_groups);
  return entry;
}

FileRange range_of(const PatternTotals& totals) { return totals.participants > 0 ? FileRange{totals.begin, totals.end} : FileRange{}; }

bool is_possible(const OpenGroup& open, i64 ranks) {
  const RankRow& group = open.group;
  return group.first_rank >= 0 && group.first_rank < group.end_rank && group.end_rank <= ranks && group.begin < group.end && group.bytes > 0;
}

// If there are more groups than this, they are replaced by one group of all ranks.
constexpr i64 kMostGroups = 1024;
OpenGroup group_of_all(i64 ranks, const PatternTotals& totals, std::span<const NodeEntry> entries) {
  std::vector<OpenGroup> nodes;
  for (const NodeEntry& entry : entries) {
    if (entry.totals.participants > 0) nodes.push_back({RankRow{0, 0, 0, entry.totals.begin, entry.totals.end}, 0, entry.disjoint});
  }
  return {RankRow{0, ranks, totals.bytes, totals.begin, totals.end}, totals.end, are_disjoint(std::move(nodes))};
}

// Gathers the groups of all nodes, including those that do not fit into the nodes' entries.
Task<Status> gather_groups(const Channel& channel, Peers peers, std::span<const NodeEntry> entries, const std::vector<OpenGroup>& mine, std::vector<OpenGroup>& all) {
  std::vector<i64> sizes;
  i64 bytes = 0;
  for (const NodeEntry& entry : entries) {
    const bool fits = entry.groups <= static_cast<i64>(kGroupsInEntry);
    if (fits) all.insert(all.end(), entry.first_groups, entry.first_groups + entry.groups);
    sizes.push_back(fits ? 0 : entry.groups * static_cast<i64>(sizeof(OpenGroup)));
    bytes += sizes.back();
  }
  if (bytes > 0) {
    ConstBytes own = const_bytes_of(std::span(mine));
    if (sizes[static_cast<size_t>(peers.me)] == 0) own = {};
    auto gathered = co_await gather_among(channel, peers, sizes, own);
    if (!gathered) co_return std::move(gathered).error();
    const size_t before = all.size();
    all.resize(before + gathered->size() / sizeof(OpenGroup));
    std::memcpy(static_cast<void*>(all.data() + before), gathered->data(), gathered->size());
  }
  const bool possible = std::all_of(all.begin(), all.end(), [&](const OpenGroup& group) { return is_possible(group, channel.comm->size()); });
  co_return possible ? ok_status() : Status(Error{ErrorClass::kIntern, "a node announced a group of ranks that can't be"});
}

// The combined entries of a node, and the entry it sends.
struct NodePart {
  const NodeSum& sum;
  NodeEntry entry;
};

Task<Result<Gathered>> gather_entries(const Channel& channel, Peers peers, Direction direction, NodePart mine, bool& repeated) {
  const std::vector<i64> sizes(static_cast<size_t>(peers.count), static_cast<i64>(sizeof(NodeEntry)));
  auto gathered = co_await gather_among(channel, peers, sizes, const_bytes_of(std::span(&mine.entry, 1)));
  if (!gathered) co_return std::move(gathered).error();
  std::vector<NodeEntry> entries(static_cast<size_t>(peers.count));
  std::memcpy(static_cast<void*>(entries.data()), gathered->data(), gathered->size());
  Gathered all;
  PatternTotals totals;
  std::optional<i64> moved_by;
  repeated = true;
  bool numbers_possible = true;
  i64 group_count = 0;
  for (const NodeEntry& entry : entries) {
    numbers_possible = numbers_possible && entry.groups >= 0 && entry.groups <= channel.comm->size();
    group_count += numbers_possible ? entry.groups : 0;
    all.circumstances.add(entry.circumstances);
    if (entry.choices != Choices{}) all.choices = entry.choices;
    totals.add(entry.totals);
    all.ranges.push_back(range_of(entry.totals));
    repeated = repeated && entry.repeats != 0 && (entry.totals.participants == 0 || moved_by.value_or(entry.moved_by) == entry.moved_by);
    if (entry.totals.participants > 0) moved_by = entry.moved_by;
  }
  if (!numbers_possible) co_return Error{ErrorClass::kIntern, "a node announced a wrong number of groups"};
  std::vector<OpenGroup> groups;
  if (group_count > kMostGroups) groups.push_back(group_of_all(channel.comm->size(), totals, entries));
  if (group_count <= kMostGroups) MERCUTIO_CO_TRY(co_await gather_groups(channel, peers, entries, mine.sum.part.groups(), groups));
  all.pattern = join(direction, all.circumstances.atomic != 0, channel.comm->size(), totals, std::move(groups));
  co_return all;
}

// Whether all nodes repeat their last access, shifted by the same distance. If so, updates `last` to this access.
Task<Result<bool>> all_repeat(const Channel& channel, Peers peers, const NodeEntry& own, PatternMemory::Last& last) {
  enum { kFailed, kChanged, kFarthest, kNearest, kMore, kUnknownSize, kFileBytes, kKnownBytes, kAlignment, kNumbers };
  const Circumstances& mine = own.circumstances;
  const bool takes_part = own.totals.participants > 0;
  i64 numbers[kNumbers] = {mine.failed, own.repeats == 0, takes_part ? own.moved_by : INT64_MIN, takes_part ? -own.moved_by : INT64_MIN,
                       mine.more,   mine.unknown_size, mine.file_bytes, mine.known_bytes, -mine.alignment};
  MERCUTIO_CO_TRY(co_await reduce_among(channel, peers, numbers, Reduce::kMax));
  const bool any = numbers[kFarthest] != INT64_MIN;
  if (numbers[kFailed] != 0 || numbers[kChanged] != 0 || (any && numbers[kFarthest] != -numbers[kNearest])) co_return false;
  const i64 moved_by = any ? numbers[kFarthest] : 0;
  Gathered& all = last.all;
  all.pattern = moved(std::move(all.pattern), moved_by);
  for (FileRange& range : all.ranges) {
    if (!range.empty()) range = FileRange{range.begin + moved_by, range.end + moved_by};
  }
  all.circumstances.more = numbers[kMore];
  all.circumstances.unknown_size = numbers[kUnknownSize];
  all.circumstances.file_bytes = numbers[kFileBytes];
  all.circumstances.known_bytes = numbers[kKnownBytes];
  all.circumstances.alignment = -numbers[kAlignment];
  all.circumstances.lowest_layout = all.circumstances.highest_layout = all.choices.layout;
  co_return true;
}

// Gathers between nodes, by messages. `last`: null if several accesses of the file may be in flight.
Task<Result<Gathered>> gather_nodes(const Channel& channel, Peers peers, Direction direction, const NodeSum& mine, std::optional<PatternMemory::Last>* last) {
  const NodeEntry own = node_entry(mine, last && last->has_value() ? &**last : nullptr);
  const bool known = last && last->has_value();
  if (known && (*last)->expected) {
    const Result<bool> repeat = co_await all_repeat(channel, peers, own, **last);
    if (!repeat) co_return repeat.error();
    if (*repeat) {
      (*last)->mine = own;
      (*last)->groups = mine.part.groups();
      co_return (*last)->all;
    }
  }
  bool repeated = false;
  auto all = co_await gather_entries(channel, peers, direction, {mine, own}, repeated);
  if (all && last && all->circumstances.failed == 0) *last = PatternMemory::Last{own, mine.part.groups(), *all, !known || repeated};
  co_return all;
}

// The format of the published result. The ranges and the groups follow.
struct GatheredHeader {
  Circumstances circumstances;
  Choices choices;
  i64 atomic = 0, participants = 0, contiguous = 0, bytes = 0, begin = 0, end = 0, disjoint = 0, run_bytes = 0;
  i64 ranges = 0, groups = 0;
};
static_assert(sizeof(GatheredHeader) <= kGatheredHeaderBytes && std::is_trivially_copyable_v<GatheredHeader>);

std::vector<std::byte> to_bytes(const Gathered& all) {
  const Pattern& pattern = all.pattern;
  const GatheredHeader header{all.circumstances, all.choices,  pattern.atomic, pattern.participants, pattern.contiguous,
                              pattern.bytes,     pattern.begin, pattern.end,    pattern.disjoint,     pattern.run_bytes,
                              std::ssize(all.ranges), std::ssize(pattern.groups)};
  const ConstBytes parts[] = {const_bytes_of(std::span(&header, 1)), const_bytes_of(std::span(all.ranges)), const_bytes_of(std::span(pattern.groups))};
  std::vector<std::byte> bytes;
  for (const ConstBytes part : parts) bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

Gathered from_bytes(Direction direction, i64 ranks, ConstBytes bytes) {
  GatheredHeader header;
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof header);
  Gathered all{header.circumstances, header.choices, {}, std::vector<FileRange>(static_cast<size_t>(header.ranges))};
  all.pattern = Pattern{direction, header.atomic != 0, ranks, header.participants, header.contiguous, header.bytes, header.begin, header.end,
                        header.disjoint != 0, header.run_bytes, std::vector<RankRow>(static_cast<size_t>(header.groups))};
  const Bytes parts[] = {bytes_of(std::span(all.ranges)), bytes_of(std::span(all.pattern.groups))};
  size_t at = sizeof header;
  for (const Bytes part : parts) {
    if (!part.empty()) std::memcpy(part.data(), bytes.data() + at, part.size());
    at += part.size();
  }
  return all;
}

// Patterns with equal keys cover the same bytes of their range.
std::uint64_t dense_key(const NodeArena& arena, const Pattern& pattern) {
  std::uint64_t key = static_cast<std::uint64_t>(pattern.end - pattern.begin);
  for (size_t i = 0; i < arena.members().size(); ++i) {
    const AccessSignature& signature = entry_at(arena, i).signature;
    key = mix_hash(key, signature.hash);
    if (signature.hash != 0) key = mix_hash(key, static_cast<std::uint64_t>(signature.origin - pattern.begin));
  }
  return key | 1;
}

bool all_know(const NodeArena& arena, std::uint64_t key) {
  for (size_t i = 0; i < arena.members().size(); ++i) {
    const DensePatterns::Keys& keys = entry_at(arena, i).dense;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) return false;
  }
  return true;
}

NodeSum sum_of_node(const NodeArena& arena) {
  NodeSum sum;
  for (size_t i = 0; i < arena.members().size(); ++i) sum.add(arena.members()[i], entry_at(arena, i));
  return sum;
}

// On the first rank of a node, if there are other nodes. `bytes`: what the other ranks of the node must know.
Task<Result<Gathered>> gather_for_node(const EngineFile& file, const Channel& channel, Direction direction, std::vector<std::byte>& bytes) {
  const NodeArena& arena = channel.ticket->arena();
  const NodeSum sum = sum_of_node(arena);
  std::optional<PatternMemory::Last>* last = file.patterns ? &file.patterns->last(direction) : nullptr;
  auto all = co_await gather_nodes(channel, first_ranks(*channel.comm, arena), direction, sum, last);
  if (all) bytes = to_bytes(*all);
  co_return all;
}

// The second step, after the gather of the node (if the channel has a ticket).
Task<Result<Gathered>> gather(const EngineFile& file, const Channel& channel, Direction direction, const Entry& mine, Agreed& agreed) {
  if (!channel.ticket) {
    NodeSum sum;
    sum.add(channel.comm->rank(), mine);
    co_return co_await gather_nodes(channel, all_ranks(*channel.comm), direction, sum, nullptr);
  }
  NodeArena& arena = channel.ticket->arena();
  if (!arena.whole() && !arena.is_first()) {
    MERCUTIO_CO_TRY(arena.result_status());
    co_return from_bytes(direction, channel.comm->size(), arena.result());
  }
  if (arena.whole()) {
    NodeSum sum = sum_of_node(arena);
    Gathered all{sum.circumstances, sum.choices, {}, {range_of(sum.part.totals())}};
    all.pattern = join(direction, sum.circumstances.atomic != 0, channel.comm->size(), sum.part.totals(), std::move(sum.part).groups());
    if (file.dense && direction == Direction::kWrite) {
      agreed.dense_key = dense_key(arena, all.pattern);
      agreed.dense = all_know(arena, agreed.dense_key);
    }
    co_return all;
  }
  std::vector<std::byte> bytes;
  auto all = co_await gather_for_node(file, channel, direction, bytes);
  arena.publish(all ? ok_status() : Status(all.error()), bytes);
  co_return all;
}

// Rank 0 has a layout by range, and some rank has another one: rank 0 broadcasts its own.
Task<Status> learn_layout(const EngineFile& file, const Channel& channel, std::uint64_t key, LayoutByRange& layout) {
  std::vector<std::byte> message = bytes_of_ranges(layout.ranges);
  MERCUTIO_CO_TRY(co_await broadcast(channel, 0, message));
  layout = LayoutByRange{key, ranges_of_bytes(message)};
  if (file.layout) file.layout->hold(layout);
  co_return ok_status();
}

// Whether aggregators save other ranks a connection to another cluster: short shares that lie together are one request of an aggregator in place of
// one of each rank.
bool saves_connections(const EngineFile& file, const Pattern& pattern) {
  constexpr i64 kShortBytes = 1 * MiB;
  const bool together = pattern.disjoint && pattern.contiguous == pattern.participants && pattern.gap_bytes() == 0;
  return file.storage->traits().remote_cluster && pattern.ranks > 1 && together && pattern.bytes < pattern.participants * kShortBytes;
}

// The hints from which the plan is made. Null: those of this rank.
std::unique_ptr<const Hints> agreed_hints(const EngineFile& file, const Gathered& all) {
  constexpr i64 kRemoteDepth = 8;   // an answer takes a round trip, in which windows of other data keep the link busy
  const Hints& mine = *file.hints;
  const i64 depth = mine.mercutio_depth == 0 && file.storage->traits().remote_cluster ? kRemoteDepth : mine.mercutio_depth;
  Toggle buffering = static_cast<Toggle>(all.choices.buffering);
  if (buffering == Toggle::kAutomatic && saves_connections(file, all.pattern)) buffering = Toggle::kEnable;
  // Windows are found by counting the bytes below an offset, which needs a monotone view. Only reads may have other views.
  if (all.circumstances.disorderly != 0) buffering = Toggle::kDisable;
  const bool same = mine.romio_cb_read == buffering && mine.romio_cb_write == buffering && mine.cb_buffer_size == all.choices.buffer_bytes &&
                    mine.cb_nodes == all.choices.aggregators && mine.mercutio_depth == depth;
  if (same) return nullptr;
  auto agreed = std::make_unique<Hints>(mine);
  agreed->romio_cb_read = agreed->romio_cb_write = buffering;
  agreed->cb_buffer_size = all.choices.buffer_bytes;
  agreed->cb_nodes = all.choices.aggregators;
  agreed->mercutio_depth = depth;
  return agreed;
}

std::shared_ptr<const Plan> plan_from(const EngineFile& file, const Channel& channel, const Gathered& all, const LayoutByRange& layout_by_range) {
  const std::unique_ptr<const Hints> changed = agreed_hints(file, all);
  const Hints& agreed = changed ? *changed : *file.hints;
  Layout layout;
  layout.stripe_bytes = all.choices.stripe_bytes;
  layout.stripe_count = all.choices.stripe_count;
  layout.block_bytes = all.choices.block_bytes;
  layout.components = layout_by_range.components();
  layout.cached = all.circumstances.reads == static_cast<i64>(BlockingDetector::Reads::kCopy);
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
  const PlanQuestion question{all.pattern, agreed, *topology, layout};
  const Hints& used = file.adapter ? file.adapter->hints_for(question, file.fixed_hints, file.hints_edition) : agreed;
  const PlanCache::Answer answer = plans.plan_for({all.pattern, used, *topology, layout});
  file.counters->plans_reused += answer.remembered ? 1 : 0;
  if (file.trace && (answer.remembered || !file.trace->keeps_texts())) {
    record(file, TraceKind::kPlan, start, 0, -1, answer.remembered ? "" : "made");
  } else if (file.trace) {
    const std::string adapted = file.adapter ? file.adapter->text() : "";
    record(file, TraceKind::kPlan, start, all.pattern.bytes, all.pattern.begin, explain(*answer.plan, all.pattern) + (adapted.empty() ? "" : adapted + "\n"));
  }
  return answer.plan;
}

// The file size to which reads are clipped. Ranks arrive at different times, and each must see its own writes, so it is the maximum
// of their sizes. If the size is kept by a server, only rank 0 asks, after all ranks have arrived, and only if a read exceeds the
// known size.
Task<Result<i64>> learn_size(const EngineFile& file, const Channel& channel, const Gathered& all) {
  const Circumstances& known = all.circumstances;
  if ((known.unknown_size & Circumstances::kNotAsked) != 0) {
    i64 size = size_or_unknown(*file.storage), numbers[2] = {size, size < 0};
    MERCUTIO_CO_TRY(co_await all_reduce(channel, numbers, Reduce::kMax));
    co_return numbers[1] != 0 ? i64{-1} : numbers[0];
  }
  if (known.known_bytes < 0 || all.pattern.end <= known.known_bytes) co_return known.unknown_size != 0 ? i64{-1} : known.file_bytes;
  i64 size = channel.comm->rank() == 0 ? size_or_unknown(*file.storage) : -1;
  MERCUTIO_CO_TRY(co_await all_reduce(channel, std::span(&size, 1), Reduce::kMax));
  co_return size;
}

}  // namespace

Task<Status> enter(const EngineFile& file, const Channel& channel, const Access& access, const CollectiveOptions& options, Agreed& agreed) {
  LayoutByRange layout;
  Entry mine = make_entry(file, access, options, layout);
  const bool remembers = stores_plans(file, channel, access.direction);
  if (remembers) {
    co_await until([&] { return channel.ticket->is_current(); });   // the plan that is stored then is that of the access before
    mine.repetition = repetition_of(file, access.direction, mine);
    if (expects_repetition(file, access.direction)) {
      MERCUTIO_CO_TRY(co_await gather_on_node(channel, const_bytes_of(std::span(&mine.repetition, 1))));
      if (repeat_plan(file, channel.ticket->arena(), access.direction, Gathering::kRepetitions, agreed)) co_return ok_status();
    }
  }
  if (channel.ticket) MERCUTIO_CO_TRY(co_await gather_on_node(channel, const_bytes_of(std::span(&mine, 1))));
  if (remembers && repeat_plan(file, channel.ticket->arena(), access.direction, Gathering::kEntries, agreed)) co_return ok_status();
  auto all = co_await gather(file, channel, access.direction, mine, agreed);
  if (!all) co_return std::move(all).error();
  const Circumstances& circumstances = all->circumstances;
  agreed.failed = circumstances.failed != 0;
  agreed.more = circumstances.more != 0;
  agreed.atomic = circumstances.atomic != 0;
  if (agreed.failed) co_return ok_status();
  const std::uint64_t key = all->choices.layout;
  if (key == 0) layout = {};
  if (key != 0 && !circumstances.all_hold(key)) MERCUTIO_CO_TRY(co_await learn_layout(file, channel, key, layout));
  agreed.plan = plan_from(file, channel, *all, layout);
  if (!options.declined && may_move_runs(file, channel)) file.patterns->saw_runs(access.direction, are_runs(*all));
  if (remembers && key == 0 && !(file.adapter && file.adapter->measures())) remember_plan(file, mine, *all, agreed.plan);
  agreed.borders.unit_bytes = circumstances.alignment;
  if (reads(access) && agreed.plan->exchanges()) {
    const Result<i64> size = co_await learn_size(file, channel, *all);
    if (!size) co_return size.error();
    agreed.file_bytes = agreed.borders.cut_at = *size;
  }
  // Under kSegments a window has the bytes of some ranks only, and node streams need the valid map.
  const bool whole = agreed.plan->exchange == ExchangeKind::kSharedMemory && agreed.plan->domain_map != DomainMap::kSegments;
  if (!whole) agreed.dense = false;
  if (!whole) agreed.dense_key = 0;
  agreed.ranges = std::move(all->ranges);
  agreed.mine = mine.summary;
  if (file.adapter && file.adapter->measures()) agreed.measured_from_ns = now_ns();
  co_return ok_status();
}

}  // namespace mercutio
