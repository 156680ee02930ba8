#include "insight/recorder.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/utf8.h"
#include "insight/name_patterns.h"
#include "insight/recorder_time.h"

namespace mercutio {
namespace {

constexpr i64 kPlansKept = 256;    // distinct ones; those beyond are counted only
constexpr i64 kNamesKept = 65536;  // hashes of them, of files beyond the table

class FileSink final : public TraceSink {
 public:
  // `first`: nothing is known yet of the file's hints.
  FileSink(Recorder& recorder, i64 file, i64 open, bool first) : recorder_(recorder), file_(file), open_(open), first_(first) {}
  void record(const TraceEvent& event) override { recorder_.record(file_, event); }
  void note(std::string_view what, std::string_view text) override {
    const TextKind kind = what == "hints"     ? TextKind::kHints
                          : what == "sketch"  ? TextKind::kSketch
                          : what == "adapted" ? TextKind::kAdapted
                                              : TextKind::kNotes;
    recorder_.note(file_, kind, text);
  }

  bool keeps_steps() const override { return recorder_.keeps_steps(); }
  bool wants_hints() const override { return first_; }
  void step(const TraceStep& step) override { recorder_.step(file_, open_, step); }
  i64 shape(const std::string& key, const ShapeMaker& make) override {
    return recorder_.shape(key, make);
  }

 private:
  Recorder& recorder_;
  i64 file_, open_;
  bool first_;
};

class NoSink final : public TraceSink {
 public:
  bool keeps_steps() const override { return false; }
  bool keeps_texts() const override { return false; }
  bool wants_hints() const override { return false; }
  void record(const TraceEvent&) override {}
};

i64 round_up_to_words(i64 bytes) {
  return (bytes + 7) / 8 * 8;
}

// The same on all ranks (FNV-1a).
std::uint32_t hash_of_name(std::string_view name) {
  std::uint32_t hash = 2166136261;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return hash;
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
                                                             {1, options.shape_bytes},
                                                             {sizeof(MapRecord), options.maps}}};
  bytes = round_up_to_words(sizeof(PieceHeader));
  for (std::size_t i = 0; i < kSections; ++i) {
    sections[i] = Section{bytes, sizes[i].first, 0, sizes[i].second};
    bytes += round_up_to_words(sizes[i].first * sizes[i].second);
  }
  return sections;
}

}  // namespace

void RecorderOptions::limit(const PieceLimits& limits) {
  files = limits.files, text_bytes = limits.text_bytes, bins = limits.bins, events = limits.events;
  steps = limits.steps, shape_bytes = limits.shape_bytes, maps = limits.maps;
}

Result<std::unique_ptr<Recorder>> Recorder::make(const RecorderOptions& options) {
  i64 bytes = 0;
  (void)sections_of(options, bytes);
  MERCUTIO_LET(MappedPiece piece, map_piece(options.piece_path, bytes));
  return std::unique_ptr<Recorder>(new Recorder(std::move(piece), options));
}

Recorder::Recorder(MappedPiece piece, const RecorderOptions& options)
    : piece_(std::move(piece)), base_(piece_.base), header_(new (base_) PieceHeader), steady_start_ns_(now_ns()), start_ticks_(ticks()), opened_by_(options.opened_by), sampled_(options.sampled), core_time_at_start_(core_time_of_this_thread()) {
  i64 needed = 0;
  header_->sections = sections_of(options, needed);
  header_->piece_bytes = piece_.bytes;
  header_->rank = header_->first_rank = options.rank;
  header_->ranks = options.ranks;
  header_->process = ::getpid();
  header_->wall_start_ns = wall_ns();
  header_->bin_ns = 1'000'000;
  header_->job = -1 - static_cast<i64>(random_number() >> 2);
  char host[64] = "";
  ::gethostname(host, sizeof host - 1);
  put_text(header_->host, host);
  put_text(header_->program, program_name());
  next_offset_.resize(static_cast<std::size_t>(options.files), -1);
  last_end_ns_.resize(static_cast<std::size_t>(options.files), 0);
  changed_.resize(static_cast<std::size_t>(options.files), false);
  sketches_.resize(static_cast<std::size_t>(options.files), 0);
  maps_.resize(static_cast<std::size_t>(options.files), -1);
  calls_of_.resize(static_cast<std::size_t>(options.files));
}

Recorder::~Recorder() {
  ::munmap(base_, static_cast<std::size_t>(piece_.bytes));
}

void Recorder::finish() {
  std::lock_guard lock(mutex_);
  const bool again = header_->end_ns > 0;
  header_->end_ns = std::max<i64>(1, now_ns() - steady_start_ns_);
  header_->cores = core_time_of_this_thread().since(core_time_at_start_);
  header_->host_cores = std::max<i64>(0, ::sysconf(_SC_NPROCESSORS_ONLN));
  if (!again) add_lost_cores();
}

