// The record of a job. Every job writes one to a directory of its site, if the site or the user has named a directory
// (MERCUTIO_SITE).
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/result.h"

namespace mercutio {

class Recorder;

class JobRecord {
 public:
  explicit JobRecord(std::string pattern);
  // Some ranks may be without this library, or without a record. Set when a file is opened by all ranks, none of which lacks one.
  std::atomic<bool>* all_record() { return &all_record_; }
  // Collective over MPI_COMM_WORLD in MPI_Finalize. `recorder` is null if this rank could not create one. Combines the data of all
  // ranks in a tree and writes it on rank 0. If not all ranks are known to call it, rank 0 writes its own data, without
  // communication. An Error states why there is no record. A job without MPI-IO writes none.
  Status write(const Recorder* recorder);

 private:
  Status write_together(const Recorder* recorder, int rank, int ranks);
  Status write_own(const Recorder* recorder) const;
  std::atomic<bool> all_record_{false};
  std::string pattern_;
  const int dumpable_;            // of the process, at first
  // Reserved in advance: a rank without memory at the end would hold up the others. Its pages are first touched then.
  const std::unique_ptr<std::byte[], decltype(&std::free)> room_;
};

}  // namespace mercutio
