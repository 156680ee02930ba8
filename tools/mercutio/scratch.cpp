#include "scratch.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace mercutio::tool {

Scratch::Scratch(const std::string& parent, const std::string& name) : path_(parent + "/mercutio-" + name + ".XXXXXX") {
  if (!mkdtemp(path_.data())) path_.clear();
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace mercutio::tool
