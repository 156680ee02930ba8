#include "scratch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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

ScratchFile::ScratchFile(const std::string& directory, const std::string& name) {
  std::string path = directory + "/.mercutio-" + name + "-XXXXXX";
  fd_ = mkostemp(path.data(), O_CLOEXEC);
  error_ = fd_ < 0 ? errno : 0;
  if (fd_ >= 0) unlink(path.c_str());
}

ScratchFile::~ScratchFile() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace mercutio::tool
