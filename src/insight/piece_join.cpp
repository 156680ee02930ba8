// What several ranks recorded as one piece.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "insight/name_patterns.h"
#include "insight/piece_merge.h"

namespace mercutio {
namespace {

constexpr i64 kBelievableShiftNs = 600'000'000'000;   // clocks of nodes that differ by more are wrong

void delay_bins(RankTrace& trace, i64 ns) {
  const auto by = static_cast<std::size_t>((ns + trace.header.bin_ns / 2) / trace.header.bin_ns);
  if (trace.bins.empty()) return;
  const std::size_t most = static_cast<std::size_t>(PieceLimits().bins);
  if (trace.bins.size() + by > most) {
    trace.bins.resize(static_cast<std::size_t>(widen_bins(trace.bins)));
    trace.header.bin_ns *= 2;
    return delay_bins(trace, ns);
  }
  trace.bins.insert(trace.bins.begin(), by, TimeBin());
}

// All times count from an earlier moment, but for the end: that says how long the rank ran, whatever the clocks of nodes say.
void delay(RankTrace& trace, i64 ns) {
  if (ns <= 0) return;
  PieceHeader& header = trace.header;
  header.wall_start_ns -= ns;
  header.last_ns += header.last_ns > 0 ? ns : 0;
  for (FileRecord& file : trace.files) {
    for (i64* const time : {&file.totals.first_ns, &file.totals.last_ns}) *time += *time > 0 ? ns : 0;
  }
  for (EventRecord& event : trace.events) event.start_ns += ns;
  delay_bins(trace, ns);
}

void widen(RankTrace& trace, i64 bin_ns) {
  for (; trace.header.bin_ns < bin_ns; trace.header.bin_ns *= 2) trace.bins.resize(static_cast<std::size_t>(widen_bins(trace.bins)));
}

void join_bins(RankTrace& mine, RankTrace& other) {
  widen(mine, other.header.bin_ns);
  widen(other, mine.header.bin_ns);
  mine.bins.resize(std::max(mine.bins.size(), other.bins.size()));
  for (std::size_t i = 0; i < other.bins.size(); ++i) mine.bins[i].add(other.bins[i]);
}

void join_headers(PieceHeader& mine, const PieceHeader& other) {
  mine.members += other.members;
  mine.rank = std::min(mine.rank, other.rank);
  mine.end_ns = mine.end_ns > 0 && other.end_ns > 0 ? std::max(mine.end_ns, other.end_ns) : 0;
  mine.last_ns = std::max(mine.last_ns, other.last_ns);
  mine.own_ns = std::max(mine.own_ns, other.own_ns);
  for (std::size_t way = 0; way < mine.busy_ns.size(); ++way) mine.busy_ns[way] += other.busy_ns[way];
  mine.held_ns += other.held_ns;
  if (mine.failed_opens == 0) mine.failed_open = other.failed_open;
  mine.failed_opens += other.failed_opens;
  mine.failed_open_ns += other.failed_open_ns;
  mine.host_cores = std::max(mine.host_cores, other.host_cores);
  mine.calls_per_kept = std::max(mine.calls_per_kept, other.calls_per_kept);
  mine.events_seen += other.events_seen;
  mine.files_left_out += other.files_left_out;
  mine.texts_left_out += other.texts_left_out;
  mine.steps_left_out += other.steps_left_out;
  mine.shapes_left_out += other.shapes_left_out;
  mine.cores.ran_ns += other.cores.ran_ns;
  mine.cores.queued_ns += other.cores.queued_ns;
  mine.cores.turns += other.cores.turns;
}

void drop_steps(RankTrace& trace) {
  for (const StepRecord& step : trace.steps) trace.header.steps_left_out += step.repeats;
  trace.header.shapes_left_out += static_cast<i64>(trace.shapes.size());
  trace.steps.clear();
  trace.shapes.clear();
  std::erase_if(trace.texts, [](const TraceText& text) { return text.kind == TextKind::kSketch; });
}

// Returns where each of the other's files is now.
std::vector<i64> join_files(RankTrace& mine, const RankTrace& other) {
  std::map<std::string, i64, std::less<>> known;
  for (std::size_t i = 0; i < mine.files.size(); ++i) known.emplace(record_key(text_in(mine.files[i].name)), static_cast<i64>(i));
  std::vector<i64> places;
  for (const FileRecord& file : other.files) {
    const auto [place, fresh] = known.emplace(record_key(text_in(file.name)), static_cast<i64>(mine.files.size()));
    places.push_back(place->second);
    if (fresh) {
      mine.files.push_back(file);
      continue;
    }
    FileRecord& record = mine.files[static_cast<std::size_t>(place->second)];
    record.totals.add(file.totals);
    if (is_other_files(text_in(file.name))) put_text(record.name, other_files(text_in(record.name), text_in(file.name)));
    record.is_pattern = std::max(record.is_pattern, file.is_pattern);
  }
  return places;
}

// Returns the numbers of the other's calls.
std::vector<std::uint8_t> join_texts(RankTrace& mine, const RankTrace& other, const std::vector<i64>& places) {
  std::map<std::pair<std::pair<TextKind, i64>, std::string>, std::size_t> known;
  std::map<std::string, std::uint8_t> calls;
  bool run = false;
  const auto add_call = [&](const std::string& name) { return calls.emplace(name, static_cast<std::uint8_t>(calls.size() + 1)); };
  for (std::size_t i = 0; i < mine.texts.size(); ++i) {
    const TraceText& text = mine.texts[i];
    known.emplace(std::pair(std::pair(text.kind, text.kind == TextKind::kCall ? -1 : text.file), text.text), i);
    if (text.kind == TextKind::kCall) add_call(text.text);
    run = run || text.kind == TextKind::kRun;
  }
  std::vector<std::uint8_t> numbers = {0};
  for (TraceText text : other.texts) {
    if (text.kind == TextKind::kRun && run) continue;
    if (text.file >= 0) text.file = places[static_cast<std::size_t>(text.file)];
    if (text.kind == TextKind::kCall) numbers.push_back(add_call(text.text).first->second);
    const auto [place, fresh] = known.emplace(std::pair(std::pair(text.kind, text.kind == TextKind::kCall ? -1 : text.file), text.text), mine.texts.size());
    fresh ? mine.texts.push_back(std::move(text)) : void(mine.texts[place->second].count += text.count);
  }
  return numbers;
}

void join_events(RankTrace& mine, const RankTrace& other, const std::vector<i64>& places, const std::vector<std::uint8_t>& calls) {
  const i64 rate = mine.header.calls_per_kept;
  std::erase_if(mine.events, [rate](const EventRecord& one) { return !kept_of(one.group, rate); });
  for (EventRecord event : other.events) {
    if (!kept_of(event.group, rate)) continue;
    if (event.file >= 0) event.file = static_cast<std::int32_t>(places[static_cast<std::size_t>(event.file)]);
    event.call = event.call < calls.size() ? calls[event.call] : 0;
    mine.events.push_back(event);
  }
}

void join_maps(RankTrace& mine, const RankTrace& other, const std::vector<i64>& places) {
  for (MapRecord map : other.maps) {
    if (map.file >= 0) map.file = places[static_cast<std::size_t>(map.file)];
    const auto same = std::find_if(mine.maps.begin(), mine.maps.end(), [&](const MapRecord& one) { return one.file == map.file; });
    same == mine.maps.end() ? mine.maps.push_back(map) : same->add(map);
  }
}

std::vector<std::byte> heap_of(const std::vector<TraceText>& texts) {
  std::vector<std::byte> heap;
  for (const TraceText& text : texts) {
    const TextRecord record{text.kind, static_cast<std::int32_t>(text.file), text.count, static_cast<i64>(text.text.size())};
    const std::size_t at = heap.size();
    heap.resize(at + sizeof record + (text.text.size() + 7) / 8 * 8);
    std::memcpy(heap.data() + at, &record, sizeof record);
    if (!text.text.empty()) std::memcpy(heap.data() + at + sizeof record, text.text.data(), text.text.size());
  }
  return heap;
}

template <class Record>
void append(std::vector<std::byte>& out, Section& section, const std::vector<Record>& records) {
  out.resize((out.size() + 7) / 8 * 8);
  const std::size_t at = out.size();
  const auto count = static_cast<i64>(records.size());
  section = Section{static_cast<i64>(at), static_cast<i64>(sizeof(Record)), count, count};
  out.resize(at + records.size() * sizeof(Record));
  if (count > 0) std::memcpy(out.data() + at, records.data(), records.size() * sizeof(Record));
}

}  // namespace

bool sound(const RankTrace& trace) {
  const auto there = [&](const auto& one) { return i64{one.file} < static_cast<i64>(trace.files.size()); };
  return std::all_of(trace.texts.begin(), trace.texts.end(), there) && std::all_of(trace.events.begin(), trace.events.end(), there) &&
         std::all_of(trace.maps.begin(), trace.maps.end(), there);
}

void join(RankTrace& mine, RankTrace other) {
  drop_steps(mine);
  drop_steps(other);
  const i64 later = other.header.wall_start_ns - mine.header.wall_start_ns;
  if (std::abs(later) < kBelievableShiftNs) delay(later > 0 ? other : mine, std::abs(later));
  if (other.header.rank < mine.header.rank) mine.header.host = other.header.host;
  join_bins(mine, other);
  join_headers(mine.header, other.header);
  const std::vector<i64> places = join_files(mine, other);
  const std::vector<std::uint8_t> calls = join_texts(mine, other, places);
  join_events(mine, other, places, calls);
  join_maps(mine, other, places);
}

std::vector<std::byte> encoded(const RankTrace& trace) {
  PieceHeader header = trace.header;
  header.version = kTraceVersion;
  std::vector<std::byte> out(sizeof header);
  append(out, header.sections[kFilesSection], trace.files);
  append(out, header.sections[kTextsSection], heap_of(trace.texts));
  append(out, header.sections[kBinsSection], trace.bins);
  append(out, header.sections[kEventsSection], trace.events);
  append(out, header.sections[kMapsSection], trace.maps);
  append(out, header.sections[kStepsSection], trace.steps);
  append(out, header.sections[kShapesSection], heap_of(trace.shapes));
  out.resize((out.size() + 7) / 8 * 8);
  header.piece_bytes = static_cast<i64>(out.size());
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace mercutio
