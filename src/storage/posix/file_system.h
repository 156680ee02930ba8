// What kind of file system a descriptor lies on.
#pragma once

#include "storage/storage.h"

namespace mercutio::posix {

Traits traits_of(int fd);                    // asks statfs, and tries a lock query
bool is_on_lustre(const std::string& path);  // of the folder, for files that don't exist yet
bool is_on_lustre(int fd);
bool lock_refused(int sys_errno);            // the file system has no locks, as opposed to: this lock failed

}  // namespace mercutio::posix
