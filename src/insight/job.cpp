#include "insight/job.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/file_text.h"
#include "base/trace.h"
#include "insight/name_patterns.h"
#include "insight/older_traces.h"
#include "insight/output_file.h"

namespace mercutio {
namespace {

constexpr i64 kMostNumber = kMostOfRank;      // sums of them hold
constexpr i64 kMostOfRanks = i64{1} << 58;   // the same of those whose records are here together
constexpr std::size_t kEmptyBytes = 4096;    // the places of pieces in a file are multiples of it
constexpr i64 kSameJobNs = 600'000'000'000;  // ranks of one job start within ten minutes

constexpr std::string_view kPieceSuffix = ".piece";

Error damaged(const std::string& what) {
  return Error{ErrorClass::kFile, "not a trace of this version of mercutio, or damaged: " + what};
}

// `known`: of each record, its first bytes, which the trace's version has.
template <class Record>
Status take(ConstBytes piece, const Section& section, std::vector<Record>& records, std::size_t known = sizeof(Record)) {
  const i64 size = static_cast<i64>(piece.size());
  if (section.record_bytes != static_cast<i64>(known)) return damaged("records of another size");
  if (section.offset < 0 || section.count < 0 || section.offset > size ||
      section.count > (size - section.offset) / section.record_bytes)
    return damaged("a section reaches beyond its piece");
  records.resize(static_cast<std::size_t>(section.count));
  const std::byte* const from = piece.data() + section.offset;
  if (section.count > 0 && known == sizeof(Record)) std::memcpy(records.data(), from, records.size() * sizeof(Record));
  for (std::size_t i = 0; known < sizeof(Record) && i < records.size(); ++i) std::memcpy(static_cast<void*>(&records[i]), from + i * known, known);
  return ok_status();
}

Status take_texts(ConstBytes piece, const Section& section, std::vector<TraceText>& texts) {
  std::vector<char> heap;
  MERCUTIO_TRY(take(piece, section, heap));
  for (std::size_t at = 0; at + sizeof(TextRecord) <= heap.size();) {
    TextRecord record;
    std::memcpy(&record, heap.data() + at, sizeof record);
    at += sizeof record;
    if (record.bytes < 0 || record.bytes > static_cast<i64>(heap.size() - at))
      return damaged("a text reaches beyond its section");
    texts.push_back(TraceText{record.kind, record.file, record.count,
                              std::string(heap.data() + at, static_cast<std::size_t>(record.bytes))});
    at += static_cast<std::size_t>((record.bytes + 7) / 8 * 8);
  }
  return ok_status();
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& text) {
  return std::string(text.data(), ::strnlen(text.data(), N));
}

// Places may be anywhere in a file: they are not added up.
bool believable(FileTotals totals, i64 most) {
  const auto place = [](i64& at) { return std::exchange(at, 0) >= 0; };
  bool places = place(totals.end_offset);
  totals.names = DistinctNames();
  for (ClassTotals& part : totals.classes) places = place(part.begin_place) && place(part.end_place) && places;
  const auto numbers = std::bit_cast<std::array<i64, sizeof(FileTotals) / sizeof(i64)>>(totals);
  return places && std::all_of(numbers.begin(), numbers.end(), [most](i64 value) { return value >= -1 && value <= most; });
}

bool believable(const StepRecord& step) {
  i64 way = 0, last = 0;   // from the first call to the last
  return step.repeats > 0 && step.bytes >= 0 && step.think_ns >= 0 && step.kind <= static_cast<int>(StepKind::kClose) &&
         step.flags >> 2 <= static_cast<int>(StepForm::kSplit) && !__builtin_mul_overflow(step.stride, i64{step.repeats} - 1, &way) &&
         !__builtin_add_overflow(step.offset, way, &last) && step.offset >= 0 && last >= 0;
}

bool believable(const MapRecord& map) {
  const auto cell = static_cast<std::uint64_t>(map.cell_bytes);
  const auto fine = [](i64 value) { return value >= 0 && value <= kMostOfRanks; };
  return map.cell_bytes >= kLeastCellBytes && map.cell_bytes <= kMostCellBytes && std::has_single_bit(cell) &&
         std::all_of(map.bytes[0].begin(), map.bytes[0].end(), fine) && std::all_of(map.bytes[1].begin(), map.bytes[1].end(), fine);
}

bool believable(const PieceHeader& header) {
  const auto time = [](i64 ns) { return ns >= 0 && ns <= kMostNumber; };
  const auto sum = [](i64 value) { return value >= 0 && value <= kMostOfRanks; };
  return header.ranks > 0 && header.rank >= 0 && header.rank < header.ranks && header.bin_ns > 0 &&
         header.members > 0 && header.members <= header.ranks - header.rank && header.first_rank >= 0 && header.first_rank <= header.rank && header.calls_per_kept > 0 && header.calls_per_kept <= kMostCallsPerKept && header.wall_start_ns >= 0 && time(header.end_ns) && time(header.last_ns) && time(header.own_ns) &&
         sum(header.cores.ran_ns) && sum(header.cores.queued_ns) && sum(header.cores.turns) && sum(header.busy_ns[0]) && sum(header.busy_ns[1]) && sum(header.held_ns) && time(header.host_cores) && sum(header.failed_opens) && sum(header.failed_open_ns);
}

// Of every version.
constexpr std::size_t kBeginBytes = header_bytes(kOldestVersion);

Result<PieceHeader> header_of(ConstBytes piece) {
  PieceHeader header;
  std::memcpy(static_cast<void*>(&header), piece.data(), kBeginBytes);
  if (header.version < kOldestVersion || header.version > kTraceVersion)
    return damaged("version " + std::to_string(header.version) + "; versions " + std::to_string(kOldestVersion) + " to " +
                   std::to_string(kTraceVersion) + " can be read");
  header.first_rank = header.rank;
  const std::size_t bytes = header_bytes(header.version);
  if (piece.size() < bytes) return damaged("a piece is cut short");
  std::memcpy(static_cast<void*>(&header), piece.data(), bytes);
  return header;
}

Status take_files(ConstBytes piece, const PieceHeader& header, std::vector<FileRecord>& files) {
  const Section& section = header.sections[kFilesSection];
  if (header.version > kLastWithOldTotals) return take(piece, section, files, file_record_bytes(header.version));
  std::vector<OldFileRecord> old;
  MERCUTIO_TRY(take(piece, section, old));
  for (const OldFileRecord& one : old) files.push_back(current(one));
  return ok_status();
}

Result<RankTrace> parse_piece(ConstBytes piece) {
  RankTrace trace;
  MERCUTIO_LET(trace.header, header_of(piece));
  const PieceHeader& header = trace.header;
  if (!believable(header)) return damaged("its header");
  MERCUTIO_TRY(take_files(piece, header, trace.files));
  for (const FileRecord& file : trace.files) {
    if (!believable(file.totals, header.members > 1 ? kMostOfRanks : kMostNumber)) return damaged("totals that can't be");
  }
  MERCUTIO_TRY(take_texts(piece, header.sections[kTextsSection], trace.texts));
  MERCUTIO_TRY(take(piece, header.sections[kBinsSection], trace.bins));
  MERCUTIO_TRY(take(piece, header.sections[kEventsSection], trace.events));
  MERCUTIO_TRY(take(piece, header.sections[kStepsSection], trace.steps));
  MERCUTIO_TRY(take_texts(piece, header.sections[kShapesSection], trace.shapes));
  MERCUTIO_TRY(take(piece, header.sections[kMapsSection], trace.maps));
  for (const MapRecord& map : trace.maps) {
    if (!believable(map)) return damaged("a map that can't be");
  }
  for (const StepRecord& step : trace.steps) {
    if (!believable(step)) return damaged("a step that can't be");
  }
  return trace;
}

// Appends those before the first that is damaged.
Status parse_pieces(ConstBytes bytes, std::vector<RankTrace>& traces) {
  while (bytes.size() >= kBeginBytes) {
    PieceHeader header;
    std::memcpy(static_cast<void*>(&header), bytes.data(), kBeginBytes);
    if (header.magic == std::array<char, 8>{} && bytes.size() >= kEmptyBytes) {   // in a node's file, of a rank that did not begin
      bytes = bytes.subspan(kEmptyBytes);
      continue;
    }
    if (header.magic != kPieceMagic) return damaged("a piece does not begin as pieces do");
    if (header.piece_bytes < static_cast<i64>(kBeginBytes) || header.piece_bytes > static_cast<i64>(bytes.size()))
      return damaged("a piece is cut short");
    MERCUTIO_LET(RankTrace trace, parse_piece(bytes.first(static_cast<std::size_t>(header.piece_bytes))));
    traces.push_back(std::move(trace));
    bytes = bytes.subspan(static_cast<std::size_t>(header.piece_bytes));
  }
  return bytes.empty() ? ok_status() : damaged("a piece is cut short");
}

Status read_pieces(const std::string& path, std::vector<RankTrace>& traces) {
  MERCUTIO_LET(const std::string text, text_of_file(path));
  return parse_pieces(std::as_bytes(std::span(text)), traces);
}

// Fails if none of them can be read.
Result<std::vector<RankTrace>> read_folder(const std::string& path, std::vector<std::string>& notes) {
  std::vector<RankTrace> traces;
  DIR* folder = ::opendir(path.c_str());
  if (!folder) return error_from_errno("opendir", errno);
  std::vector<std::string> names;
  std::string whole;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    if (name.ends_with(kPieceSuffix)) names.push_back(name);
    if (name.ends_with(kTraceSuffix)) whole = std::max(whole, name);
  }
  ::closedir(folder);
  if (names.empty() && !whole.empty()) return Error{ErrorClass::kFile, "holds no pieces of a trace, but a trace that is whole: " + path + "/" + whole};
  Status last = ok_status();
  for (const std::string& name : names) {
    Status read = read_pieces(path + "/" + name, traces);
    if (read) continue;
    notes.push_back("of " + path + "/" + name + " something is left out: " + read.error().what);
    last = std::move(read);
  }
  if (traces.empty() && !last) return last.error();
  return traces;
}

i64 newest_start(const std::vector<RankTrace>& traces) {
  i64 newest = -1;
  for (const RankTrace& one : traces) newest = std::max(newest, one.header.wall_start_ns);
  return newest;
}

// The newest job's, each rank once. Jobs have numbers; a rank that has none yet belongs to it by its start.
void keep_one_job(std::vector<RankTrace>& traces) {
  std::stable_sort(traces.begin(), traces.end(), [](const RankTrace& a, const RankTrace& b) {
    return a.header.wall_start_ns > b.header.wall_start_ns;
  });
  std::set<i64> seen;
  const i64 newest = traces.front().header.wall_start_ns, ranks = traces.front().header.ranks;
  i64 job = 0;
  std::erase_if(traces, [&](const RankTrace& one) {
    const i64 number = std::max<i64>(0, one.header.job);
    const bool same = number > 0 && job > 0 ? number == job : newest - one.header.wall_start_ns <= kSameJobNs;
    if (one.header.ranks != ranks || !same || !seen.insert(one.header.rank).second) return true;
    job = std::max(job, number);
    return false;
  });
}

}  // namespace

