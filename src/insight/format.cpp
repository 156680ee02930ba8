#include "insight/format.h"

#include <algorithm>
#include <cstring>

namespace mercutio {
namespace {

// Appends every `step`-th of the records at `from`.
template <class Record>
void append(std::vector<std::byte>& out, const Record* from, i64 count, i64 step) {
  for (i64 i = 0; i < count; i += step) {
    const auto* bytes = reinterpret_cast<const std::byte*>(from + i);
    out.insert(out.end(), bytes, bytes + sizeof(Record));
  }
}

std::vector<FileRecord> fewer_files(const FileRecord* files, i64 count, i64 most) {
  std::vector<FileRecord> kept(files, files + std::min(count, most));
  for (i64 i = most; i < count; ++i) kept.back().totals.add(files[i].totals);
  constexpr char kOthers[] = "(other files)";
  kept.back().name.fill('\0');
  std::copy(std::begin(kOthers), std::end(kOthers), kept.back().name.begin());
  return kept;
}

// Bytes of the texts at `heap` that fit into `most`.
i64 whole_texts(const std::byte* heap, i64 bytes, i64 most) {
  i64 kept = 0;
  while (kept < bytes) {
    TextRecord record;
    std::memcpy(&record, heap + kept, sizeof record);
    const i64 next = kept + static_cast<i64>(sizeof record) + (record.bytes + 7) / 8 * 8;
    if (next > most) break;
    kept = next;
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
  append(out, step, steps.count, 1);
  Section& shapes = header.sections[kShapesSection];
  const std::byte* heap = piece.data() + shapes.offset;
  const i64 kept = whole_texts(heap, shapes.count, limits.shape_bytes);
  header.shapes_left_out += kept < shapes.count ? 1 : 0;
  shapes.offset = static_cast<i64>(out.size());
  shapes.count = shapes.capacity = kept;
  append(out, heap, kept, 1);
}

}  // namespace

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
  const i64 all_files = files.count, most_files = std::max<i64>(1, limits.files);
  const auto* file = reinterpret_cast<const FileRecord*>(begin(files, std::min(all_files, most_files)));
  if (all_files > most_files) header.files_left_out += all_files - most_files + 1;
  if (all_files > most_files)
    append(out, fewer_files(file, all_files, most_files).data(), most_files, 1);
  else
    append(out, file, all_files, 1);
  Section& texts = header.sections[kTextsSection];
  append(out, begin(texts, texts.count), texts.count, 1);
  Section& bins = header.sections[kBinsSection];
  append(out, reinterpret_cast<const TimeBin*>(begin(bins, bins.count)), bins.count, 1);
  Section& events = header.sections[kEventsSection];
  i64 step = 1;
  const i64 all_events = events.count;
  while ((all_events + step - 1) / step > std::max<i64>(0, limits.events) && step < 2 * all_events) step *= 2;
  const i64 kept = limits.events <= 0 ? 0 : (all_events + step - 1) / step;
  header.event_stride *= step;
  const auto* event = reinterpret_cast<const EventRecord*>(begin(events, kept));
  append(out, event, kept == 0 ? 0 : all_events, step);
  cut_steps(piece, header, limits, out);
  out.resize((out.size() + 7) / 8 * 8);
  header.piece_bytes = static_cast<i64>(out.size());
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace mercutio
