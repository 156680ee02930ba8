// Directories and files that go away.
#pragma once

#include <string>

namespace mercutio::tool {

// A directory of our own, removed with everything in it. Its path is empty when it can't be made.
class Scratch {
 public:
  explicit Scratch(const std::string& parent, const std::string& name = "bench");
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A file of our own, without a name as soon as it is there.
class ScratchFile {
 public:
  ScratchFile(const std::string& directory, const std::string& name);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  int fd() const { return fd_; }         // -1 when it can't be made
  int error() const { return error_; }   // the errno of that

 private:
  int fd_ = -1, error_ = 0;
};

}  // namespace mercutio::tool
