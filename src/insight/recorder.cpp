#include "insight/recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace mercutio {
namespace {

constexpr i64 kPlansKept = 256;  // distinct ones; those beyond are counted only

class FileSink final : public TraceSink {
 public:
  FileSink(Recorder& recorder, i64 file, i64 open) : recorder_(recorder), file_(file), open_(open) {}
  void record(const TraceEvent& event) override { recorder_.record(file_, event); }
  void note(std::string_view what, std::string_view text) override {
    recorder_.note(file_, what == "hints" ? TextKind::kHints : what == "sketch" ? TextKind::kSketch : TextKind::kNotes, text);
  }

 void step(const TraceStep& step) override { recorder_.step(file_, open_, step); }
  i64 shape(const std::string& key, const ShapeMaker& make) override {
    return recorder_.shape(key, make);
  }

 private:
  Recorder& recorder_;
  i64 file_, open_;
};

i64 padded(i64 bytes) {
  return (bytes + 7) / 8 * 8;
}

template <std::size_t N>
void put(std::array<char, N>& target, std::string_view text) {
  if (text.size() >= N) text.remove_prefix(text.size() - (N - 1));  // the end of a path says more
  target.fill('\0');
  std::copy(text.begin(), text.end(), target.begin());
}

i64 wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::array<Section, kSections> sections_of(const RecorderOptions& options, i64& bytes) {
  std::array<Section, kSections> sections{};
  const std::array<std::pair<i64, i64>, kSections> sizes = {{{sizeof(FileRecord), options.files},
                                                             {1, options.text_bytes},
                                                             {sizeof(TimeBin), options.bins},
                                                             {sizeof(EventRecord), options.events},
                                                             {sizeof(StepRecord), options.steps},
                                                             {1, options.shape_bytes}}};
  bytes = padded(sizeof(PieceHeader));
  for (std::size_t i = 0; i < kSections; ++i) {
    sections[i] = Section{bytes, sizes[i].first, 0, sizes[i].second};
    bytes += padded(sizes[i].first * sizes[i].second);
  }
  return sections;
}

// Space is taken at once: a mapped file without it would kill the program when the disk is full.
Result<std::byte*> map_piece(const std::string& path, i64 bytes) {
  int file = -1;
  if (!path.empty()) {
    file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return error_from_errno("open", errno);
    if (const int failed = ::posix_fallocate(file, 0, bytes); failed != 0) {
      ::close(file);
      ::unlink(path.c_str());
      return error_from_errno("posix_fallocate", failed);
    }
  }
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* base = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, flags, file, 0);
  const int failed = errno;
  if (file >= 0) ::close(file);
  if (base == MAP_FAILED) return error_from_errno("mmap", failed);
  return static_cast<std::byte*>(base);
}

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::make(const RecorderOptions& options) {
  i64 bytes = 0;
  (void)sections_of(options, bytes);
  MERCUTIO_LET(std::byte * base, map_piece(options.piece_path, bytes));
  return std::unique_ptr<Recorder>(new Recorder(base, bytes, options));
}

Recorder::Recorder(std::byte* base, i64 bytes, const RecorderOptions& options)
    : base_(base), bytes_(bytes), header_(new (base) PieceHeader), steady_start_ns_(now_ns()), core_time_at_start_(core_time_of_this_thread()) {
  i64 needed = 0;
  header_->sections = sections_of(options, needed);
  header_->piece_bytes = bytes;
  header_->rank = options.rank;
  header_->ranks = options.ranks;
  header_->process = ::getpid();
  header_->wall_start_ns = wall_ns();
  header_->bin_ns = 1'000'000;
  char host[64] = "";
  ::gethostname(host, sizeof host - 1);
  put(header_->host, host);
  put(header_->program, program_name());
  next_offset_.resize(static_cast<std::size_t>(options.files), -1);
  last_end_ns_.resize(static_cast<std::size_t>(options.files), 0);
  changed_.resize(static_cast<std::size_t>(options.files), false);
  sketches_.resize(static_cast<std::size_t>(options.files), 0);
}

Recorder::~Recorder() {
  ::munmap(base_, static_cast<std::size_t>(bytes_));
}

