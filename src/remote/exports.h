// The directories that a server exports to clients. The kernel resolves every path beneath its root (openat2), so neither `..` nor
// a symbolic link leads out of it, even if directories change concurrently. Only regular files are served. A root may also belong to a
// storage driver (driver_root.h).
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "remote/driver_root.h"
#include "remote/wire.h"
#include "storage/storage.h"

namespace mercutio::remote {

struct Export {
  std::string name, directory;   // or DRIVER:path, DRIVER://path
  bool writable = false;
  bool one_of_several = false;   // other servers may export it, too
};
Result<Export> parse_export(const std::string& text);   // name=/directory, name=/directory:rw

class Exports {
 public:
  static Result<Exports> open(const std::vector<Export>& wanted);
  Exports(Exports&&) = default;

  // `path`: root/name/in/it.
  using Opened = DriverRoot::Opened;
  Result<Opened> open_file(const std::string& path, const OpenOptions& options) const;
  // `linked`: symbolic links are followed in the first so many bytes of the path only; 0: in all of it.
  Status remove(const std::string& path, i64 linked = 0) const;

  Result<FileStatus> status(const std::string& path) const;
  // The entries after the name `after`, sorted, as many as fit into `most_bytes` of messages. An empty `path` lists the roots.
  using Listed = DriverRoot::Listed;
  Result<Listed> list(const std::string& path, const std::string& after, i64 most_bytes, i64 linked = 0) const;
  // With an `identity`: fails unless the name still denotes that file, and sets its permissions and time first.
  Status rename(const NameRequest& request, const std::optional<FileIdentity>& identity) const;
  Status may_copy_to(const std::string& path) const;   // or why a copy could not get its name
  Status make_directory(const std::string& path, int permissions) const;
  Status remove_directory(const std::string& path, i64 linked = 0) const;
  Result<std::vector<Extent>> extents(const std::string& path, i64 begin, i64 most) const;
  Result<GetReply> get(const std::string& path) const;
  Result<u64> put(const NameRequest& request) const;   // the checksum of the new contents

  // These do not follow a symbolic link at the end of the path.
  Result<FileStatus> own_status(const std::string& path) const;
  Result<std::string> read_link(const std::string& path) const;
  Status make_link(const std::string& path, const std::string& text) const;
  Status change_attributes(const NameRequest& request) const;
  Result<Space> space(const std::string& path) const;

 private:
  struct Root {
    std::shared_ptr<const int> fd;              // of the directory
    std::shared_ptr<const DriverRoot> driver;   // null: a directory
    bool writable = false;
  };
  struct Place {
    Root root;
    std::string inside;
    size_t linked_in(const std::string& path, i64 linked) const;   // that number of bytes, of `inside`
  };
  struct Parent {           // a directory, and the name in it
    std::shared_ptr<const int> fd;
    std::string name;
  };
  struct Target {           // of a put or rename
    Parent parent;
    bool as_writes = false;                    // the request has kAsWrites
    std::optional<std::uint32_t> permissions;  // then: those of the file that it replaces
  };
  Exports() = default;
  static Result<Root> open_root(const Export& wanted);
  Result<Place> find(const std::string& path) const;
  Result<Place> find_to_change(const std::string& path) const;
  Result<Parent> parent_of(const std::string& path, const char* call, i64 linked = 0) const;   // for operations that change the name
  Result<std::string> end_of_links(std::string path) const;
  Result<Target> target_of(const std::string& path, std::uint32_t request, const char* call) const;
  Result<int> open_for_look(const std::string& path, int flags, i64 linked = 0) const;

  std::map<std::string, Root> roots_;
};

Error open_error(int failed);   // of a path in a root
FileStatus status_from(const struct stat& status);
// The mode that gives what has the status `before` these permissions. A directory keeps the group of its files, and may
// become sticky, unless they have kExactly.
mode_t mode_with(const FileStatus& before, std::uint32_t permissions);
// A time in ns since 1970, which is negative before that. Times outside of the years 1677 to 2262 become the nearest one within.
i64 nanoseconds(const timespec& time);
timespec time_from(i64 nanoseconds);

// The extents of an open file from `begin` on that are not holes, at most `most` of them.
Result<std::vector<Extent>> extents_of(int fd, i64 begin, i64 most);

}  // namespace mercutio::remote
