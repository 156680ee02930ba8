// Determines the file system of a descriptor and its traits.
#pragma once

#include <sys/stat.h>

#include "storage/posix/mounts.h"
#include "storage/storage.h"

namespace mercutio::posix {

inline constexpr unsigned long kFuseMagic = 0x65735546, kCephMagic = 0x00C36400;   // statfs(2)

Traits traits_of(int fd);                    // uses statfs, the table of mounts, and one lock query
void set_mount_traits(unsigned long magic, const Mount& mount, Traits& traits);   // options that change what holds for the type
bool is_on_lustre(const std::string& path);  // looks at the folder: the file may not exist yet
bool is_on_lustre(int fd);
// Whether the folder of that file, or the file system, gives new files more than one stripe.
bool has_default_stripes(const std::string& path);
// Whether the client keeps, in spite of O_DIRECT, what an open has read until that is closed, and what was written until it is synced.
bool client_keeps_data(const Traits& traits);
int open_again(int fd, int flags);           // the same file, with O_DIRECT; below 0: errno
Result<i64> size_of(int fd, bool ask_server);   // of a block device, too. ask_server: other nodes may have changed it since this one asked
bool lock_refused(int sys_errno);            // whether the file system has no locks (rather than: this lock failed)

// Makes accesses through this descriptor coherent between nodes if they are not: in the way of `wish`, or in the best one here.
// Sets `way` and `coherence`. The caller implements kLocks (storage/locked.h).
void make_coherent(int fd, CoherenceWay wish, Traits& traits);

}  // namespace mercutio::posix
