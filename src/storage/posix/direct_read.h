// O_DIRECT reads in flight in this process. A fork waits for them, and new ones wait for the fork: data that arrives after a fork
// would reach the pages of only one of the two processes (open(2), NOTES).
#pragma once

namespace mercutio::posix {

// Registers one such read during the object's lifetime. Does nothing if the read is not direct.
class DirectRead {
 public:
  explicit DirectRead(bool direct);
  ~DirectRead();
  DirectRead(const DirectRead&) = delete;
  DirectRead& operator=(const DirectRead&) = delete;

 private:
  const bool direct_;
};

}  // namespace mercutio::posix
