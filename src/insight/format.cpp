#include "insight/format.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "base/utf8.h"
#include "insight/name_patterns.h"

namespace mercutio {
namespace {

constexpr i64 kLeastFiles = 8;   // in a table, however small the budget

template <class Record>
void append(std::vector<std::byte>& out, const Record* from, i64 count) {
  const std::size_t at = out.size(), size = static_cast<std::size_t>(count) * sizeof(Record);
  out.resize(at + size);
  if (size > 0) std::memcpy(out.data() + at, from, size);
}

// The events of so few calls that no more than `most` are left.
std::vector<EventRecord> fewer_events(std::span<const EventRecord> events, i64 most, i64& calls_per_kept) {
  std::vector<EventRecord> kept(events.begin(), events.end());
  while (static_cast<i64>(kept.size()) > most && calls_per_kept < kMostCallsPerKept) {
    calls_per_kept *= 2;
    std::erase_if(kept, [&](const EventRecord& one) { return !kept_of(one.group, calls_per_kept); });
  }
  if (static_cast<i64>(kept.size()) > most) kept.resize(static_cast<std::size_t>(std::max<i64>(0, most)));
  return kept;
}

// The first of the files, and the patterns of the others' names. `places`: where each file is now.
std::vector<FileRecord> fewer_files(std::span<const FileRecord> files, i64 most, std::vector<i64>& places) {
  std::vector<FileRecord> kept;
  std::unordered_map<std::string, i64> patterns;
  const i64 singles = std::max<i64>(0, most - pattern_records(most));
  for (const FileRecord& file : files) {
    const auto count = static_cast<i64>(kept.size());
    if (count < singles) {
      places.push_back(count);
      kept.push_back(file);
      continue;
    }
    const std::string_view name = text_in(file.name);
    const auto [known, fresh] = patterns.emplace(pattern_key(name), std::min(count, most - 1));
    const i64 place = known->second;
    places.push_back(place);
    if (place == count) {
      kept.push_back(file);
    } else {
      FileRecord& pattern = kept[static_cast<std::size_t>(place)];
      pattern.totals.add(file.totals);
      const bool mixed = fresh || is_other_files(text_in(pattern.name));   // different patterns share the last record
      put_text(pattern.name, mixed ? other_files(text_in(pattern.name), name) : widened_pattern(text_in(pattern.name), name));
      pattern.is_pattern = 1;
    }
  }
  return kept;
}

i64 bytes_of(const TextRecord& record) {
  return static_cast<i64>(sizeof record) + (record.bytes + 7) / 8 * 8;
}

// Calls visit(record, offset) for each.
template <class Visit>
void visit_texts(const std::byte* heap, i64 bytes, Visit visit) {
  for (i64 at = 0; at < bytes;) {
    TextRecord record;
    std::memcpy(&record, heap + at, sizeof record);
    visit(record, at);
    at += bytes_of(record);
  }
}

// Names of calls come first, because events have their numbers, and sketches last. The order stays as it is.
std::vector<std::byte> fewer_texts(const std::byte* heap, i64 bytes, i64 most, i64& left_out) {
  const auto rank_of = [](TextKind kind) { return kind == TextKind::kCall ? 0 : kind == TextKind::kSketch ? 2 : 1; };
  std::vector<std::byte> kept;
  std::unordered_map<i64, bool> keeps;   // by offset
  i64 room = most;
  for (int turn = 0; turn < 3; ++turn) {
    bool full = false;
    visit_texts(heap, bytes, [&](const TextRecord& record, i64 at) {
      if (rank_of(record.kind) != turn) return;
      full = full || bytes_of(record) > room;
      keeps[at] = !full;
      (full ? left_out : room) += full ? 1 : -bytes_of(record);
    });
  }
  visit_texts(heap, bytes, [&](const TextRecord& record, i64 at) {
    if (keeps[at]) kept.insert(kept.end(), heap + at, heap + at + bytes_of(record));
  });
  return kept;
}

// Bytes of the texts at `heap` that fit into `most`.
i64 whole_texts(const std::byte* heap, i64 bytes, i64 most) {
  i64 kept = 0;
  while (kept < bytes) {
    TextRecord record;
    std::memcpy(&record, heap + kept, sizeof record);
    if (kept + bytes_of(record) > most) break;
    kept += bytes_of(record);
  }
  return kept;
}

void cut_steps(ConstBytes piece, PieceHeader& header, const PieceLimits& limits, std::vector<std::byte>& out) {
  Section& steps = header.sections[kStepsSection];
  const auto* step = reinterpret_cast<const StepRecord*>(piece.data() + steps.offset);
  const i64 all = steps.count;
  steps.count = steps.capacity = std::min(all, std::max<i64>(0, limits.steps));
  for (i64 i = steps.count; i < all; ++i) header.steps_left_out += step[i].repeats;
  steps.offset = static_cast<i64>(out.size());
  append(out, step, steps.count);
  Section& shapes = header.sections[kShapesSection];
  const std::byte* heap = piece.data() + shapes.offset;
  const i64 kept = whole_texts(heap, shapes.count, limits.shape_bytes);
  header.shapes_left_out += kept < shapes.count ? 1 : 0;
  shapes.offset = static_cast<i64>(out.size());
  shapes.count = shapes.capacity = kept;
  append(out, heap, kept);
}

// Records of files that were put elsewhere in the table say so: texts, events and steps have the number of their file.
void renumber_texts(std::byte* heap, i64 bytes, const std::vector<i64>& places) {
  for (i64 at = 0; at < bytes;) {
    TextRecord record;
    std::memcpy(&record, heap + at, sizeof record);
    if (record.file >= 0) record.file = static_cast<std::int32_t>(places[static_cast<std::size_t>(record.file)]);
    std::memcpy(heap + at, &record, sizeof record);
    at += bytes_of(record);
  }
}

template <class Record>
void renumber(std::byte* at, i64 count, const std::vector<i64>& places) {
  auto* records = reinterpret_cast<Record*>(at);
  for (i64 i = 0; i < count; ++i) {
    using Number = decltype(records[i].file);
    if (records[i].file >= 0) records[i].file = static_cast<Number>(places[static_cast<std::size_t>(records[i].file)]);
  }
}

}  // namespace

void put_text(std::span<char> target, std::string_view text) {
  text = last_bytes(text, target.size() - 1);
  std::fill(target.begin(), target.end(), '\0');
  std::copy(text.begin(), text.end(), target.begin());
}

std::string_view text_in(std::span<const char> text) {
  return {text.data(), ::strnlen(text.data(), text.size())};
}

void TimeBin::add(const TimeBin& other) {
  for (std::size_t way = 0; way < 2; ++way) {
    bytes[way] += other.bytes[way];
    ns[way] += other.ns[way];
    storage_ns[way] += other.storage_ns[way];
  }
  files_ns += other.files_ns;
}

i64 widen_bins(std::span<TimeBin> bins) {
  const std::size_t half = (bins.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    TimeBin sum = bins[2 * i];
    if (2 * i + 1 < bins.size()) sum.add(bins[2 * i + 1]);
    bins[i] = sum;
  }
  std::fill(bins.begin() + static_cast<std::ptrdiff_t>(half), bins.end(), TimeBin());
  return static_cast<i64>(half);
}

PieceLimits limits_of(i64 bytes) {
  const auto part = [bytes](i64 sixteenths, std::size_t record) { return bytes / 16 * sixteenths / static_cast<i64>(record); };
  const PieceLimits most;
  PieceLimits limits;
  limits.files = std::clamp<i64>(part(2, sizeof(FileRecord)), kLeastFiles, most.files);
  limits.text_bytes = std::min(part(1, 1) / 8 * 8, most.text_bytes);
  limits.bins = std::min(part(1, sizeof(TimeBin)), most.bins);
  limits.maps = std::min(part(2, sizeof(MapRecord)), most.maps);
  limits.events = std::min(part(5, sizeof(EventRecord)), most.events);
  limits.steps = std::min(part(3, sizeof(StepRecord)), most.steps);
  limits.shape_bytes = std::min(part(2, 1) / 8 * 8, most.shape_bytes);
  return limits;
}

PieceLimits limits_within(ConstBytes piece, i64 bytes) {
  PieceHeader header;
  std::memcpy(static_cast<void*>(&header), piece.data(), sizeof header);
  i64 left = bytes - static_cast<i64>(sizeof header) - 8 * kSections;
  // At most one `share`-th of what is left.
  const auto take = [&](SectionKind kind, std::size_t record, i64 share, i64 least = 0) {
    const auto size = static_cast<i64>(record);
    const i64 count = std::min(header.sections[kind].count, std::max(least, std::max<i64>(0, left) / share / size));
    left -= count * size;
    return count;
  };
  PieceLimits limits;
  limits.files = take(kFilesSection, sizeof(FileRecord), 2, kLeastFiles);
  limits.text_bytes = take(kTextsSection, 1, 4);
  limits.bins = take(kBinsSection, sizeof(TimeBin), 4);
  limits.maps = take(kMapsSection, sizeof(MapRecord), 4);
  limits.shape_bytes = take(kShapesSection, 1, 4);
  limits.steps = take(kStepsSection, sizeof(StepRecord), 2);
  limits.events = take(kEventsSection, sizeof(EventRecord), 1);
  return limits;
}

void MapRecord::enlarge_cells() {
  for (auto& map_kind : bytes) {
    for (std::size_t i = 0; i < kCells / 2; ++i) map_kind[i] = map_kind[2 * i] + map_kind[2 * i + 1];
    std::fill(map_kind.begin() + kCells / 2, map_kind.end(), 0);
  }
  cell_bytes *= 2;
}

void MapRecord::add(std::size_t map_kind, i64 added, i64 begin, i64 end) {
  if (begin < 0 || end <= begin) return;
  while ((end - 1) / cell_bytes >= static_cast<i64>(kCells)) enlarge_cells();
  const i64 last = (end - 1) / cell_bytes;
  i64 left = added;
  for (i64 cell = begin / cell_bytes; cell < last; ++cell) {
    const i64 inside = (cell + 1) * cell_bytes - std::max(begin, cell * cell_bytes);
    const auto share = static_cast<i64>(static_cast<double>(added) * static_cast<double>(inside) / static_cast<double>(end - begin));
    bytes[map_kind][static_cast<std::size_t>(cell)] += share;
    left -= share;
  }
  bytes[map_kind][static_cast<std::size_t>(last)] += left;
}

void MapRecord::add(const MapRecord& other) {
  MapRecord theirs = other;
  while (cell_bytes < theirs.cell_bytes) enlarge_cells();
  while (theirs.cell_bytes < cell_bytes) theirs.enlarge_cells();
  for (std::size_t map_kind = 0; map_kind < bytes.size(); ++map_kind) {
    for (std::size_t i = 0; i < kCells; ++i) bytes[map_kind][i] += theirs.bytes[map_kind][i];
  }
}

std::vector<std::byte> trimmed(ConstBytes piece, const PieceLimits& limits) {
  PieceHeader header;
  std::memcpy(static_cast<void*>(&header), piece.data(), sizeof header);
  std::vector<std::byte> out(sizeof header);
  const auto begin = [&](Section& section, i64 count) {
    out.resize((out.size() + 7) / 8 * 8);
    const std::byte* from = piece.data() + section.offset;
    section.offset = static_cast<i64>(out.size());
    section.count = section.capacity = count;
    return from;
  };
  Section& files = header.sections[kFilesSection];
  const bool too_many = files.count > limits.files;
  std::vector<i64> places;
  if (too_many) {
    const auto* all = reinterpret_cast<const FileRecord*>(piece.data() + files.offset);
    const std::vector<FileRecord> kept = fewer_files({all, static_cast<std::size_t>(files.count)}, std::max<i64>(1, limits.files), places);
    begin(files, static_cast<i64>(kept.size()));
    append(out, kept.data(), static_cast<i64>(kept.size()));
  } else {
    const i64 count = files.count;
    append(out, reinterpret_cast<const FileRecord*>(begin(files, count)), count);
  }
  Section& texts = header.sections[kTextsSection];
  const std::vector<std::byte> shortened = fewer_texts(piece.data() + texts.offset, texts.count, limits.text_bytes, header.texts_left_out);
  begin(texts, static_cast<i64>(shortened.size()));
  append(out, shortened.data(), texts.count);
  Section& bins = header.sections[kBinsSection];
  const auto* bin = reinterpret_cast<const TimeBin*>(piece.data() + bins.offset);
  std::vector<TimeBin> wide(bin, bin + bins.count);
  for (; static_cast<i64>(wide.size()) > std::max<i64>(1, limits.bins); header.bin_ns *= 2) wide.resize(static_cast<std::size_t>(widen_bins(wide)));
  begin(bins, static_cast<i64>(wide.size()));
  append(out, wide.data(), bins.count);
  Section& events = header.sections[kEventsSection];
  const auto* event = reinterpret_cast<const EventRecord*>(piece.data() + events.offset);
  const std::vector<EventRecord> kept = fewer_events({event, static_cast<std::size_t>(events.count)}, limits.events, header.calls_per_kept);
  begin(events, static_cast<i64>(kept.size()));
  append(out, kept.data(), static_cast<i64>(kept.size()));
  Section& maps = header.sections[kMapsSection];
  const i64 maps_kept = std::min(maps.count, limits.maps);
  append(out, reinterpret_cast<const MapRecord*>(begin(maps, maps_kept)), maps_kept);
  cut_steps(piece, header, limits, out);
  if (too_many) {
    renumber_texts(out.data() + texts.offset, texts.count, places);
    renumber<EventRecord>(out.data() + events.offset, events.count, places);
    renumber<MapRecord>(out.data() + maps.offset, maps.count, places);
    renumber<StepRecord>(out.data() + header.sections[kStepsSection].offset, header.sections[kStepsSection].count, places);
  }
  out.resize((out.size() + 7) / 8 * 8);
  header.piece_bytes = static_cast<i64>(out.size());
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace mercutio
