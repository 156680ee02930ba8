#include "storage/posix/names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace mercutio::posix {

void refresh_names(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  std::filesystem::path folder = parent.is_absolute() ? "" : ".";
  struct statx status {};
  const auto refresh = [&] { ::statx(AT_FDCWD, folder.c_str(), AT_STATX_FORCE_SYNC, STATX_MTIME | STATX_CTIME, &status); };
  if (!folder.empty()) refresh();
  for (const std::filesystem::path& name : parent) {
    folder /= name;
    refresh();
  }
  folder = path;
  refresh();
}

// A link from another file system is refused, but only after the server was asked for the name.
Status still_named(const std::string& path, int fd) {
  if (::linkat(AT_FDCWD, "/proc/self/status", AT_FDCWD, path.c_str(), 0) == 0) return error_from_errno("linkat", EEXIST);
  struct stat named {}, opened {};
  if (::stat(path.c_str(), &named) != 0) return error_from_errno("stat", errno);
  if (::fstat(fd, &opened) != 0) return error_from_errno("fstat", errno);
  return named.st_ino == opened.st_ino ? ok_status() : Status(error_from_errno("open", ESTALE));
}

}  // namespace mercutio::posix
