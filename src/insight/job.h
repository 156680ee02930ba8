// Job: the pieces of all ranks, read back and put together by file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "insight/format.h"

namespace mercutio {

struct TraceText {
  TextKind kind = TextKind::kCall;
  i64 file = -1;
  i64 count = 0;
  std::string text;
};

// One piece.
struct RankTrace {
  PieceHeader header;
  std::vector<FileRecord> files;
  std::vector<TraceText> texts;
  std::vector<TimeBin> bins;
  std::vector<EventRecord> events;
  std::vector<StepRecord> steps;
  std::vector<MapRecord> maps;
  std::vector<TraceText> shapes;
  i64 end_ns() const { return header.end_ns > 0 ? header.end_ns : header.last_ns; }
};

std::vector<std::string> call_names(const RankTrace& trace);   // by EventRecord::call; the first is that of none

// All pieces in `bytes`, which may be anything: what does not hold together is an Error.
Result<std::vector<RankTrace>> parse_trace(ConstBytes bytes);
// A trace file, a folder of pieces, or a trace whose pieces were not merged yet (`path`.pieces): where both are there, the newer job's. Pieces
// of an earlier job in the same place are left out, and those that can't be read. `notes`, if given, gets what the user should know of that.
Result<std::vector<RankTrace>> read_trace(const std::string& path, std::vector<std::string>* notes = nullptr);

struct JobFile {
  std::string name, amode, file_system;
  std::string library;      // above MPI-IO, that opened it: "hdf5"; empty: none that is known
  bool is_pattern = false;  // all files beyond the trace's table whose names are like this one
  FileTotals all;
  std::vector<FileTotals> by_rank;  // as Job::traces, of an average rank of each; nothing where it had nothing to do with the file
  std::vector<FileTotals> sums;     // the same of all ranks of each; empty: each is of one rank
  std::vector<TraceText> texts;     // plans, hints and notes; counts of all ranks
  std::vector<MapRecord> maps;      // as by_rank, with cells of the same size; empty: the traces have none
  std::vector<const JobFile*> members;  // of several files as one (families.h)
  double times = 1;                 // of each of these as many, which are alike
  double held_part = 1;             // as Job::held_part
  i64 files() const;                // different ones
  const FileTotals& sum(std::size_t trace) const { return sums.empty() ? by_rank[trace] : sums[trace]; }
  double seconds() const;           // the program was held by it, on the rank where that was longest
};

struct Job {
  std::string program;
  std::vector<std::pair<std::string, std::string>> run;  // what it was: job, user, command, versions, ...
  std::vector<std::string> host_names;
  i64 ranks = 0;                  // of the job
  i64 known_ranks = 0;            // of these, in `traces`
  std::vector<RankTrace> traces;  // by rank; of very many ranks, those that did about the same are one (piece_merge.h)
  std::vector<JobFile> files;     // the one that took longest first
  bool finished = true;           // all ranks reached their end
  double seconds = 0;             // of the rank that ran longest
  double recording = 0;           // of these: what the trace itself took between the program's calls
  i64 hosts = 0;
  CoreTime cores;      // of all ranks together
  i64 host_cores = 0;  // of the largest host; 0: not known
  double held_part = 1;  // of the times of all threads, what remains where those at the same time count once
  i64 file_count() const;  // different ones
  bool single_ranks() const { return known_ranks == static_cast<i64>(traces.size()); }
  double held_seconds(std::size_t trace) const;  // in I/O, of an average rank
};

// What the header tells of the time that I/O held its ranks; where it tells nothing, `sum_ns`, in which each thread counts for itself.
i64 held_ns_of(const PieceHeader& header, i64 sum_ns);
// Of `sum_ns`, where threads that were held at the same time count once in `held_ns`; 0: that is not known.
double held_part_of(i64 held_ns, i64 sum_ns);
// About, where different ranks opened parts of the files of a pattern.
i64 different_files(const std::vector<const JobFile*>& files);
Job job_of(std::vector<RankTrace> traces);

}  // namespace mercutio
