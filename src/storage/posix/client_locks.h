// Locks that the clients of Lustre and GPFS keep, as far as a program can say which: ioctls of Lustre, and gpfs_fcntl of GPFS's library.
// Nothing of this changes what is read or written.
#pragma once

#include <atomic>
#include <span>
#include <string>

#include "storage/storage.h"

namespace mercutio::posix {

// Of one descriptor. May be called by several threads.
class ClientLocks {
 public:
  explicit ClientLocks(const std::string& file_system);
  // Storage::will_write and Storage::give_back_locks.
  void will_write(int fd, std::span<const IoPiece> ranges);
  void give_back(int fd, bool of_all, i64 group);

 private:
  enum class Kind { kNone, kLustre, kGpfs };
  const Kind kind_;
  std::atomic<bool> exact_{false};     // Lustre: locks of this descriptor don't grow
  std::atomic<bool> refused_{false};   // this client has no lock-ahead
};

}  // namespace mercutio::posix
