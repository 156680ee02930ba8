// See locate.h.
#include "locate.h"

#include "process.h"

namespace mercutio::tool {

std::vector<std::string> library_directories() {
  std::vector<std::string> directories;
  const std::string wanted = environment("MERCUTIO_LIBDIR");
  if (!wanted.empty()) directories.push_back(wanted);
  directories.push_back(own_directory() + "/../" MERCUTIO_RELATIVE_LIBDIR);
  directories.push_back(own_directory() + "/../lib");
  return directories;
}

std::string find_library(const std::string& file_name) {
  for (const std::string& directory : library_directories()) {
    const std::string path = resolved(directory + "/" + file_name);
    if (!path.empty()) return path;
  }
  return "";
}

Preload library_to_preload() {
  const std::string path = find_library(kTrampoline);
  if (path.empty()) return {"", "libmercutio.so was not found in " + library_directories().front()};
  if (path.find_first_of(" :") != std::string::npos)
    return {"", "'" + path + "' can't be preloaded: LD_PRELOAD takes a space or a colon for the end of a name. Install Mercutio in a folder without them"};
  return {path, ""};
}

std::string backend_file(const std::string& flavour) {
  return "libmercutio-" + flavour + ".so";
}

std::string no_backend(const std::string& output) {
  const std::size_t at = output.find("mercutio: no backend for this MPI");
  return at == std::string::npos ? "" : output.substr(at, output.find('\n', at) - at);
}

bool has_backend(const std::string& library, const std::string& flavour) {
  return !resolved(directory_of(resolved(library)) + "/" + backend_file(flavour)).empty();
}

}  // namespace mercutio::tool