Result<std::vector<RankTrace>> parse_trace(ConstBytes bytes) {
  std::vector<RankTrace> traces;
  MERCUTIO_TRY(parse_pieces(bytes, traces));
  return traces;
}

Result<std::vector<RankTrace>> read_trace(const std::string& path, std::vector<std::string>* notes) {
  std::vector<std::string> of_pieces;
  std::vector<RankTrace> traces, pieces;
  struct stat state {};
  const bool there = ::stat(path.c_str(), &state) == 0, folder = there && S_ISDIR(state.st_mode);
  const std::string place = folder ? path : path + ".pieces";
  if (there && !folder) MERCUTIO_TRY(read_pieces(path, traces));
  if (::stat(place.c_str(), &state) == 0) {
    auto read = read_folder(place, of_pieces);
    if (!read && (folder || !there)) return std::move(read).error();
    if (read) pieces = std::move(*read);
    if (!read && of_pieces.empty()) of_pieces.push_back(place + " can't be read, and may be of a later job: " + read.error().what);
  } else if (!there) {
    return Error{ErrorClass::kNoSuchFile, "there is no such trace"};
  }
  const bool newer = newest_start(pieces) > newest_start(traces);
  if (traces.empty() && pieces.empty()) return Error{ErrorClass::kFile, "holds no trace"};
  if (newer && there && !folder) of_pieces.push_back("a later job has not ended, or was killed: this is what it has done, from " + place);
  if ((newer || pieces.empty()) && notes) *notes = std::move(of_pieces);
  if (newer) traces = std::move(pieces);
  if (newer || path.ends_with(kPieceSuffix)) keep_one_job(traces);   // a trace is of one job, whatever its clocks say
  std::sort(traces.begin(), traces.end(), [](const RankTrace& a, const RankTrace& b) { return a.header.rank < b.header.rank; });
  const auto same = [](const RankTrace& a, const RankTrace& b) { return a.header.rank == b.header.rank; };
  if (std::adjacent_find(traces.begin(), traces.end(), same) != traces.end()) return Error{ErrorClass::kFile, "it holds more than one trace; they can't be joined: name each by itself"};
  return traces;
}

