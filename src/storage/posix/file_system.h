// What kind of file system a descriptor lies on.
#pragma once

#include <sys/stat.h>

#include "storage/storage.h"

namespace mercutio::posix {

Traits traits_of(int fd);                    // asks statfs and the table of mounts, and tries a lock query
bool is_on_lustre(const std::string& path);  // of the folder, for files that don't exist yet
bool is_on_lustre(int fd);
// The folder of that file, or the whole file system, gives new files more than one stripe.
bool has_default_stripes(const std::string& path);
bool lock_refused(int sys_errno);            // the file system has no locks, as opposed to: this lock failed

// Makes accesses through this descriptor coherent as `wish` says, or as is best here, where they aren't by themselves. Sets
// `way` and `coherence`; kLocks is left to the caller (storage/locked.h).
void make_coherent(int fd, CoherenceWay wish, Traits& traits);

}  // namespace mercutio::posix
