// Where the library lies, seen from the command: beside it in a build tree (bin/, lib/) and when installed.
#pragma once

#include <string>
#include <vector>

namespace mercutio::tool {

// Directories to look in, best first. MERCUTIO_LIBDIR comes before all others.
std::vector<std::string> library_directories();

// Full path of libmercutio.so (or another file of ours); empty when it is in none of them.
std::string find_library(const std::string& file_name);

// What programs preload: the path of libmercutio.so, or why none can be.
struct Preload {
  std::string path, why_not;
};
Preload library_to_preload();

inline constexpr const char* kTrampoline = "libmercutio.so";
inline constexpr const char* kFlavours[] = {"mpich", "openmpi", "abi"};
std::string backend_file(const std::string& flavour);  // libmercutio-<flavour>.so

// What the library said in `output` of a backend that it could not load; empty: nothing.
std::string no_backend(const std::string& output);

// Whether `library`, a libmercutio.so, finds its backend: beside itself.
bool has_backend(const std::string& library, const std::string& flavour);

}  // namespace mercutio::tool
