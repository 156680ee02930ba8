// The first 100 bytes of a file, locked as by another program on this machine.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace mercutio::remote {

class ForeignLock {
 public:
  explicit ForeignLock(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) { set(F_WRLCK); }
  ~ForeignLock() { ::close(fd_); }
  void release() { set(F_UNLCK); }
  ForeignLock(const ForeignLock&) = delete;
  ForeignLock& operator=(const ForeignLock&) = delete;

 private:
  void set(short type) {
    struct flock range {};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_len = 100;
    EXPECT_EQ(::fcntl(fd_, F_OFD_SETLK, &range), 0);
  }
  const int fd_;
};

}  // namespace mercutio::remote
