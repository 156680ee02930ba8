#include "base/installation.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace mercutio {
namespace {

// Of a program, dladdr has argv[0], and of a library the name by which it was loaded. Both may be relative to a directory of the user's, where others
// may put files: what is mapped at this code is known for certain.
std::string own_file() {
  Dl_info known{};
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &known) != 0 && known.dli_fname && *known.dli_fname == '/') return known.dli_fname;
  const auto here = reinterpret_cast<std::uintptr_t>(&own_file);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2 || here < begin || here >= end) continue;
    const std::size_t name = line.find('/');
    return name == std::string::npos ? "" : line.substr(name);
  }
  return "";
}

std::string find_own_folder() {
  const std::string file = own_file();
  char* real = file.empty() ? nullptr : ::realpath(file.c_str(), nullptr);
  const std::string path = real ? real : file;
  std::free(real);
  return path.empty() ? "" : path.substr(0, path.rfind('/'));
}

}  // namespace

std::string own_folder() {
  static const std::string& folder = *new std::string(find_own_folder());   // each open of a file asks; never destroyed, for those in exit handlers
  return folder;
}

std::vector<std::string> library_folders() {
  const std::string here = own_folder();
  if (here.empty()) return {};
  std::vector<std::string> folders = {here, here + "/../" MERCUTIO_LIBDIR_TEXT};
  if (std::string_view(MERCUTIO_LIBDIR_TEXT) != "lib") folders.push_back(here + "/../lib");   // of a build tree
  return folders;
}

std::string installed_file(const std::string& name) {
  const std::string here = own_folder();
  for (const std::string_view part : {"/" MERCUTIO_LIBDIR_TEXT, "/" MERCUTIO_BINDIR_TEXT}) {
    if (here.ends_with(part)) return here.substr(0, here.size() - part.size()) + "/" + name;
  }
  return "";
}

}  // namespace mercutio