void Recorder::finish() {
  std::lock_guard lock(mutex_);
  header_->end_ns = std::max<i64>(1, now_ns() - steady_start_ns_);
  header_->cores = core_time_of_this_thread().since(core_time_at_start_);
  header_->host_cores = std::max<i64>(0, ::sysconf(_SC_NPROCESSORS_ONLN));
}

// Files beyond the table share its last entry.
i64 Recorder::slot_of(const FileFacts& facts) {
  if (const auto found = slots_.find(facts.name); found != slots_.end()) return found->second;
  Section& section = header_->sections[kFilesSection];
  const bool full = section.count >= section.capacity - 1;
  const i64 slot = full ? section.capacity - 1 : section.count;
  FileRecord& record = records<FileRecord>(kFilesSection)[slot];
  if (full) {
    ++header_->files_left_out;
    put(record.name, "(other files)");
  } else {
    put(record.name, facts.name);
    slots_.emplace(facts.name, slot);
  }
  put(record.amode, facts.amode);
  put(record.file_system, facts.file_system);
  FileTotals& totals = record.totals;
  totals.block_bytes = facts.block_bytes;
  totals.stripe_bytes = facts.stripe_bytes;
  totals.stripe_count = facts.stripe_count;
  totals.first_server = facts.first_server;
  section.count = std::max(section.count, slot + 1);
  return slot;
}

std::unique_ptr<TraceSink> Recorder::file(const FileFacts& facts) {
  std::lock_guard lock(mutex_);
  const i64 slot = slot_of(facts);
  FileTotals& totals = records<FileRecord>(kFilesSection)[slot].totals;
  totals.ranks = std::max(totals.ranks, facts.ranks);
  totals.nodes = std::max(totals.nodes, facts.nodes);
  next_offset_[static_cast<std::size_t>(slot)] = -1;
  last_end_ns_[static_cast<std::size_t>(slot)] = 0;
  return std::make_unique<FileSink>(*this, slot, opens_++);
}

void Recorder::note(i64 file, TextKind kind, std::string_view text) {
  std::lock_guard lock(mutex_);
  kind == TextKind::kSketch ? add_sketch(file, text) : void(add_text(file, kind, text));
}

// With the number of the open before it: tags are its own. They never take more than half of the room for texts.
void Recorder::add_sketch(i64 file, std::string_view text) {
  const Section& section = header_->sections[kTextsSection];
  i64& kept = sketches_[static_cast<std::size_t>(file)];
  if (kept >= kSketchesKept || section.count > section.capacity / 2) return;
  ++kept;
  add_text(file, TextKind::kSketch, std::to_string(records<FileRecord>(kFilesSection)[file].totals.opens) + " " + std::string(text));
}

bool Recorder::add_text(i64 file, TextKind kind, std::string_view text) {
  std::string key = std::to_string(static_cast<int>(kind)) + " " + std::to_string(file) + " ";
  key += text;
  Section& section = header_->sections[kTextsSection];
  char* heap = records<char>(kTextsSection);
  auto found = texts_.find(key);
  if (found == texts_.end()) {
    const i64 needed = static_cast<i64>(sizeof(TextRecord)) + padded(static_cast<i64>(text.size()));
    if (section.count + needed > section.capacity || (kind == TextKind::kPlan && plans_kept_ >= kPlansKept)) {
      ++header_->texts_left_out;
      return false;
    }
    const TextRecord record{kind, static_cast<std::int32_t>(file), 0, static_cast<i64>(text.size())};
    std::memcpy(heap + section.count, &record, sizeof record);
    if (!text.empty()) std::memcpy(heap + section.count + sizeof record, text.data(), text.size());
    found = texts_.emplace(std::move(key), section.count).first;
    plans_kept_ += kind == TextKind::kPlan ? 1 : 0;
    section.count += needed;
  }
  ++reinterpret_cast<TextRecord*>(heap + found->second)->count;
  return true;
}

