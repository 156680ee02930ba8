// An exported root whose files belong to a storage driver in a library (include/mercutio/driver.h), for example "gluster://server/volume/runs".
//
// A file can be opened, read, written, deleted and asked for its size. Folders and other names for files are there where the driver has
// functions for them; the rest fails with MPI_ERR_UNSUPPORTED_OPERATION. Paths can't hold "..", but the kernel can't check them: a symbolic
// link in the driver's own storage is followed wherever it leads there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "remote/shared_by_key.h"
#include "remote/wire.h"
#include "storage/names.h"
#include "storage/storage.h"

namespace mercutio::remote {

// Of the files of drivers. No device of the operating system has this number.
inline constexpr u64 kDriverDevice = ~u64{0};

// Of a rename: fails unless `found` is the file that the client means.
Status check_identity(const FileStatus& found, const FileIdentity& meant);
// A name that no other put of this machine has, for a file until it is complete.
std::string name_of_put();

class PublishedOpens;

class DriverRoot {
 public:
  // `prefix` is NAME:path or NAME://path. Loads the driver. Opens of several servers don't see each other's writes where files are published.
  static Result<DriverRoot> load(const std::string& prefix, bool one_of_several);
  static bool is_name(const std::string& text);   // whether it has that form

  struct Opened {
    std::unique_ptr<Storage> storage;
    FileIdentity identity;
  };
  // `inside` is relative to the root. Each client has an open of its own. To write is refused where other opens don't see it at once: those of
  // one process do, where files are published.
  Result<Opened> open(const std::string& inside, const OpenOptions& options) const;
  Status remove(const std::string& inside) const;
  Result<FileStatus> status(const std::string& inside) const;   // "." is the root, a directory
  Result<GetReply> get(const std::string& inside) const;

  struct Listed {
    std::vector<ListEntry> entries;
    bool whole = true;   // there are no further entries
  };
  Result<Listed> list(const std::string& inside, const std::string& after, i64 most_bytes) const;
  Status may_rename() const;   // or why not
  // With an `identity`: fails unless the name still denotes that file.
  Status rename(const std::string& inside, const std::string& other, bool replace, const std::optional<FileIdentity>& identity) const;
  Status make_folder(const std::string& inside) const;
  Status remove_folder(const std::string& inside) const;
  Result<u64> put(const std::string& inside, ConstBytes content, bool replace) const;   // the checksum of the new contents

 private:
  DriverRoot(Driver* driver, Names* names, std::string path, bool one_of_several);
  Result<std::string> folder_of(const std::string& inside) const;
  Result<std::string> path_of(const std::string& inside) const;   // not the root's

  Driver* driver_;     // lives as long as the process, and so do its names
  Names* names_;
  std::string path_;   // without the driver's name
  bool one_of_several_;
  std::shared_ptr<SharedByKey<std::string, PublishedOpens>> published_;   // files that are open for writing, by path
};

}  // namespace mercutio::remote
