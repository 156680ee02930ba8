// JobTrace: the trace of this process from MPI_Init to MPI_Finalize, if the environment requests it (MERCUTIO_TRACE,
// MERCUTIO_REPORT), and the combination of all ranks' traces into one file and one report. If it is off, it costs one test of a
// pointer.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "api/job_record.h"
#include "base/trace.h"
#include "mpi/mpi_header.h"

namespace mercutio {

class Recorder;
struct RankTrace;
struct RecorderOptions;

class JobTrace {
 public:
  JobTrace();
  ~JobTrace();
  // Called once. `together`: all ranks of MPI_COMM_WORLD call it (in MPI_Init), so that they can also end together. `comm`: whose ranks there
  // are in a program without MPI_COMM_WORLD.
  void begin(bool together, MPI_Comm comm);
  bool on() const { return recorder_ || record_ || asked(); }
  bool keeps_steps() const { return !trace_path_.empty(); }
  Tracer* tracer();
  i64* job() const;   // Context::job
  std::atomic<i64>* first_traced() { return asked() ? &first_traced_ : nullptr; }   // Context::first_traced
  std::atomic<bool>* all_record() { return record_ ? record_->all_record() : nullptr; }
  // Called in MPI_Finalize. Where a file that all ranks opened has shown that some keep no trace, nobody waits for them. Else, after two
  // minutes, the pieces are left for `mercutio report`.
  void end();

 private:
  bool asked() const { return !trace_path_.empty() || !report_path_.empty(); }
  std::string piece_path() const;
  RecorderOptions recorder_options() const;
  void end_trace();
  void end_alone();
  std::string what_stays() const;   // of this job, where there is no trace in the end
  void tell_command(char what) const;
  bool collect(std::vector<std::byte>& pieces);   // on rank 0: the pieces of all ranks
  bool conclude(const std::vector<std::byte>& pieces) const;   // false: no trace is written that was asked for
  void tell_verdict(std::vector<RankTrace> traces) const;

  int here_ = 1, all_here_ = 0, collected_ = 0;   // of collective calls, which may write them after the patience has ended
  bool together_ = false, keeps_others_ = false;   // of traces of the same name
  int rank_ = 0, ranks_ = 1;
  i64 begun_ns_ = 0;                      // time of the begin, by the clock of file timestamps
  std::string trace_path_, report_path_;  // empty: not requested; report "-": stderr
  std::atomic<i64> first_traced_{-1};
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<JobRecord> record_;     // null: no record was requested
};

}  // namespace mercutio