i64 JobFile::files() const {
  return different_files(members.empty() ? std::vector<const JobFile*>{this} : members);
}

std::vector<std::string> call_names(const RankTrace& trace) {
  std::vector<std::string> names = {""};
  for (const TraceText& text : trace.texts) {
    if (text.kind == TextKind::kCall) names.push_back(text.text);
  }
  return names;
}

// Patterns don't tell which files of different ranks are the same. Mostly all are, or none: the numbers for both are exact.
i64 different_files(const std::vector<const JobFile*>& files) {
  DistinctNames names;
  i64 counted = 0, patterns = 0;   // counted: by the first rank of each open
  std::vector<i64> of_rank;
  for (const JobFile* file : files) {
    names.add(file->all.names);
    counted += file->is_pattern ? file->all.files : std::min<i64>(1, file->all.files);
    patterns += file->is_pattern ? 1 : 0;
    of_rank.resize(file->by_rank.size());
    for (std::size_t rank = 0; rank < of_rank.size(); ++rank) of_rank[rank] += file->by_rank[rank].opens - file->by_rank[rank].reopens;
  }
  if (patterns == 0) return static_cast<i64>(files.size());
  if (names.none()) return std::max<i64>(1, counted);   // older traces
  constexpr double kSure = 1.3;   // three times the standard error
  const double about = names.count();
  const auto distance = [about](i64 exact) { return std::abs(std::log(about / static_cast<double>(std::max<i64>(1, exact)))); };
  const i64 of_one = of_rank.empty() ? 0 : *std::max_element(of_rank.begin(), of_rank.end());
  const i64 nearest = distance(of_one) < distance(counted) ? of_one : counted;
  return distance(nearest) <= std::log(kSure) ? nearest : std::lround(about);
}