// Of short calls one in many is timed, and most of these kept their core. In the others, the thread had none for its part of the time in which it
// had none at all. Of questions for the size only: of settings, few are so short.
void Recorder::add_lost_cores() {
  const double queued = static_cast<double>(header_->cores.queued_ns), ran = static_cast<double>(header_->cores.ran_ns);
  if (ran <= 0) return;
  FileRecord* const files = records<FileRecord>(kFilesSection);
  for (i64 file = 0; file < header_->sections[kFilesSection].count; ++file) {
    FileTotals& totals = files[file].totals;
    const i64 before = header_->held_ns;
    add_held(static_cast<i64>(queued * std::min(1.0, static_cast<double>(totals.size_ns) / ran)));
    totals.size_ns += header_->held_ns - before;
  }
}

i64 Recorder::singles() const {
  const i64 capacity = header_->sections[kFilesSection].capacity;
  return capacity - pattern_records(capacity);
}

i64 Recorder::slot_of(const FileFacts& facts, const std::string& library) {
  Section& section = header_->sections[kFilesSection];
  const auto known = slots_.find(facts.name);
  const bool single = known != slots_.end() || static_cast<i64>(slots_.size()) < singles();
  const i64 slot = known != slots_.end() ? known->second : single ? static_cast<i64>(slots_.size()) : pattern_slot(facts);
  FileRecord& record = records<FileRecord>(kFilesSection)[slot];
  if (section.count <= slot) calls_of_[static_cast<std::size_t>(slot)].first = hash_of_name(facts.name);
  if (single) {
    put_text(record.name, recorded_name(facts.name, record.name.size() - 1));
    slots_.emplace(facts.name, slot);
  }
  put_text(record.amode, facts.amode);
  put_text(record.file_system, facts.file_system);
  put_text(record.library, library);
  FileTotals& totals = record.totals;
  totals.block_bytes = facts.block_bytes;
  totals.stripe_bytes = facts.stripe_bytes;
  totals.stripe_count = facts.stripe_count;
  totals.first_server = facts.first_server;
  section.count = std::max(section.count, slot + 1);
  return slot;
}

// Patterns for which there is no room left share the last record.
i64 Recorder::pattern_slot(const FileFacts& facts) {
  const Section& section = header_->sections[kFilesSection];
  ++header_->files_left_out;
  const std::string key = pattern_key(facts.name);
  const auto known = patterns_.find(key);
  const bool fresh = known == patterns_.end(), room = section.count < section.capacity;
  const i64 slot = !fresh ? known->second : room ? section.count : section.capacity - 1;
  if (fresh && room) patterns_.emplace(key, slot);
  FileRecord& record = records<FileRecord>(kFilesSection)[slot];
  const bool mixed = (fresh && !room) || is_other_files(text_in(record.name));
  const std::string name = recorded_name(facts.name, record.name.size() - 1);
  put_text(record.name, mixed ? other_files(text_in(record.name), name) : fresh ? name : widened_pattern(text_in(record.name), name));
  record.is_pattern = 1;
  return slot;
}

// Beyond this number of files nothing is known to be opened again.
bool Recorder::opened_before(const FileFacts& facts) {
  if (slots_.count(facts.name) > 0) return true;
  if (static_cast<i64>(slots_.size()) < singles()) return false;
  const std::size_t hash = std::hash<std::string>()(facts.name);
  return static_cast<i64>(others_.size()) < kNamesKept ? !others_.insert(hash).second : others_.count(hash) > 0;
}

// To look at the stack takes as long as some opens do, so it is looked at once for a pattern, and where there are very many of them once for a
// folder and ending.
std::string Recorder::library_of(const FileFacts& facts) {
  constexpr std::size_t kPatternsKept = 256;
  if (!opened_by_) return "";
  std::string key = pattern_key(facts.name);
  std::lock_guard lock(mutex_);
  if (libraries_.size() >= kPatternsKept && libraries_.count(key) == 0) key = other_files(key, key);
  const auto known = libraries_.find(key);
  if (known != libraries_.end()) return known->second;
  const std::string library = opened_by_();
  if (libraries_.size() < 2 * kPatternsKept) libraries_.emplace(std::move(key), library);
  return library;
}

