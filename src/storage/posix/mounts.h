// The entry of /proc/self/mountinfo for the file system of a file (proc(5)).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace mercutio::posix {

struct Mount {
  std::string point;     // "/mnt/data"
  std::string type;      // "nfs4", "fuse.glusterfs"; "fuse.mfs" also where only the source says it ("mfs#host:port")
  std::string options;   // of the file system: "rw,vers=4.2,local_lock=none"
  bool has_option(std::string_view option) const;
};

// The last mount of that device in the text of mountinfo, if there is one.
std::optional<Mount> find_mount(std::string_view mountinfo, dev_t device);
// The same for this process. Reads the whole table: a few microseconds per mount.
std::optional<Mount> mount_of(dev_t device);

}  // namespace mercutio::posix
