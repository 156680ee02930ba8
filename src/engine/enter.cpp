#include "engine/enter.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "engine/agreement/messages.h"
#include "engine/early.h"
#include "engine/node_entry.h"
#include "engine/agreement/peers.h"
#include "engine/io/pieces.h"
#include "engine/runs.h"
#include "plan/adapter.h"
#include "plan/agreed_hints.h"

namespace mercutio {
namespace {

BlockingDetector::Reads reads_of(const EngineFile& file, Direction direction) {
  if (file.storage->traits().is_in_memory()) return BlockingDetector::Reads::kCopy;
  if (direction == Direction::kWrite) return only_copies(file) ? BlockingDetector::Reads::kCopy : BlockingDetector::Reads::kBlock;
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

AccessSignature signature_of(const Access& access) {
  const FlatType& type = *access.view->filetype;
  const i64 copies = access.position / type.size();
  std::uint64_t hash = mix_hash(type.hash(), static_cast<std::uint64_t>(access.position - copies * type.size()));
  hash = mix_hash(hash, static_cast<std::uint64_t>(access.bytes));
  return {hash | 1, access.view->displacement + copies * type.extent()};
}

// Of a read: what this rank knows of the file size. If an access like this one had no exchange the last time, the size
// is not needed. If an exchange happens unexpectedly, all ranks ask for it then.
void tell_size(const EngineFile& file, bool exchanges, Circumstances& mine) {
  if (!should_know_size(file)) return;
  if (file.storage->traits().metadata_is_remote) {
    mine.file_bytes = file.storage->known_size();
    mine.size = Circumstances::kAtServer;
  } else if (exchanges) {
    mine.file_bytes = size_or_unknown(*file.storage);
    mine.size = mine.file_bytes < 0 ? Circumstances::kUnknown : Circumstances::kKnown;
  } else {
    mine.size = Circumstances::kNotAsked;
  }
}

// `last`: the last access of this direction; null: not known.
Entry make_entry(const EngineFile& file, const Access& access, const CollectiveOptions& options,
                 const PatternMemory::Last* last, LayoutByRange& layout_by_range) {
  Entry entry;
  Circumstances& mine = entry.circumstances;
  mine.failed = options.entry.ok() ? 0 : 1;
  mine.atomic = options.atomic;
  mine.disorderly = options.alone;
  mine.more = options.more && *options.more;
  if (access.reads() || file.adapter) mine.reads = static_cast<i64>(reads_of(file, access.direction));
  if (!mine.failed && access.bytes > 0) {
    const View& view = *access.view;
    entry.summary = summary_of(view, access.position, access.bytes);
    if (!access.reads()) entry.signature = signature_of(access);
    mine.disorderly |= !view.sorted();
    const i64 bits = view.displacement | view.filetype->alignment() | entry.summary.first | entry.summary.last;
    mine.alignment = bits & -bits;
  }
  mine.size = Circumstances::kUnknown;
  if (access.reads()) tell_size(file, !last || !last->plan, mine);
  if (file.layout) layout_by_range = file.layout->held();
  if (file.comm->rank() == 0) {
    const Layout layout = layout_with_hints(file.storage->layout(), *file.hints);
    if (file.layout && (layout_by_range.key != 0 || !layout.components.empty())) layout_by_range = file.layout->hold(layout);
    entry.choices = Choices{layout.stripe_bytes, layout.stripe_count, file.storage->traits().block_bytes, layout_by_range.key,
                            {static_cast<i64>(file.hints->buffering(access.direction)), file.hints->cb_buffer_size, file.hints->cb_nodes}};
  }
  mine.lowest_layout = mine.highest_layout = layout_by_range.key;
  if (last) entry.repetition = repetition_of(*last, entry);
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

NodeEntry node_entry(const NodeSum& sum, const Repetition& repetition) {
  const std::vector<OpenGroup>& groups = sum.part.groups();
  NodeEntry entry;
  entry.circumstances = sum.circumstances;
  entry.choices = sum.choices;
  entry.totals = sum.part.totals();
  entry.repeats = repetition.repeats();
  entry.moved_by = repetition.moved_by();
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
    const size_t before = all.size();
    all.resize(before + static_cast<size_t>(bytes) / sizeof(OpenGroup));
    MERCUTIO_CO_TRY(co_await gather_among(channel, peers, sizes, own, bytes_of(std::span(all).subspan(before))));
  }
  const bool possible = std::all_of(all.begin(), all.end(), [&](const OpenGroup& group) { return is_possible(group, channel.comm->size()); });
  co_return possible ? ok_status() : Status(Error{ErrorClass::kIntern, "a node announced a group of ranks that can't be"});
}

Task<Result<Gathered>> gather_entries(const Channel& channel, Peers peers, Direction direction, const NodeSum& mine,
                                      const Repetition& repetition) {
  const std::vector<i64> sizes(static_cast<size_t>(peers.count), static_cast<i64>(sizeof(NodeEntry)));
  const NodeEntry entry = node_entry(mine, repetition);
  std::vector<NodeEntry> entries(static_cast<size_t>(peers.count));
  MERCUTIO_CO_TRY(co_await gather_among(channel, peers, sizes, const_bytes_of(std::span(&entry, 1)), bytes_of(std::span(entries))));
  Gathered all;
  PatternTotals totals;
  std::optional<i64> moved_by;
  all.repeated = true;
  bool numbers_possible = true;
  i64 group_count = 0;
  for (const NodeEntry& entry : entries) {
    numbers_possible = numbers_possible && entry.groups >= 0 && entry.groups <= channel.comm->size();
    group_count += numbers_possible ? entry.groups : 0;
    all.circumstances.add(entry.circumstances);
    if (entry.choices != Choices{}) all.choices = entry.choices;
    totals.add(entry.totals);
    all.ranges.push_back(range_of(entry.totals));
    const bool with_others = entry.totals.participants == 0 || moved_by.value_or(entry.moved_by) == entry.moved_by;
    all.repeated = all.repeated && entry.repeats != 0 && with_others;
    if (entry.totals.participants > 0) moved_by = entry.moved_by;
  }
  if (!numbers_possible) co_return Error{ErrorClass::kIntern, "a node announced a wrong number of groups"};
  std::vector<OpenGroup> groups;
  if (group_count > kMostGroups) groups.push_back(group_of_all(channel.comm->size(), totals, entries));
  if (group_count <= kMostGroups) {
    MERCUTIO_CO_TRY(co_await gather_groups(channel, peers, entries, mine.part.groups(), groups));
  }
  all.pattern = join(direction, all.circumstances.atomic != 0, channel.comm->size(), totals, std::move(groups));
  co_return all;
}

// The format of the published result. The ranges and the groups follow.
struct GatheredHeader {
  Circumstances circumstances;
  Choices choices;
  PatternFacts pattern;
  i64 repeated = 0, ranges = 0, groups = 0;
};
static_assert(std::is_trivially_copyable_v<GatheredHeader>);

std::vector<std::byte> to_bytes(const Gathered& all) {
  const GatheredHeader header{all.circumstances, all.choices, all.pattern, all.repeated, std::ssize(all.ranges), std::ssize(all.pattern.groups)};
  const ConstBytes parts[] = {const_bytes_of(std::span(&header, 1)), const_bytes_of(std::span(all.ranges)), const_bytes_of(std::span(all.pattern.groups))};
  std::vector<std::byte> bytes;
  for (const ConstBytes part : parts) bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

Gathered from_bytes(ConstBytes bytes) {
  GatheredHeader header;
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof header);
  Gathered all{header.circumstances, header.choices, {header.pattern, std::vector<RankRow>(static_cast<size_t>(header.groups))},
               std::vector<FileRange>(static_cast<size_t>(header.ranges))};
  all.repeated = header.repeated != 0;
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

NodeSum sum_of_node(const NodeArena& arena) {
  NodeSum sum;
  for (size_t i = 0; i < arena.members().size(); ++i) sum.add(arena.members()[i], entry_at(arena, i));
  return sum;
}

// On the first rank of a node, if there are other nodes. `bytes`: what the other ranks of the node must know.
Task<Result<Gathered>> gather_for_node(const Channel& channel, Direction direction, std::vector<std::byte>& bytes) {
  const NodeArena& arena = channel.ticket->arena();
  const NodeSum sum = sum_of_node(arena);
  Repetition repetition;
  reduce_node(arena, repetition.words, Reduce::kMax);
  auto all = co_await gather_entries(channel, first_ranks(*channel.comm, arena), direction, sum, repetition);
  if (all) bytes = to_bytes(*all);
  co_return all;
}

// The second step, after the gather of the node (if the channel has a ticket).
Task<Result<Gathered>> gather(const Channel& channel, Direction direction, const Entry& mine) {
  if (!channel.ticket) {
    NodeSum sum;
    sum.add(channel.comm->rank(), mine);
    co_return co_await gather_entries(channel, all_ranks(*channel.comm), direction, sum, Repetition{});
  }
  NodeArena& arena = channel.ticket->arena();
  if (!arena.whole() && !arena.is_first()) {
    MERCUTIO_CO_TRY(arena.result_status());
    co_return from_bytes(arena.result());
  }
  if (arena.whole()) {
    NodeSum sum = sum_of_node(arena);
    Gathered all{sum.circumstances, sum.choices, {}, {range_of(sum.part.totals())}};
    all.pattern = join(direction, sum.circumstances.atomic != 0, channel.comm->size(), sum.part.totals(), std::move(sum.part).groups());
    if (direction == Direction::kWrite) all.dense_key = dense_key(arena, all.pattern);
    co_return all;
  }
  std::vector<std::byte> bytes;
  auto all = co_await gather_for_node(channel, direction, bytes);
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

std::shared_ptr<const Plan> plan_from(const EngineFile& file, const Gathered& all, const LayoutByRange& layout_by_range) {
  const std::unique_ptr<const Hints> changed = agreed_hints(*file.hints, all.choices.hints, all.pattern, file.storage->traits().remote_cluster, all.circumstances.disorderly != 0);
  const Hints& agreed = changed ? *changed : *file.hints;
  Layout layout;
  layout.stripe_bytes = all.choices.stripe_bytes;
  layout.stripe_count = all.choices.stripe_count;
  layout.block_bytes = all.choices.block_bytes;
  layout.components = layout_by_range.components();
  layout.cached = all.circumstances.reads == static_cast<i64>(BlockingDetector::Reads::kCopy);
  const i64 start = file.trace ? now_ns() : 0;
  const Topology& topology = file.comm->topology();
  std::optional<PlanCache> none;
  PlanCache& plans = file.plans ? *file.plans : none.emplace();
  const PlanQuestion question{all.pattern, agreed, topology, layout};
  const Hints& used = file.adapter ? file.adapter->hints_for(question, file.fixed_hints, file.hints_edition) : agreed;
  file.counters->adapted = file.adapter && file.adapter->leaves_default();
  const PlanCache::Answer answer = plans.plan_for({all.pattern, used, topology, layout});
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
  if (known.size == Circumstances::kNotAsked) {
    i64 size = size_or_unknown(*file.storage), numbers[2] = {size, size < 0};
    MERCUTIO_CO_TRY(co_await all_reduce(channel, numbers, Reduce::kMax));
    co_return numbers[1] != 0 ? i64{-1} : numbers[0];
  }
  if (known.size == Circumstances::kKnown) co_return known.file_bytes;
  if (known.size == Circumstances::kUnknown || all.pattern.end <= known.file_bytes) co_return i64{-1};
  i64 size = channel.comm->rank() == 0 ? size_or_unknown(*file.storage) : -1;
  MERCUTIO_CO_TRY(co_await all_reduce(channel, std::span(&size, 1), Reduce::kMax));
  co_return size;
}

// The third step: the ranks know `last`, which is this access, and plan it. `layout`: what this rank knows of it.
Task<Status> plan_access(const EngineFile& file, const Channel& channel, PatternMemory::Last& last,
                         LayoutByRange& layout, Agreed& agreed) {
  const Gathered& all = last.all;
  const Circumstances& circumstances = all.circumstances;
  const std::uint64_t key = all.choices.layout;
  if (key == 0) layout = {};
  if (key != 0 && !circumstances.all_hold(key)) MERCUTIO_CO_TRY(co_await learn_layout(file, channel, key, layout));
  agreed.plan = plan_from(file, all, layout);
  const bool measures = file.adapter && file.adapter->measures();
  last.plan = agreed.plan->exchanges() || measures ? nullptr : agreed.plan;
  last.hints_edition = file.hints_edition;
  agreed.borders.unit_bytes = circumstances.alignment;
  if (all.pattern.direction == Direction::kRead && agreed.plan->exchanges()) {
    const Result<i64> size = co_await learn_size(file, channel, all);
    if (!size) co_return size.error();
    agreed.file_bytes = agreed.borders.cut_at = *size;
  }
  // Under kSegments a window has the bytes of some ranks only, and node streams need the valid map.
  const bool whole = agreed.plan->exchange == ExchangeKind::kSharedMemory && agreed.plan->domain_map != DomainMap::kSegments;
  if (whole && file.patterns && all.dense_key != 0) {
    agreed.dense_key = all.dense_key;
    agreed.dense = std::ranges::count(file.patterns->dense(), all.dense_key) > 0;
  }
  agreed.ranges = all.ranges;
  if (measures) file.adapter->start(file.comm->topology().nodes() <= 1);
  co_return ok_status();
}

// Whether a repetition by all ranks needs no plan of its own. The same on all ranks.
bool may_reuse_plan(const EngineFile& file, Direction direction) {
  const std::optional<PatternMemory::Last>& last = file.patterns->last(direction);
  if (!last || !last->plan || file.hints_edition == 0 || last->hints_edition != file.hints_edition) return false;
  return !(file.adapter && file.adapter->searches(direction));
}

// Then: fills `agreed` with the plan of the last access.
void reuse_plan(const EngineFile& file, const PatternMemory::Last& last, const Repetition& all, Agreed& agreed) {
  const i64 start = file.trace ? now_ns() : 0;
  agreed.plan = last.plan;
  agreed.more = all.more();
  agreed.atomic = last.all.circumstances.atomic != 0;
  file.counters->plans_reused += 1;
  record(file, TraceKind::kPlan, start, 0, -1);
}

// An access that, as far as this rank knows, repeats the last one with its plan.
EarlyMove repeat_early(const EngineFile& file, const Access& access, const PatternMemory::Last& last, Repetition& mine) {
  if (mine.words[Repetition::kStanding] != Repetition::kRepeats || last.all.circumstances.atomic != 0) return {};
  const bool goes_early = last.expected && file.patterns->moves_early(access.direction);
  const EarlyMove early = move_early(file, goes_early, [&] { return move_own(file, access, last.plan.get(), /*atomic=*/false); });
  if (early.may) mine.words[Repetition::kStanding] = early.moved ? Repetition::kMovedEarly : Repetition::kMayBeEarly;
  mine.words[Repetition::kSize] = early.may ? early.ns : Repetition::kMayNotBeEarly;
  return early;
}

// `all` repeat the last access with its plan. The bytes moved by this rank, if all have moved early.
std::optional<i64> moved_early(const EngineFile& file, Direction direction, const EarlyMove& early, const Repetition& all) {
  const i64 standing = all.words[Repetition::kStanding];
  file.patterns->saw_own(direction, /*own=*/true, standing <= Repetition::kMayBeEarly);
  if (standing != Repetition::kMovedEarly) return std::nullopt;
  end_wait(file.counters->clock, early, all.words[Repetition::kSize]);
  return early.moved;
}

}  // namespace

Task<Status> enter(const EngineFile& file, const Channel& channel, const Access& access,
                   const CollectiveOptions& options, Agreed& agreed) {
  std::optional<PatternMemory::Last> none;
  const bool remembers = channel.ticket && file.patterns;
  if (remembers) co_await until([&] { return channel.ticket->is_current(); });   // then `last` is the access before
  std::optional<PatternMemory::Last>& last = remembers ? file.patterns->last(access.direction) : none;
  LayoutByRange layout;
  Entry mine = make_entry(file, access, options, last ? &*last : nullptr, layout);
  const bool counts_runs = may_move_runs(file, channel);
  if (counts_runs && last && !run_of(file, access, options)) {
    i64& form = mine.repetition.words[Repetition::kForm];
    form = std::max<i64>(form, Repetition::kNoRun);
  }
  const bool reuses = remembers && may_reuse_plan(file, access.direction);
  EarlyMove early;
  if (reuses && !options.alone) early = repeat_early(file, access, *last, mine.repetition);
  Repetition repetition = mine.repetition;   // in the end, the maxima of all ranks
  const bool whole = channel.ticket && channel.ticket->arena().whole(), known = last.has_value();
  if (known && last->expected && whole) {   // as all_reduce does, which takes a frame
    MERCUTIO_CO_TRY(co_await gather_on_node(channel, std::as_bytes(std::span(repetition.words))));
    reduce_node(channel.ticket->arena(), repetition.words, Reduce::kMax);
  } else if (known && last->expected) {
    MERCUTIO_CO_TRY(co_await all_reduce(channel, repetition.words, Reduce::kMax));
  }
  const bool reduced = known && (last->expected || whole);   // then `repetition` is that of all ranks
  bool repeated = known && last->expected && repetition.repeats();
  if (channel.ticket && !repeated) {
    MERCUTIO_CO_TRY(co_await gather_on_node(channel, const_bytes_of(std::span(&mine, 1))));
    if (known && whole) reduce_node(channel.ticket->arena(), repetition.words, Reduce::kMax);
    repeated = known && whole && repetition.repeats();
  }
  if (repeated) {
    last->expected = true;
    if (reuses) {
      reuse_plan(file, *last, repetition, agreed);
      agreed.moved = moved_early(file, access.direction, early, repetition);
      const bool runs = repetition.words[Repetition::kForm] == Repetition::kRun && are_runs(last->all);
      if (counts_runs) file.patterns->saw_runs(access.direction, runs);
      co_return ok_status();
    }
    move_to(*last, mine, repetition);
  } else {
    last.reset();
    auto gathered = co_await gather(channel, access.direction, mine);
    if (!gathered) co_return std::move(gathered).error();
    const bool expected = !known || gathered->repeated;
    last.emplace(mine, *std::move(gathered), expected);
  }
  const bool may = !reuses || !reduced || repetition.words[Repetition::kSize] != Repetition::kMayNotBeEarly;
  if (remembers) file.patterns->saw_own(access.direction, /*own=*/false, may);
  agreed.mine = mine.summary;
  agreed.failed = last->all.circumstances.failed != 0;
  agreed.more = last->all.circumstances.more != 0;
  agreed.atomic = last->all.circumstances.atomic != 0;
  if (!agreed.failed) MERCUTIO_CO_TRY(co_await plan_access(file, channel, *last, layout, agreed));
  if (!agreed.failed && counts_runs) file.patterns->saw_runs(access.direction, are_runs(last->all));
  const bool nameless = whole && !access.reads() && last->all.dense_key == 0;   // the key of a write must be found again
  if (agreed.failed || nameless) last.reset();
  co_return ok_status();
}

}  // namespace mercutio
