// The record of a job in a place of its site: each job leaves one, if the site or the user has named a place (MERCUTIO_SITE).
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/result.h"

namespace mercutio {

class Recorder;

class JobRecord {
 public:
  explicit JobRecord(std::string pattern);
  // Ranks may be without this library, or without a record. That none is turns out when a file is opened by all of them.
  std::atomic<bool>* all_record() { return &all_record_; }
  // By all ranks of MPI_COMM_WORLD in MPI_Finalize, whatever became of each one's recorder (null: none could be made). Puts what they did
  // together in a tree and writes it on rank 0. Where not all ranks are known to come here, nobody is asked: rank 0 writes what it did
  // itself. An Error says why there is none; a job without MPI-IO leaves none.
  Status write(const Recorder* recorder);

 private:
  Status write_together(const Recorder* recorder, int rank, int ranks);
  Status write_own(const Recorder* recorder) const;
  std::atomic<bool> all_record_{false};
  std::string pattern_;
  const int dumpable_;            // of the process, at first
  std::vector<std::byte> room_;   // taken in time: a rank without memory at the end would hold up the others
};

}  // namespace mercutio
