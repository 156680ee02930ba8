// Directories that go away.
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

}  // namespace mercutio::tool
