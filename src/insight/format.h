// What a trace file holds (docs/engineers/trace.md): for every rank a piece, which is a header and sections of records
// of fixed sizes. A running process has its piece mapped and changes it in place, so what it did is in the file however
// it ends. A finished trace is a container: pieces one after the other, each cut down to what is used.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/core_time.h"
#include "insight/totals.h"

namespace mercutio {

inline constexpr std::array<char, 8> kPieceMagic = {'M', 'E', 'R', 'C', 'T', 'R', 'C', '1'};
inline constexpr i64 kTraceVersion = 15;

enum SectionKind { kFilesSection, kTextsSection, kBinsSection, kEventsSection, kStepsSection, kShapesSection, kMapsSection, kSections };

struct Section {
  i64 offset = 0;        // in the piece
  i64 record_bytes = 0;  // 1 for texts and shapes
  i64 count = 0, capacity = 0;
};

struct PieceHeader {
  std::array<char, 8> magic = kPieceMagic;
  i64 version = kTraceVersion;
  i64 piece_bytes = 0;
  i64 rank = 0, ranks = 1, process = 0;
  i64 wall_start_ns = 0;  // since 1970; the steady times of all else are relative to the same moment
  i64 end_ns = 0;         // 0: the process has not reached its end
  i64 last_ns = 0;        // of the last thing that was recorded
  i64 events_seen = 0;
  i64 calls_per_kept = 1;  // the events of one call in this many are kept (kept_of)
  i64 bin_ns = 0;          // width of a time bin
  i64 files_left_out = 0;  // opens of files beyond the table's capacity; their totals are in entries of name patterns
  i64 texts_left_out = 0;
  i64 steps_left_out = 0;  // calls after the last step: once one finds no room, none is kept any more
  i64 shapes_left_out = 0;
  i64 own_ns = 0;          // that recording took between the program's calls, from a sample
  CoreTime cores;          // of the thread that called MPI_Init, until MPI_Finalize; zeros: not known
  i64 host_cores = 0;      // that the host has for everybody; 0: not known
  std::array<Section, kSections> sections{};
  std::array<char, 64> host{};
  std::array<char, 192> program{};
  i64 members = 1;         // ranks whose records are here together (piece_merge.h); `rank` is the lowest of them
  i64 first_rank = 0;      // from which EventRecord::member counts
  std::array<i64, 2> busy_ns{};  // at least one access was going on that read, that wrote; 0: not known
  i64 held_ns = 0;         // I/O held at least one thread; 0: not known
  i64 job = 0;             // the same on all its ranks; not above 0: they have not agreed on one (Recorder::job)
  i64 failed_opens = 0, failed_open_ns = 0;
  std::array<char, 192> failed_open{};  // the first one: why, and the file's name
};

// A file, or all files beyond the table whose names have the same pattern (name_patterns.h).
struct FileRecord {
  std::array<char, 256> name{};  // its end, where it is longer
  std::array<char, 64> amode{};
  std::array<char, 32> file_system{};
  std::array<char, 32> library{};  // above MPI-IO
  i64 is_pattern = 0;
  FileTotals totals;
};

enum class TextKind : std::int32_t { kCall, kPlan, kHints, kNotes, kSketch, kShape, kRun, kAdapted };

// Followed by its characters, filled up to a multiple of 8 bytes.
struct TextRecord {
  TextKind kind = TextKind::kCall;
  std::int32_t file = -1;
  i64 count = 0;  // how often it was said
  i64 bytes = 0;
};

struct TimeBin {
  std::array<i64, 2> bytes{}, ns{};  // read, write: of accesses
  std::array<i64, 2> storage_ns{};   // of storage requests
  i64 files_ns = 0;                  // opening, closing, synchronising
  void add(const TimeBin& other);
  bool operator==(const TimeBin&) const = default;
};

// Makes bins twice as wide; returns how many there are then.
i64 widen_bins(std::span<TimeBin> bins);

struct EventRecord {
  i64 start_ns = 0, ns = 0;
  i64 bytes = 0, offset = -1, span = 0;
  std::uint32_t pieces = 1;
  std::uint32_t group = 0;  // the same for a call and all that belongs to it
  std::int32_t file = -1;
  std::uint8_t kind = 0;  // TraceKind
  std::uint8_t call = 0;  // index of its name among the texts of kind kCall
  std::uint16_t member = 0;  // rank, from the piece's first_rank on
};
static_assert(sizeof(EventRecord) == 56);

// Where there are too many events, whole calls are left out. Those of a file are numbered in their order, which is the same on all
// ranks that make the same calls; multiples of the golden ratio (Knuth, 6.4) spread any run of consecutive numbers evenly, so that
// what is kept has no period in common with what the program does.
inline constexpr std::uint32_t kGoldenRatio = 0x9E3779B9;
inline constexpr i64 kMostCallsPerKept = i64{1} << 32;
// `calls_per_kept` is a power of two.
inline constexpr bool kept_of(std::uint32_t group, i64 calls_per_kept) {
  return i64{group} < kMostCallsPerKept / calls_per_kept;
}
inline constexpr i64 kMostOfCall = 4096;  // events of a call that are kept; of more, fewer and fewer

// Which part of a file a rank accessed: bytes by place. A file that outgrows the cells gets them twice as large.
inline constexpr std::size_t kCells = 256;
inline constexpr i64 kLeastCellBytes = 256, kMostCellBytes = INT64_MAX / static_cast<i64>(kCells) + 1;   // a map of the largest file
struct MapRecord {
  i64 file = -1;
  i64 cell_bytes = kLeastCellBytes;
  std::array<std::array<i64, kCells>, 2> bytes{};  // asked for by the program's accesses; carried by requests to the storage