i64 Recorder::call_number(i64 file, std::string_view name) {
  const auto found = calls_.find(name.data());
  if (found != calls_.end()) return found->second;
  const auto [named, fresh] = call_names_.emplace(name, 0);  // it stays 0 where there is no room for the name
  if (fresh && add_text(file, TextKind::kCall, name)) named->second = ++calls_named_;
  calls_.emplace(name.data(), named->second);
  return named->second;
}

// Every so many times the clock is read before and after: what recording costs the program between its calls, which is no
// time of the run without it.
class Recorder::OwnTime {
 public:
  explicit OwnTime(Recorder& recorder) : recorder_(recorder), start_ns_(recorder.samples_++ % kEvery == 0 ? now_ns() : 0) {}
  ~OwnTime() {
    if (start_ns_ > 0) recorder_.header_->own_ns += kEvery * (now_ns() - start_ns_);
  }
  OwnTime(const OwnTime&) = delete;
  OwnTime& operator=(const OwnTime&) = delete;

 private:
  static constexpr i64 kEvery = 61;
  Recorder& recorder_;
  const i64 start_ns_;
};

void Recorder::record(i64 file, const TraceEvent& event) {
  std::lock_guard lock(mutex_);
  std::optional<OwnTime> own;
  if (event.kind == TraceKind::kAccess) own.emplace(*this);
  FileTotals& totals = records<FileRecord>(kFilesSection)[file].totals;
  const i64 ns = event.end_ns - event.start_ns;
  const i64 at = event.start_ns - steady_start_ns_;
  header_->last_ns = std::max(header_->last_ns, event.end_ns - steady_start_ns_);
  if (totals.first_ns == 0) totals.first_ns = std::max<i64>(1, at);
  totals.last_ns = std::max(totals.last_ns, event.end_ns - steady_start_ns_);
  const auto place = static_cast<std::size_t>(file);
  switch (event.kind) {
    case TraceKind::kOpen:
      ++totals.opens, totals.open_ns += ns;
      break;
    case TraceKind::kClose:
      ++totals.closes, totals.close_ns += ns;
      totals.shortest_close_ns = std::min(totals.closes == 1 ? ns : totals.shortest_close_ns, std::max<i64>(1, ns));
      break;
    case TraceKind::kSync:
      ++totals.syncs, totals.sync_ns += ns;
      totals.idle_syncs += changed_[place] ? 0 : 1;
      changed_[place] = false;
      break;
    case TraceKind::kBlocked:
      totals.blocked_ns += ns;
      break;
    case TraceKind::kLock:
      ++totals.locks, totals.lock_ns += ns;
      break;
    case TraceKind::kPlan:
      ++totals.plans, totals.plans_reused += event.detail.empty() ? 1 : 0;
      if (!event.detail.empty()) add_text(file, TextKind::kPlan, event.detail);
      return;
    case TraceKind::kStorageRead:
    case TraceKind::kStorageWrite:
      add_storage(totals, event);
      break;
    case TraceKind::kAbsorbedRead:
    case TraceKind::kAbsorbedWrite:
      totals.storage[event.kind == TraceKind::kAbsorbedWrite ? 1 : 0].absorbed_calls += event.pieces;
      totals.storage[event.kind == TraceKind::kAbsorbedWrite ? 1 : 0].unused_bytes += event.bytes;
      return;
    case TraceKind::kAccess:
      add_access(file, event);
      break;
    case TraceKind::kCollective:
      return;  // its access says it
    default:
      break;
  }
  keep(file, event);
}

void Recorder::add_storage(FileTotals& totals, const TraceEvent& event) {
  StorageTotals& part = totals.storage[event.kind == TraceKind::kStorageWrite ? 1 : 0];
  const i64 ns = event.end_ns - event.start_ns;
  const i64 unit = totals.stripe_bytes > 0 ? totals.stripe_bytes : totals.block_bytes;
  ++part.calls;
  part.bytes += event.bytes;
  part.span_bytes += event.span;
  part.pieces += event.pieces;
  part.ns += ns;
  if (event.bytes < kSmallBytes) ++part.small_calls;
  if (event.bytes >= kSmallBytes * std::max<i64>(1, event.pieces)) part.large_bytes += event.bytes, part.large_ns += ns;
  part.misaligned_calls += unit > 0 && event.offset % unit != 0 ? 1 : 0;
  part.longest_ns = std::max(part.longest_ns, ns);
  ++part.sizes[static_cast<std::size_t>(size_bucket(event.bytes))];
}

