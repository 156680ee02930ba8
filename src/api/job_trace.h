// JobTrace: the trace of this process from MPI_Init to MPI_Finalize, if the environment asks for it (MERCUTIO_TRACE,
// MERCUTIO_REPORT), and how those of all ranks become one file and one verdict. Off, it costs a null pointer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/job_record.h"
#include "base/trace.h"

namespace mercutio {

class Recorder;
struct RecorderOptions;

class JobTrace {
 public:
  JobTrace();
  ~JobTrace();
  // Once. `together`: all ranks of MPI_COMM_WORLD come here (they are in MPI_Init), so that they can also end together.
  void begin(bool together);
  bool on() const { return recorder_ || record_; }
  bool keeps_steps() const { return !trace_path_.empty(); }
  Tracer* tracer();
  std::atomic<bool>* all_record() { return record_ ? record_->all_record() : nullptr; }
  // Inside MPI_Finalize. Never waits for ever: after two minutes the pieces are left as they are, for `mercutio
  // report`.
  void end();

 private:
  std::string piece_path() const;
  RecorderOptions recorder_options() const;
  void end_trace();
  void tell_command(char what) const;
  bool collect(std::vector<std::byte>& pieces) const;  // on rank 0: those of all
  void conclude(const std::vector<std::byte>& pieces) const;
  std::string free_trace_path() const;   // the one that is wished, unless another job has written it meanwhile

  bool together_ = false;
  int rank_ = 0, ranks_ = 1;
  i64 begun_ns_ = 0;                      // when, by the clock of files
  std::string trace_path_, report_path_;  // empty: not wanted; report "-": on stderr
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<JobRecord> record_;     // null: the site wants none
};

}  // namespace mercutio
