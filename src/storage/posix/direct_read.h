// Reads by O_DIRECT that are under way in this process. A fork waits for them, and they wait for it: what arrives after a fork
// would be in the pages of one of the two processes only (open(2), NOTES).
#pragma once

namespace mercutio::posix {

// One such read, for as long as the object lives. Not direct: nothing is counted.
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
