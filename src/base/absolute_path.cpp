#include "base/absolute_path.h"

#include <unistd.h>

#include <climits>

namespace mercutio {

std::string absolute_path(const std::string& path) {
  char here[PATH_MAX] = "";
  if (path.empty() || path[0] == '/' || !::getcwd(here, sizeof here)) return path;
  return std::string(here) + "/" + path;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

}  // namespace mercutio
