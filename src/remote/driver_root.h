// An exported root whose files belong to a storage driver in a library (include/mercutio/driver.h), for example "gluster://server/volume/runs".
//
// A driver has no directories and no names beside its files. So a file can be opened, read, written, deleted and asked for its size;
// the rest fails with MPI_ERR_UNSUPPORTED_OPERATION. Paths can't hold "..", but the kernel can't check them: a symbolic link in the
// driver's own storage is followed wherever it leads there.
#pragma once

#include "remote/wire.h"
#include "storage/storage.h"

namespace mercutio::remote {

// Identifies a file as long as it exists.
class DriverRoot {
 public:
  // `prefix` is NAME:path or NAME://path. Loads the driver.
  static Result<DriverRoot> load(const std::string& prefix);
  static bool is_name(const std::string& text);   // whether it has that form

  struct Opened {
    std::unique_ptr<Storage> storage;
    FileIdentity identity;
  };
  // `inside` is relative to the root. To write is refused where other opens don't see it at once: each client has an open of its own.
  Result<Opened> open(const std::string& inside, const OpenOptions& options) const;
  Status remove(const std::string& inside) const;
  Result<FileStatus> status(const std::string& inside) const;   // "." is the root, a directory
  Result<GetReply> get(const std::string& inside) const;

 private:
  DriverRoot(Driver* driver, std::string path) : driver_(driver), path_(std::move(path)) {}
  Result<std::string> path_of(const std::string& inside) const;

  Driver* driver_;     // lives as long as the process
  std::string path_;   // without the driver's name
};

}  // namespace mercutio::remote