std::unique_ptr<TraceSink> Recorder::file(const FileFacts& facts) {
  const std::string library = library_of(facts);
  if (library == kTool) return std::make_unique<NoSink>();
  std::lock_guard lock(mutex_);
  const bool again = opened_before(facts);
  const i64 slot = slot_of(facts, library);
  FileTotals& totals = records<FileRecord>(kFilesSection)[slot].totals;
  totals.reopens += again ? 1 : 0;
  totals.files += !again && facts.rank == 0 ? 1 : 0;
  if (!again) totals.names.add(facts.name);
  totals.ranks = std::max(totals.ranks, facts.ranks);
  totals.nodes = std::max(totals.nodes, facts.nodes);
  next_offset_[static_cast<std::size_t>(slot)] = -1;
  last_end_ns_[static_cast<std::size_t>(slot)] = 0;
  const bool first = !again && records<FileRecord>(kFilesSection)[slot].is_pattern == 0;
  if (sampled_) return make_sampled_sink(*this, slot, first);
  return std::make_unique<FileSink>(*this, slot, opens_++, first);
}

void Recorder::note_run(std::string_view facts) {
  std::lock_guard lock(mutex_);
  add_text(-1, TextKind::kRun, facts);
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
    const i64 needed = static_cast<i64>(sizeof(TextRecord)) + round_up_to_words(static_cast<i64>(text.size()));
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

i64 Recorder::shape(const std::string& key, const TraceSink::ShapeMaker& make) {
  std::lock_guard lock(mutex_);
  Section& section = header_->sections[kShapesSection];
  if (section.capacity == 0 || header_->steps_left_out > 0) return kNoShape;   // no step is kept any more that could need it
  if (const auto known = shapes_.find(key); known != shapes_.end()) return known->second;
  const i64 room = (section.capacity - section.count) / 8 * 8 - static_cast<i64>(sizeof(TextRecord));
  const std::optional<std::vector<std::byte>> text = room >= 0 ? make(room) : std::nullopt;
  if (!text || static_cast<i64>(text->size()) > room) {
    ++header_->shapes_left_out;
    shapes_.emplace(key, kNoShape);
    return kNoShape;
  }
  const i64 size = static_cast<i64>(text->size()), needed = static_cast<i64>(sizeof(TextRecord)) + round_up_to_words(size);
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
  i64 way = 0, place = 0;   // from the first offset on
  return last.repeats < UINT32_MAX && !__builtin_mul_overflow(stride, i64{last.repeats}, &way) && !__builtin_add_overflow(last.offset, way, &place) &&
         next.offset == place;
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
  if (step.start_ns > 0 && at > idle_since_ns_) record.think_ns = at - std::exchange(idle_since_ns_, at);
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

// One wait may be for several accesses: its time counts once.
void Recorder::waited(std::string_view name, i64 start_ns, i64 end_ns) {
  if (keeps_steps()) {
    TraceStep waited;
    waited.kind = StepKind::kWait;
    waited.start_ns = start_ns;
    step(-1, 0, waited);
  }
  i64 slot = -1;
  {
    std::lock_guard lock(mutex_);
    start_ns = std::max(start_ns, waited_until_ns_);
    if (end_ns > start_ns) slot = known_slot(std::string(name)), waited_until_ns_ = end_ns;
  }
  if (slot >= 0) record(slot, TraceEvent{TraceKind::kBlocked, start_ns, end_ns});
}

// Of a file that was opened before, or its pattern; -1: of none, as those of tools.
i64 Recorder::known_slot(const std::string& name) const {
  if (const auto known = slots_.find(name); known != slots_.end()) return known->second;
  const auto known = patterns_.find(pattern_key(name));
  return known != patterns_.end() ? known->second : -1;
}

void Recorder::open_failed(std::string_view name, std::string_view why, i64 start_ns) {
  std::lock_guard lock(mutex_);
  const i64 end_ns = now_ns(), ns = end_ns - start_ns;
  if (header_->failed_opens++ == 0) {
    // Without what to do about it, and on which rank it was.
    const std::string_view cause = first_bytes(why.substr(0, std::min(why.find("; "), why.find(" (rank "))), 96);
    const std::size_t room = header_->failed_open.size() - 1 - cause.size() - 2;
    const bool fits = name.size() <= room;
    put_text(header_->failed_open, std::string(cause) + (fits ? ": " : ": ...") + std::string(fits ? name : last_bytes(name, room - 3)));
  }
  header_->failed_open_ns += ns;
  header_->last_ns = std::max(header_->last_ns, end_ns - steady_start_ns_);
  add_held(held_.add(start_ns, end_ns));
}

std::vector<std::byte> Recorder::snapshot(const PieceLimits& limits) const {
  std::lock_guard lock(mutex_);
  return trimmed(ConstBytes(base_, static_cast<std::size_t>(piece_.bytes)), limits);
}

std::vector<std::byte> Recorder::snapshot_within(i64 bytes) const {
  std::lock_guard lock(mutex_);
  const ConstBytes piece(base_, static_cast<std::size_t>(piece_.bytes));
  return trimmed(piece, limits_within(piece, bytes));
}

void Recorder::remove_file() const {
  if (!piece_.path.empty()) ::unlink(piece_.path.c_str());
}

}  // namespace mercutio
