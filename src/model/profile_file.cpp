#include "model/profile_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/hints_environment.h"
#include "model/hints_sources.h"

namespace mercutio {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + "\"";
}

// "nc", if the file's name ends so in letters and digits; else "".
std::string ending_of(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  const auto plain = [](unsigned char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  const bool usable = ending.size() > 1 && !(ending[1] >= '0' && ending[1] <= '9') && std::all_of(ending.begin() + 1, ending.end(), plain);
  return usable ? ending.substr(1) : "";
}

std::string commented(const std::string& lines) {
  std::string out;
  std::istringstream input(lines);
  for (std::string line; std::getline(input, line);) out += "# " + line + "\n";
  return out;
}

bool is_frozen(const std::string& path) {
  std::ifstream input(path);
  for (std::string line; std::getline(input, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.starts_with("frozen") && line.find("true") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::string profile_text(const FoundHints& found) {
  const std::string ending = ending_of(found.path);
  std::string text =
      "# Found by mercutio_adapt. Later runs of this application begin with it; MERCUTIO_PROFILE=0 does without,\n"
      "# MERCUTIO_PROFILE=FILE uses this file alone, for any run.\n"
      "[profile]\n"
      "application = " + quoted(found.program) + "\n"
      "ranks = " + std::to_string(found.ranks) + "                  # that open the file together\n"
      "file_system = " + quoted(file_system_key(found.path)) + "      # as stat -f -c %t says\n"
      "frozen = false             # true: this file is left as it is\n\n" + commented(found.evidence) + "\n[" +
      quoted(ending.empty() ? "*" : "*." + ending) + "]\n";
  for (const auto& [key, value] : found.hints) {
    const bool number = value.find_first_not_of("0123456789") == std::string::npos;
    text += key + " = " + (number ? value : quoted(value)) + "\n";
  }
  return text;
}

Status write_profile(const FoundHints& found) {
  const std::string folder = configuration_file("tuned"), ending = ending_of(found.path);
  if (folder.empty()) return Error{ErrorClass::kIo, "there is no folder for profiles"};
  const std::string name = found.program + "-adapted-" + std::to_string(found.ranks) + (ending.empty() ? "" : "-" + ending) + ".toml";
  const std::string path = folder + "/" + name, fresh = folder + "/." + name + "." + std::to_string(::getpid());
  if (is_frozen(path)) return ok_status();
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Error{ErrorClass::kIo, "the folder of profiles can't be made: " + failed.message(), failed.value()};
  std::ofstream output(fresh);
  output << profile_text(found);
  output.close();
  if (output && ::rename(fresh.c_str(), path.c_str()) == 0) return ok_status();
  const int why = errno;
  (void)::unlink(fresh.c_str());
  return Error{ErrorClass::kIo, "the profile can't be written", why};
}

}  // namespace mercutio