  // `bytes` evenly from `begin` to `end`.
  void add(std::size_t map_kind, i64 bytes, i64 begin, i64 end);
  void add(const MapRecord& other);
  void enlarge_cells();
};

// Calls of one kind on one open file, each `stride` behind the one before. Shapes are texts of a section of their own.
struct StepRecord {
  i64 offset = 0, bytes = 0, stride = 0;
  i64 think_ns = 0;  // all pauses of the program before these calls
  std::uint32_t repeats = 1;
  std::uint32_t open = 0;   // number of the open on this rank
  std::int32_t shape = -1;  // number among this rank's shapes
  std::int16_t file = -1;
  std::uint8_t kind = 0;   // StepKind
  std::uint8_t flags = 0;  // kStepWrite, kStepCollective, StepForm << 2
};
static_assert(sizeof(StepRecord) == 48);
static_assert(std::is_trivially_copyable_v<PieceHeader> && std::is_trivially_copyable_v<EventRecord> &&
              std::is_trivially_copyable_v<StepRecord> && std::is_trivially_copyable_v<MapRecord>);   // in files as they are
inline constexpr std::uint8_t kStepWrite = 1, kStepCollective = 2;

// How many records of a table are for patterns.
inline constexpr i64 pattern_records(i64 records) { return std::max<i64>(2, records / 5); }
// The text in `target`, or the end of it in whole characters: the end of a path says more.
void put_text(std::span<char> target, std::string_view text);
std::string_view text_in(std::span<const char> text);

// How many records and bytes of each part a piece has room for.
struct PieceLimits {
  i64 files = 160, events = 131072, steps = 65536, shape_bytes = 512 * KiB, maps = 64, text_bytes = 256 * KiB, bins = 1024;
};
// The budget of a piece that is recorded into, divided among its parts.
PieceLimits limits_of(i64 bytes);
// The same for a sound piece whose contents are known: what one part does not need is left to the others. Never more than it has.
PieceLimits limits_within(ConstBytes piece, i64 bytes);
// A sound piece, cut down to what is used: files beyond the limit become patterns, bins become wider, of the events whole calls are left
// out, of the texts the sketches go first, of the steps and maps the first are kept.
std::vector<std::byte> trimmed(ConstBytes piece, const PieceLimits& limits);

}  // namespace mercutio