void Recorder::add_access(i64 file, const TraceEvent& event) {
  FileTotals& totals = records<FileRecord>(kFilesSection)[file].totals;
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
  const i64 between = event.start_ns - last_end_ns_[place];
  if (between > 0 && between < kBetweenNs) totals.between_ns += between;
  last_end_ns_[place] = event.end_ns;
  if (!facts.waited) ++totals.unwaited_calls, totals.unwaited_ns += ns;
  if (event.offset >= 0) {
    next_offset_[place] = facts.end_offset;
    part.begin_place = part.begin_place == 0 ? event.offset + 1 : std::min(part.begin_place, event.offset + 1);
    part.end_place = std::max(part.end_place, facts.end_offset + 1);
  }
  totals.end_offset = std::max(totals.end_offset, facts.end_offset);
  if (facts.direction == Direction::kWrite && event.bytes > 0) changed_[place] = true;
  add_to_bins(event);
}

// Bytes and time of an access are spread evenly over the bins it touches. A run that outlasts the bins gets them twice
// as wide.
void Recorder::add_to_bins(const TraceEvent& event) {
  Section& section = header_->sections[kBinsSection];
  TimeBin* bins = records<TimeBin>(kBinsSection);
  const i64 begin = std::max<i64>(0, event.start_ns - steady_start_ns_);
  const i64 end = std::max(begin + 1, event.end_ns - steady_start_ns_);
  i64 final_bin = (end - 1) / header_->bin_ns;
  for (; final_bin >= section.capacity; final_bin /= 2) {
    for (i64 i = 0; i < section.capacity; ++i) {
      TimeBin sum;
      for (i64 from = 2 * i; from < std::min(2 * i + 2, section.count); ++from) {
        for (std::size_t way = 0; way < 2; ++way) {
          sum.bytes[way] += bins[from].bytes[way];
          sum.ns[way] += bins[from].ns[way];
        }
      }
      bins[i] = sum;
    }
    section.count = (section.count + 1) / 2;
    header_->bin_ns *= 2;
  }
  const std::size_t way = event.access->direction == Direction::kWrite ? 1 : 0;
  const i64 width = header_->bin_ns;
  i64 left = event.bytes;
  for (i64 bin = begin / width; bin <= final_bin; ++bin) {
    const i64 inside = std::min(end, (bin + 1) * width) - std::max(begin, bin * width);
    const bool last = bin == final_bin;
    const i64 share = last ? left
                           : static_cast<i64>(static_cast<double>(event.bytes) * static_cast<double>(inside) /
                                              static_cast<double>(end - begin));
    bins[bin].bytes[way] += share;
    bins[bin].ns[way] += inside;
    left -= share;
  }
  section.count = std::max(section.count, final_bin + 1);
}

void Recorder::thin_out() {
  Section& section = header_->sections[kEventsSection];
  EventRecord* events = records<EventRecord>(kEventsSection);
  for (i64 i = 0; 2 * i < section.count; ++i) events[i] = events[2 * i];
  section.count = (section.count + 1) / 2;
  header_->event_stride *= 2;
}

void Recorder::keep(i64 file, const TraceEvent& event) {
  const i64 number = header_->events_seen++;
  if (number % header_->event_stride != 0) return;
  Section& section = header_->sections[kEventsSection];
  if (section.capacity == 0) return;
  if (section.count == section.capacity) {
    thin_out();
    if (number % header_->event_stride != 0) return;
  }
  EventRecord record;
  record.start_ns = event.start_ns - steady_start_ns_;
  record.ns = event.end_ns - event.start_ns;
  record.bytes = event.bytes;
  record.offset = event.offset;
  record.span = event.access && event.offset >= 0 ? event.access->end_offset - event.offset : event.span;
  record.pieces = static_cast<std::uint32_t>(std::min<i64>(event.pieces, UINT32_MAX));
  record.file = static_cast<std::int16_t>(file);
  record.kind = static_cast<std::uint8_t>(event.kind);
  if (event.kind == TraceKind::kAccess) record.call = static_cast<std::uint8_t>(call_number(file, event.detail));
  records<EventRecord>(kEventsSection)[section.count++] = record;
}