i64 Job::file_count() const {
  std::vector<const JobFile*> all;
  for (const JobFile& file : files) all.push_back(&file);
  return different_files(all);
}

// Of all files, each thread for itself.
static i64 sum_of_held(const RankTrace& trace) {
  i64 sum = trace.header.failed_open_ns;
  for (const FileRecord& file : trace.files) sum += file.totals.held_ns();
  return sum;
}

double JobFile::seconds() const {
  i64 longest = 0;
  for (const FileTotals& one : by_rank) longest = std::max(longest, one.held_ns());
  return static_cast<double>(longest) * 1e-9 * held_part;
}

double Job::held_seconds(std::size_t trace) const {
  const RankTrace& one = traces[trace];
  return static_cast<double>(held_ns_of(one.header, sum_of_held(one))) * 1e-9 / static_cast<double>(one.header.members);
}

i64 held_ns_of(const PieceHeader& header, i64 sum_ns) {
  return header.held_ns > 0 ? header.held_ns : sum_ns;
}

double held_part_of(i64 held_ns, i64 sum_ns) {
  return held_ns > 0 && held_ns < sum_ns ? static_cast<double>(held_ns) / static_cast<double>(sum_ns) : 1;
}

// One of several that did about the same. What they accessed is known from the first byte of any to the last of any; one that accesses
// pieces in a row accesses about as much as it moves.
static FileTotals average_of(FileTotals totals, i64 ranks) {
  if (ranks == 1) return totals;
  totals.multiply(1 / static_cast<double>(ranks));
  for (ClassTotals& part : totals.classes) {
    if (part.begin_place > 0 && 2 * part.strided_calls < part.calls && part.bytes < part.end_place - part.begin_place) part.end_place = part.begin_place + part.bytes;
  }
  return totals;
}

