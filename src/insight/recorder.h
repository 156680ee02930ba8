// Recorder: the Tracer of a process. One mapped area of fixed size, in a file of the node or nowhere (piece_file.h); nothing else
// grows. Totals, histograms, time bins and maps are exact; single events are kept of one call in n, n doubling whenever the room
// is full. An event costs a lock nobody else wants, some additions and a store of 56 bytes.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/program.h"
#include "base/result.h"
#include "base/thread_annotations.h"
#include "base/trace.h"
#include "insight/covered_time.h"
#include "insight/format.h"
#include "insight/piece_file.h"

namespace mercutio {

struct RecorderOptions {
  std::string piece_path;  // of the node's file; empty: kept in memory only
  i64 rank = 0, ranks = 1;
  i64 files = 160, text_bytes = 256 * KiB, bins = 1024, events = 131072, steps = 65536, shape_bytes = 512 * KiB, maps = 64;
  bool sampled = false;    // few of many short accesses are looked at (recorder_samples.cpp), and of texts the notes on hints, at the first open of a name
  void limit(const PieceLimits& limits);
  std::function<std::string()> opened_by;  // the library that opens a file just now; kTool: a tool that watches the program
};
inline constexpr const char* kTool = "(tool)";  // what it opens is no file of the program


class Recorder;
// What an open file tells a recorder that samples. `first`: no file of this name was open before.
std::unique_ptr<TraceSink> make_sampled_sink(Recorder& recorder, i64 file, bool first);

class Recorder final : public Tracer {
 public:
  // The directory of the piece must exist.
  static Result<std::unique_ptr<Recorder>> make(const RecorderOptions& options);
  ~Recorder() override;
  std::unique_ptr<TraceSink> file(const FileFacts& facts) override;
  void waited(std::string_view name, i64 start_ns, i64 end_ns) override;
  void open_failed(std::string_view name, std::string_view why, i64 start_ns) override;

  void note_run(std::string_view facts);  // lines "key=value": job, command, versions
  void finish();  // the process has reached its end
  std::vector<std::byte> snapshot(const PieceLimits& limits) const;
  std::vector<std::byte> snapshot_within(i64 bytes) const;   // of at most so many, but for the least that a piece needs
  i64 bytes() const { return piece_.bytes; }          // mapped
  // A number of the job in the piece, by which pieces of jobs in one place are told apart. Negative: this rank's own. Null: there is no file.
  i64* job() const { return piece_.path.empty() ? nullptr : &header_->job; }
  void remove_file() const;   // all that the ranks of the node recorded is elsewhere

  // By the sinks.
  void record(i64 file, const TraceEvent& event);
  void note(i64 file, TextKind kind, std::string_view text);
  void step(i64 file, i64 open, const TraceStep& step);
  i64 shape(const std::string& key, const TraceSink::ShapeMaker& make);
  bool keeps_steps() const { return header_->sections[kStepsSection].capacity > 0; }
  // Accesses that nobody has looked at: how many, how many of these were timed, and how long those took together (base/ticks.h).
  struct Unseen {
    i64 accesses = 0, bytes = 0, timed = 0, ticks = 0;
  };
  // One access, which stands for others; the last event is the access itself.
  struct Sample {
    std::array<FileTotals, 2> totals{};
    std::size_t place = 0;   // of the present one; the other is the last one's
    FileTotals& now() { return totals[place]; }
    const FileTotals& last() const { return totals[1 - place]; }
  };
  void record_sampled(i64 file, Sample& sample, const TraceEvent& event, const Unseen& unseen);
  // They were as the last one that was looked at.
  void count_unseen(i64 file, const Sample& sample, const Unseen& unseen);

 private:
  Recorder(MappedPiece piece, const RecorderOptions& options);
  template <class Record>
  Record* records(SectionKind kind) const {
    return reinterpret_cast<Record*>(base_ + header_->sections[kind].offset);
  }
  i64 singles() const;  // records for a file each
  i64 slot_of(const FileFacts& facts, const std::string& library);
  i64 pattern_slot(const FileFacts& facts);
  i64 known_slot(const std::string& name) const;
  bool opened_before(const FileFacts& facts);
  std::string library_of(const FileFacts& facts);
  void cover(const TraceEvent& event, double times);
  i64 short_calls_ns(const TraceEvent& event);
  void add_busy(std::size_t way, i64 ns);
  void add_held(i64 ns);
  void add_lost_cores();
  bool count(FileTotals& totals, i64 file, const TraceEvent& event);
  double ns_of(const Unseen& unseen, i64 usual_ns) const;
  void add_many(i64 file, const FileTotals& once, i64 accesses, i64 bytes, double times);
  i64 call_number(i64 file, std::string_view name);
  bool add_text(i64 file, TextKind kind, std::string_view text);
  void add_sketch(i64 file, std::string_view text);
  void add_access(FileTotals& totals, i64 file, const TraceEvent& event);
  void add_call(FileTotals& totals, const TraceEvent& event);
  void add_storage(FileTotals& totals, const TraceEvent& event);
  void add_to_bins(const TraceEvent& event);
  void make_room_in_bins(i64 end_ns);
  void add_to_map(i64 file, const TraceEvent& event);
  void keep(i64 file, const TraceEvent& event);
  void thin_out();
  std::uint32_t group_for(i64 file, const TraceEvent& event);
  bool continues(const StepRecord& last, const StepRecord& next) const;

  class OwnTime;

  mutable std::mutex mutex_;
  i64 samples_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  const MappedPiece piece_;
  std::byte* base_;
  PieceHeader* header_;
  i64 steady_start_ns_, start_ticks_;
  const std::function<std::string()> opened_by_;
  const bool sampled_;
  std::unordered_map<std::string, std::string> libraries_;   // pattern of a name -> who opens such files
  CoreTime core_time_at_start_;
  std::unordered_map<std::string, i64> slots_;     // file name -> record
  std::unordered_map<std::string, i64> patterns_;  // key of a pattern -> record, for files beyond the table
  std::unordered_set<std::size_t> others_;         // hashes of the names of these files
  std::unordered_map<std::string, i64> texts_;  // kind, file and text -> place
  std::unordered_map<const char*, i64> calls_;   // by address: names are literals; their numbers in the file
  std::unordered_map<std::string, i64> call_names_;
  i64 calls_named_ = 0, plans_kept_ = 0;
  i64 opens_ = 0;
  std::unordered_map<std::string, i64> shapes_;  // key -> number; kNoShape: there was no room
  i64 shapes_kept_ = 0;
  std::vector<i64> next_offset_;                // per file: where the last access ended
  std::vector<i64> last_end_ns_;                // and when
  std::vector<i64> sketches_;                   // per file: kept
  std::vector<i64> maps_;                       // per file: its map; -1: none yet
  struct Numbering {
    std::uint32_t first = 0;  // from its name
    std::uint32_t calls = 0;
    i64 events = 0;           // of the present call
  };
  std::vector<Numbering> calls_of_;             // per file
  i64 openings_ = 0;
  bool any_opened_ = false;
  i64 waited_until_ns_ = 0;                     // of the last wait for an access
  std::array<i64, 2> short_calls_until_ns_{};   // of the last event of each kind that may stand for several calls
  std::array<CoveredTime, 2> busy_;             // reading, writing
  CoveredTime held_;
  i64 idle_since_ns_ = 0;                       // the program was last in a call that is a step; storage may have been busy since
  std::vector<bool> changed_;                   // per file: written since the last sync
};

}  // namespace mercutio