i64 Recorder::shape(const std::string& key, const TraceSink::ShapeMaker& make) {
  std::lock_guard lock(mutex_);
  Section& section = header_->sections[kShapesSection];
  if (section.capacity == 0) return kNoShape;
  if (const auto known = shapes_.find(key); known != shapes_.end()) return known->second;
  const i64 room = (section.capacity - section.count) / 8 * 8 - static_cast<i64>(sizeof(TextRecord));
  const std::optional<std::vector<std::byte>> text = room >= 0 ? make(room) : std::nullopt;
  if (!text || static_cast<i64>(text->size()) > room) {
    ++header_->shapes_left_out;
    shapes_.emplace(key, kNoShape);
    return kNoShape;
  }
  const i64 size = static_cast<i64>(text->size()), needed = static_cast<i64>(sizeof(TextRecord)) + padded(size);
  char* heap = records<char>(kShapesSection) + section.count;
  const TextRecord record{TextKind::kShape, -1, 1, size};
  std::memcpy(heap, &record, sizeof record);
  if (size > 0) std::memcpy(heap + sizeof record, text->data(), text->size());
  section.count += needed;
  const i64 number = shapes_kept_++;
  shapes_.emplace(key, number);
  return number;
}

bool Recorder::continues(const StepRecord& last, const StepRecord& next) const {
  const auto kind = static_cast<StepKind>(next.kind);
  if (kind == StepKind::kOpen || kind == StepKind::kView || kind == StepKind::kClose) return false;
  if (last.kind != next.kind || last.flags != next.flags || last.open != next.open || last.bytes != next.bytes) return false;
  const i64 stride = last.repeats == 1 ? next.offset - last.offset : last.stride;
  return last.repeats < UINT32_MAX && next.offset == last.offset + stride * i64{last.repeats};
}

// A loop that walks through the file is one record.
void Recorder::step(i64 file, i64 open, const TraceStep& step) {
  std::lock_guard lock(mutex_);
  const OwnTime own(*this);
  Section& section = header_->sections[kStepsSection];
  if (section.capacity == 0) return;
  StepRecord record;
  record.offset = step.offset;
  record.bytes = step.bytes;
  record.open = static_cast<std::uint32_t>(open);
  record.shape = static_cast<std::int32_t>(step.shape);
  record.file = static_cast<std::int16_t>(file);
  record.kind = static_cast<std::uint8_t>(step.kind);
  record.flags = static_cast<std::uint8_t>((step.write ? kStepWrite : 0) | (step.collective ? kStepCollective : 0) |
                                           static_cast<int>(step.form) << 2);
  const i64 at = step.start_ns - steady_start_ns_;
  if (step.start_ns > 0 && at > header_->last_ns) record.think_ns = at - header_->last_ns;
  StepRecord* steps = records<StepRecord>(kStepsSection);
  const bool described = (step.kind != StepKind::kOpen && step.kind != StepKind::kView) || step.shape != kNoShape;
  if (header_->steps_left_out > 0 || !described) {
    ++header_->steps_left_out;
  } else if (section.count > 0 && continues(steps[section.count - 1], record)) {
    StepRecord& last = steps[section.count - 1];
    if (last.repeats++ == 1) last.stride = record.offset - last.offset;
    last.think_ns += record.think_ns;
  } else if (section.count < section.capacity) {
    steps[section.count++] = record;
  } else {
    ++header_->steps_left_out;
  }
}

void Recorder::waited() {
  TraceStep waited;
  waited.kind = StepKind::kWait;
  step(-1, 0, waited);
}

std::vector<std::byte> Recorder::snapshot(const PieceLimits& limits) const {
  std::lock_guard lock(mutex_);
  return trimmed(ConstBytes(base_, static_cast<std::size_t>(bytes_)), limits);
}

}  // namespace mercutio
