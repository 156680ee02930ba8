// What the recorder makes of an event: totals, time bins, and the event itself as long as there is room.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "insight/recorder.h"
#include "insight/recorder_time.h"

namespace mercutio {

constexpr i64 kLongestOpeningNs = 1'000'000;  // to record an open; it took longer if the thread had no core
constexpr i64 kOpeningsKept = 1024;  // opens, closes and syncs whose events are kept in any case

// A call for the file as a whole.
static bool is_of_the_file(TraceKind kind) {
  switch (kind) {
    case TraceKind::kOpen:
    case TraceKind::kClose:
    case TraceKind::kSync:
    case TraceKind::kSize:
    case TraceKind::kResize:
    case TraceKind::kView:
    case TraceKind::kSetting:
      return true;
    default:
      return false;
  }
}

// One that may stand for several.
static bool is_of_short_calls(const TraceEvent& event) {
  return event.kind == TraceKind::kSize || (event.kind == TraceKind::kSetting && event.pieces > 1);
}

void Recorder::record(i64 file, const TraceEvent& event) {
  std::lock_guard lock(mutex_);
  std::optional<OwnTime> own;
  if (event.kind == TraceKind::kAccess) own.emplace(*this);
  if (!count(records<FileRecord>(kFilesSection)[file].totals, file, event)) return;
  cover(event, /*times=*/1);
  add_to_bins(event);
  keep(file, event);
}

// However many accesses and threads, no more than the time that passed.
void Recorder::add_busy(std::size_t way, i64 ns) {
  i64& sum = header_->busy_ns[way];
  sum = std::max(sum, std::min(sum + ns, header_->last_ns));
}

void Recorder::add_held(i64 ns) {
  i64& sum = header_->held_ns;
  sum = std::max(sum, std::min(sum + ns, header_->last_ns));
}

static i64 times_as_long(double times, i64 ns) { return static_cast<i64>(times * static_cast<double>(ns) + 0.5); }

// The time that several have in common counts once. Others like this one were made, one after the other; with them it took `times` as long.
void Recorder::cover(const TraceEvent& event, double times) {
  const bool access = event.kind == TraceKind::kAccess;
  const bool file = is_of_the_file(event.kind) || event.kind == TraceKind::kBlocked;
  if (access) {
    const std::size_t way = event.access->direction == Direction::kWrite ? 1 : 0;
    add_busy(way, times_as_long(times, busy_[way].add(event.start_ns, event.end_ns)));
  }
  if (!file && !(access && event.access->waited)) return;
  if (event.kind != TraceKind::kSize && event.kind != TraceKind::kSetting) idle_since_ns_ = std::max(idle_since_ns_, event.end_ns - steady_start_ns_);
  const i64 fresh = held_.add(event.start_ns, event.end_ns);
  add_held(is_of_short_calls(event) ? short_calls_ns(event) : times_as_long(times, fresh));
  if (is_of_short_calls(event)) short_calls_until_ns_[event.kind == TraceKind::kSize ? 0 : 1] = event.end_ns;
}

// One stands for several, which took no longer than the time since the one before.
i64 Recorder::short_calls_ns(const TraceEvent& event) {
  const i64 ns = event.end_ns - event.start_ns, before = short_calls_until_ns_[event.kind == TraceKind::kSize ? 0 : 1];
  return std::max(ns, std::min(event.pieces * ns, event.end_ns - std::max(before, steady_start_ns_)));
}

// Those that were timed took as long as they did, and each of the others `usual_ns`.
double Recorder::ns_of(const Unseen& unseen, i64 usual_ns) const {
  const double others = static_cast<double>(std::max<i64>(0, unseen.accesses - unseen.timed)) * static_cast<double>(usual_ns);
  if (unseen.ticks <= 0) return others;
  const auto passed_ns = static_cast<double>(now_ns() - steady_start_ns_), passed = static_cast<double>(ticks() - start_ticks_);
  return passed > 0 ? others + std::min(passed_ns, static_cast<double>(unseen.ticks) / passed * passed_ns) : others;
}

void Recorder::record_sampled(i64 file, Sample& sample, const TraceEvent& event, const Unseen& unseen) {
  std::lock_guard lock(mutex_);
  const FileTotals& totals = records<FileRecord>(kFilesSection)[file].totals;
  FileTotals& now = sample.now();
  now.block_bytes = totals.block_bytes;
  now.stripe_bytes = totals.stripe_bytes;
  count(now, file, event);
  const i64 ns = std::max<i64>(1, event.end_ns - event.start_ns);
  const double times = 1 + ns_of(unseen, ns) / static_cast<double>(ns);
  cover(event, times);
  if (event.kind != TraceKind::kAccess) return;
  add_many(file, now, 1 + unseen.accesses, event.bytes > 0 ? event.bytes + unseen.bytes : 0, times);
  sample.place = 1 - sample.place;
  sample.now() = FileTotals();
}

void Recorder::count_unseen(i64 file, const Sample& sample, const Unseen& unseen) {
  std::lock_guard lock(mutex_);
  const FileTotals& last = sample.last();
  if (unseen.ticks > 0) header_->last_ns = std::max(header_->last_ns, now_ns() - steady_start_ns_);
  i64 ns = 0;
  for (const ClassTotals& part : last.classes) ns += part.ns;
  const double times = ns_of(unseen, ns) / static_cast<double>(std::max<i64>(1, ns));
  add_many(file, last, unseen.accesses, unseen.bytes, times);
  for (std::size_t i = 0; i < last.classes.size(); ++i) add_busy(i % 2, times_as_long(times, last.classes[i].ns));
  add_held(times_as_long(times, last.held_ns()));
}

// What one did, for `accesses` that took `times` as long together.
void Recorder::add_many(i64 file, const FileTotals& once, i64 accesses, i64 bytes, double times) {
  FileTotals& totals = records<FileRecord>(kFilesSection)[file].totals;
  const bool as_it_is = accesses == 1 && times == 1 && std::all_of(once.classes.begin(), once.classes.end(), [&](const ClassTotals& part) { return part.calls == 0 || part.bytes == bytes; });
  if (as_it_is) return totals.add(once);
  FileTotals many = once;
  if (accesses > 1) many.multiply(static_cast<double>(accesses));
  many.stretch(times / static_cast<double>(accesses));
  for (ClassTotals& part : many.classes) {
    if (part.calls == 0 || part.bytes == bytes) continue;
    if (part.bytes > 0) part.piece_bytes = static_cast<i64>(static_cast<double>(part.piece_bytes) / static_cast<double>(part.bytes) * static_cast<double>(bytes) + 0.5);
    part.bytes = bytes;
  }
  totals.add(many);
}

// In the totals. False: that is all there is to it.
bool Recorder::count(FileTotals& totals, i64 file, const TraceEvent& event) {
  const i64 ns = event.end_ns - event.start_ns;
  const i64 at = event.start_ns - steady_start_ns_;
  header_->last_ns = std::max(header_->last_ns, event.end_ns - steady_start_ns_);
  if (totals.first_ns == 0) totals.first_ns = std::max<i64>(1, at);
  totals.last_ns = std::max(totals.last_ns, event.end_ns - steady_start_ns_);
  const auto place = static_cast<std::size_t>(file);
  switch (event.kind) {
    case TraceKind::kOpen:
      ++totals.opens, totals.open_ns += ns;
      totals.late_opening_ns += event.late_ns;
      if (!std::exchange(any_opened_, true)) totals.first_open_ns = ns - event.late_ns;
      header_->own_ns += std::min(now_ns() - event.end_ns, kLongestOpeningNs);   // names, hints and the rest were recorded since
      break;
    case TraceKind::kClose:
      ++totals.closes, totals.close_ns += ns;
      totals.late_opening_ns += event.late_ns;
      break;
    case TraceKind::kSync:
      ++totals.syncs, totals.sync_ns += ns;
      totals.late_sync_ns += event.late_ns;
      totals.idle_syncs += changed_[place] ? 0 : 1;
      changed_[place] = false;
      break;
    case TraceKind::kSize:
    case TraceKind::kResize:
    case TraceKind::kView:
    case TraceKind::kSetting:
      add_call(totals, event);
      break;
    case TraceKind::kBlocked: totals.blocked_ns += ns; break;
    case TraceKind::kLock:
      ++totals.locks, totals.lock_ns += ns;
      break;
    case TraceKind::kPlan:
      ++totals.plans, totals.plans_reused += event.detail.empty() ? 1 : 0;
      if (!event.detail.empty() && !sampled_) add_text(file, TextKind::kPlan, event.detail);
      return false;
    case TraceKind::kStorageRead:
    case TraceKind::kStorageWrite:
      add_storage(totals, event);
      add_to_map(file, event);
      break;
    case TraceKind::kAbsorbedRead:
    case TraceKind::kAbsorbedWrite:
      totals.storage[event.kind == TraceKind::kAbsorbedWrite ? 1 : 0].absorbed_calls += event.pieces;
      totals.storage[event.kind == TraceKind::kAbsorbedWrite ? 1 : 0].unused_bytes += event.bytes;
      return false;
    case TraceKind::kAccess:
      add_access(totals, file, event);
      break;
    case TraceKind::kCollective:
      return false;  // its access says it
    default:
      break;
  }
  return true;
}

// One that neither moves data nor opens, closes or syncs the file.
void Recorder::add_call(FileTotals& totals, const TraceEvent& event) {
  const i64 ns = event.end_ns - event.start_ns;
  if (event.kind == TraceKind::kSize) totals.size_calls += event.pieces, totals.size_ns += short_calls_ns(event);
  if (event.kind == TraceKind::kResize) ++totals.resizes, totals.resize_ns += ns, totals.late_resize_ns += event.late_ns;
  if (event.kind == TraceKind::kView) ++totals.views, totals.view_ns += ns, totals.late_view_ns += event.late_ns;
  if (event.kind != TraceKind::kSetting) return;
  totals.settings += event.pieces, totals.setting_ns += short_calls_ns(event);
  totals.late_setting_ns += event.late_ns;
}

void Recorder::add_storage(FileTotals& totals, const TraceEvent& event) {
  StorageTotals& part = totals.storage[event.kind == TraceKind::kStorageWrite ? 1 : 0];
  const i64 ns = event.end_ns - event.start_ns;
  const i64 unit = totals.stripe_bytes > 0 ? totals.stripe_bytes : totals.block_bytes;
  ++part.calls;
  part.bytes += event.bytes;
  const bool write = event.kind == TraceKind::kStorageWrite;
  if (event.counters && event.counters->adapted)
    (write ? totals.adapted_stored_bytes : totals.adapted_fetched_bytes) += event.bytes;
  part.span_bytes = std::min(kMostOfRank, part.span_bytes + std::min(kMostOfRank, event.span));   // pieces may be at both ends of a file
  part.pieces += event.pieces;
  part.ns += ns;
  if (event.bytes < kSmallBytes) ++part.small_calls;
  if (event.bytes >= kSmallBytes * std::max<i64>(1, event.pieces)) part.large_bytes += event.bytes, part.large_ns += ns;
  part.misaligned_calls += unit > 0 && event.offset % unit != 0 ? 1 : 0;
  part.longest_ns = std::max(part.longest_ns, ns);
  ++part.sizes[static_cast<std::size_t>(size_bucket(event.bytes))];
}

void Recorder::add_access(FileTotals& totals, i64 file, const TraceEvent& event) {
  const AccessFacts& facts = *event.access;
  ClassTotals& part = totals.of(facts.direction, facts.collective);
  const Counters& counters = *event.counters;
  const i64 ns = event.end_ns - event.start_ns;
  const auto place = static_cast<std::size_t>(file);
  const bool strided = event.offset >= 0 && facts.end_offset - event.offset > facts.piece_bytes;
  ++part.calls;
  part.bytes += event.bytes;
  part.ns += ns;
  part.small_calls += event.bytes > 0 && event.bytes < kSmallBytes ? 1 : 0;
  part.strided_calls += strided ? 1 : 0;
  part.piece_bytes += facts.piece_bytes;
  part.jumping_calls += event.offset >= 0 && next_offset_[place] >= 0 && event.offset != next_offset_[place] ? 1 : 0;
  part.failed_calls += facts.failed ? 1 : 0;
  part.longest_ns = std::max(part.longest_ns, ns);
  for (std::size_t i = 0; i < kPhases; ++i) part.phase_ns[i] += counters.clock.spent()[i];
  ++part.sizes[static_cast<std::size_t>(size_bucket(event.bytes))];
  totals.messages += counters.messages;
  totals.message_bytes += counters.message_bytes;
  totals.metadata_bytes += counters.metadata_bytes;
  totals.copied_bytes += counters.copied_bytes;
  totals.merged_bytes += counters.merged_bytes;
  totals.hole_bytes += counters.hole_bytes;
  totals.shared_calls += facts.shared ? 1 : 0;
  if (counters.adapted) {
    (facts.direction == Direction::kWrite ? totals.adapted_written_bytes : totals.adapted_read_bytes) += event.bytes;
    totals.adapted_merged_bytes += counters.merged_bytes;
    totals.adapted_hole_bytes += counters.hole_bytes;
  }
  const i64 between = event.start_ns - last_end_ns_[place];
  if (!sampled_ && between > 0 && between < kBetweenNs) totals.between_ns += between;
  last_end_ns_[place] = event.end_ns;
  if (!facts.waited) ++totals.unwaited_calls, totals.unwaited_ns += ns, totals.unwaited_class_ns[static_cast<std::size_t>(&part - totals.classes.data())] += ns;
  if (event.offset >= 0) {
    next_offset_[place] = facts.end_offset;
    part.begin_place = part.begin_place == 0 ? event.offset + 1 : std::min(part.begin_place, event.offset + 1);
    part.end_place = std::max(part.end_place, std::min(facts.end_offset, INT64_MAX - 1) + 1);
  }
  totals.end_offset = std::max(totals.end_offset, facts.end_offset);
  if (facts.direction == Direction::kWrite && event.bytes > 0) changed_[place] = true;
  if (!sampled_) add_to_map(file, event);
}

// A run that outlasts the bins gets them twice as wide.
void Recorder::make_room_in_bins(i64 end_ns) {
  Section& section = header_->sections[kBinsSection];
  TimeBin* bins = records<TimeBin>(kBinsSection);
  for (; (end_ns - 1) / header_->bin_ns >= section.capacity; header_->bin_ns *= 2)
    section.count = widen_bins({bins, static_cast<std::size_t>(section.count)});
}

// The time of accesses, storage requests, opens, closes and syncs, and the bytes of accesses, are spread evenly over the bins that
// they touch.
void Recorder::add_to_bins(const TraceEvent& event) {
  if (header_->sections[kBinsSection].capacity == 0) return;
  const bool access = event.kind == TraceKind::kAccess, read = event.kind == TraceKind::kStorageRead, write = event.kind == TraceKind::kStorageWrite;
  if (!access && !read && !write && !is_of_the_file(event.kind)) return;
  const std::size_t way = access ? (event.access->direction == Direction::kWrite ? 1 : 0) : write ? 1 : 0;
  const i64 begin = std::max<i64>(0, event.start_ns - steady_start_ns_);
  const i64 end = std::max(begin + 1, event.end_ns - steady_start_ns_);
  make_room_in_bins(end);
  Section& section = header_->sections[kBinsSection];
  TimeBin* bins = records<TimeBin>(kBinsSection);
  const i64 width = header_->bin_ns, final_bin = (end - 1) / width;
  i64 left = access ? event.bytes : 0;
  for (i64 bin = begin / width; bin <= final_bin; ++bin) {
    const i64 inside = std::min(end, (bin + 1) * width) - std::max(begin, bin * width);
    (access ? bins[bin].ns[way] : read || write ? bins[bin].storage_ns[way] : bins[bin].files_ns) += inside;
    if (!access) continue;
    const i64 share = bin == final_bin ? left
                                       : static_cast<i64>(static_cast<double>(event.bytes) * static_cast<double>(inside) /
                                                          static_cast<double>(end - begin));
    bins[bin].bytes[way] += share;
    left -= share;
  }
  section.count = std::max(section.count, final_bin + 1);
}

// The first files that are accessed have maps, as many as there is room for.
void Recorder::add_to_map(i64 file, const TraceEvent& event) {
  if (event.offset < 0 || event.bytes <= 0) return;
  Section& section = header_->sections[kMapsSection];
  i64& map = maps_[static_cast<std::size_t>(file)];
  if (map < 0 && section.count == section.capacity) return;
  MapRecord* maps = records<MapRecord>(kMapsSection);
  if (map < 0) {
    map = section.count++;
    maps[map] = MapRecord{};
    maps[map].file = file;
  }
  const bool access = event.kind == TraceKind::kAccess;
  const i64 end = access ? event.access->end_offset : event.offset + std::max(event.span, event.bytes);
  maps[map].add(access ? 0 : 1, event.bytes, event.offset, end);
}

void Recorder::thin_out() {
  Section& section = header_->sections[kEventsSection];
  EventRecord* events = records<EventRecord>(kEventsSection);
  header_->calls_per_kept *= 2;
  const EventRecord* end = std::remove_if(events, events + section.count, [&](const EventRecord& one) { return !kept_of(one.group, header_->calls_per_kept); });
  section.count = end - events;
}

// An event belongs to the call that ends next on its file: what a call makes the storage do ends before it. Group 0 is always kept.
std::uint32_t Recorder::group_for(i64 file, const TraceEvent& event) {
  Numbering& numbering = calls_of_[static_cast<std::size_t>(file)];
  const bool opening = event.kind == TraceKind::kOpen || event.kind == TraceKind::kClose || event.kind == TraceKind::kSync;
  if (opening && openings_ < kOpeningsKept) return ++openings_, 0;
  const std::uint32_t group = numbering.first + numbering.calls * kGoldenRatio;
  if (event.kind == TraceKind::kAccess) ++numbering.calls, numbering.events = 0;
  return group;
}

void Recorder::keep(i64 file, const TraceEvent& event) {
  ++header_->events_seen;
  const i64 number = calls_of_[static_cast<std::size_t>(file)].events++;
  const std::uint32_t group = group_for(file, event);
  const bool one_of_many = event.kind != TraceKind::kAccess && number >= kMostOfCall &&
                           !kept_of(static_cast<std::uint32_t>(number) * kGoldenRatio, static_cast<i64>(std::bit_floor(static_cast<std::uint64_t>(number / kMostOfCall))) * 2);
  Section& section = header_->sections[kEventsSection];
  if (section.capacity == 0 || one_of_many || !kept_of(group, header_->calls_per_kept)) return;
  while (section.count == section.capacity && header_->calls_per_kept < kMostCallsPerKept) thin_out();
  if (section.count == section.capacity || !kept_of(group, header_->calls_per_kept)) return;
  EventRecord record;
  record.start_ns = event.start_ns - steady_start_ns_;
  record.ns = event.end_ns - event.start_ns;
  record.bytes = event.bytes;
  record.offset = event.offset;
  record.span = event.access && event.offset >= 0 ? event.access->end_offset - event.offset : event.span;
  record.pieces = static_cast<std::uint32_t>(std::min<i64>(event.pieces, UINT32_MAX));
  record.group = group;
  record.file = static_cast<std::int32_t>(file);
  record.kind = static_cast<std::uint8_t>(event.kind);
  if (event.kind == TraceKind::kAccess || event.kind == TraceKind::kSetting) record.call = static_cast<std::uint8_t>(call_number(file, event.detail));
  records<EventRecord>(kEventsSection)[section.count++] = record;
}
}  // namespace mercutio