// Of a rank's trace, into its files.
static void add_maps(Job& job, std::size_t rank, const std::vector<std::size_t>& places) {
  for (const MapRecord& map : job.traces[rank].maps) {
    if (map.file < 0 || map.file >= static_cast<i64>(places.size())) continue;
    JobFile& file = job.files[places[static_cast<std::size_t>(map.file)]];
    file.maps.resize(job.traces.size());
    file.maps[rank].add(map);
  }
}

static void make_cells_alike(JobFile& file) {
  i64 largest = 0;
  for (const MapRecord& map : file.maps) largest = std::max(largest, map.cell_bytes);
  for (MapRecord& map : file.maps) {
    while (map.cell_bytes < largest) map.enlarge_cells();
  }
}

static std::vector<std::pair<std::string, std::string>> run_of(const RankTrace& trace) {
  std::vector<std::pair<std::string, std::string>> facts;
  for (const TraceText& text : trace.texts) {
    for (std::size_t at = 0, end = 0; text.kind == TextKind::kRun && at < text.text.size(); at = end + 1) {
      end = std::min(text.text.find('\n', at), text.text.size());
      const std::size_t equals = std::min(text.text.find('=', at), end);
      facts.emplace_back(text.text.substr(at, equals - at), equals < end ? text.text.substr(equals + 1, end - equals - 1) : "");
    }
  }
  return facts;
}

// Which files of the traces are one in the job. Of very many that one trace each has, a file for each process, those with a pattern in common
// are: each file has totals of each trace.
class FileNames {
 public:
  explicit FileNames(const std::vector<RankTrace>& traces) {
    std::unordered_map<std::string, i64> seen;
    for (const RankTrace& trace : traces) {
      for (const FileRecord& file : trace.files) ++seen[text_of(file.name)];
    }
    if (seen.size() * traces.size() <= kMostTotals) return;
    for (const auto& [name, count] : seen) {
      if (count == 1 && !is_other_files(name)) alone_.insert(name);
    }
  }
  bool joins(const std::string& name) const { return alone_.count(name) > 0; }
  std::string key(const std::string& name) const { return joins(name) ? "\n" + pattern_key(name) : record_key(name); }

 private:
  static constexpr std::size_t kMostTotals = 1 << 18;
  std::unordered_set<std::string> alone_;
};

