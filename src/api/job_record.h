// The record of a job in a place of its site: each job leaves one, if the site or the user has named a place (MERCUTIO_SITE).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace mercutio {

class Recorder;

class JobRecord {
 public:
  explicit JobRecord(std::string pattern);
  // By all ranks of MPI_COMM_WORLD in MPI_Finalize, whatever became of each one's recorder (null: none could be made). Puts what they did
  // together in a tree and writes it on rank 0. An Error says why there is none; a job without MPI-IO leaves none.
  Status write(const Recorder* recorder, i64 run_ns);

 private:
  std::string pattern_;
  std::vector<std::byte> room_;   // taken in time: a rank without memory at the end would hold up the others
};

}  // namespace mercutio