static void add_texts(JobFile& file, const RankTrace& trace, std::size_t slot) {
  for (const TraceText& text : trace.texts) {
    if (text.file != static_cast<i64>(slot) || text.kind == TextKind::kCall || text.kind == TextKind::kSketch || text.kind == TextKind::kRun) continue;
    const auto same = [&](const TraceText& known) { return known.kind == text.kind && known.text == text.text; };
    const auto known = std::find_if(file.texts.begin(), file.texts.end(), same);
    known == file.texts.end() ? file.texts.push_back(text) : void(known->count += text.count);
  }
}

static void add_files(Job& job) {
  const FileNames names(job.traces);
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t rank = 0; rank < job.traces.size(); ++rank) {
    const RankTrace& trace = job.traces[rank];
    std::vector<std::size_t> slots;
    for (std::size_t slot = 0; slot < trace.files.size(); ++slot) {
      const FileRecord& record = trace.files[slot];
      const std::string name = text_of(record.name);
      const auto [found, added] = places.emplace(names.key(name), job.files.size());
      if (added) {
        job.files.push_back(JobFile{name, text_of(record.amode), text_of(record.file_system), text_of(record.library)});
        job.files.back().by_rank.resize(job.traces.size());
      }
      slots.push_back(found->second);
      JobFile& file = job.files[found->second];
      const bool joined = !added && names.joins(name);
      if (joined) file.name = widened_pattern(file.name, name);
      if (!added && is_other_files(name)) file.name = other_files(file.name, name);
      file.is_pattern = file.is_pattern || joined || record.is_pattern != 0;
      file.all.add(record.totals);
      file.by_rank[rank].add(record.totals);
      add_texts(file, trace, slot);
    }
    add_maps(job, rank, slots);
  }
}

static void add_held_part(Job& job) {
  i64 held = 0, sum = 0;
  for (const RankTrace& trace : job.traces) {
    const i64 of_files = sum_of_held(trace);
    held += held_ns_of(trace.header, of_files);
    sum += of_files;
  }
  job.held_part = held_part_of(held, sum);
  for (JobFile& file : job.files) file.held_part = job.held_part;
}

static void add_averages(Job& job) {
  for (JobFile& file : job.files) {
    file.sums = file.by_rank;
    for (std::size_t i = 0; i < job.traces.size(); ++i) file.by_rank[i] = average_of(file.sums[i], job.traces[i].header.members);
    job.hosts = std::max(job.hosts, file.all.nodes);   // of some ranks the host is not known
  }
}

Job job_of(std::vector<RankTrace> traces) {
  Job job;
  job.traces = std::move(traces);
  std::set<std::string> hosts;
  for (const RankTrace& trace : job.traces) {
    job.program = text_of(trace.header.program);
    if (job.run.empty()) job.run = run_of(trace);
    job.ranks = trace.header.ranks;
    job.finished = job.finished && trace.header.end_ns > 0;
    job.known_ranks += trace.header.members;
    if (const double seconds = static_cast<double>(trace.end_ns()) * 1e-9; seconds > job.seconds) {
      job.seconds = seconds;
      job.recording = std::min(static_cast<double>(trace.header.own_ns) * 1e-9, seconds);
    }
    hosts.insert(text_of(trace.header.host));
    job.cores.ran_ns += trace.header.cores.ran_ns;
    job.cores.queued_ns += trace.header.cores.queued_ns;
    job.cores.turns += trace.header.cores.turns;
    job.host_cores = std::max(job.host_cores, trace.header.host_cores);
  }
  job.host_names.assign(hosts.begin(), hosts.end());
  job.hosts = static_cast<i64>(hosts.size());
  job.finished = job.finished && job.known_ranks == job.ranks;
  add_files(job);
  add_held_part(job);
  if (!job.single_ranks()) add_averages(job);
  for (JobFile& file : job.files) make_cells_alike(file);
  std::stable_sort(job.files.begin(), job.files.end(),
                   [](const JobFile& a, const JobFile& b) { return a.seconds() > b.seconds(); });
  return job;
}

}  // namespace mercutio
