#include "model/hints_measured.h"

#include <sys/stat.h>

#include <sstream>

#include "base/absolute_path.h"
#include "model/hints_environment.h"
#include "model/hints_files.h"

namespace mercutio {
namespace {

struct Section {
  std::string directory, lines;
};

std::vector<Section> sections_of(std::istream& input) {
  std::vector<Section> sections;
  for (std::string line; std::getline(input, line);) {
    if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
      sections.push_back(Section{line.substr(1, line.size() - 2), ""});
    } else if (!sections.empty() && !line.empty()) {
      sections.back().lines += line + "\n";
    }
  }
  return sections;
}

// Whether both are the same directory, or on the same file system.
bool is_same_place(const std::string& one, const std::string& other) {
  struct stat here {}, there {};
  return one == other || (stat(one.c_str(), &here) == 0 && stat(other.c_str(), &there) == 0 && here.st_dev == there.st_dev);
}

}  // namespace

std::string measured_file() {
  return configuration_file("measured");
}

InfoItems measured_hints(const std::string& text, const std::string& path) {
  if (text.empty()) return {};
  std::istringstream input(text);
  const std::string directory = folder_of(path);
  for (const Section& section : sections_of(input)) {
    if (is_same_place(section.directory, directory)) return parse_romio_hints(section.lines);
  }
  return {};
}

std::string with_section(const std::string& text, const std::string& directory, const InfoItems& items) {
  std::istringstream input(text);
  std::string out = "# Written by mercutio probe: hints for all files of the file system that a directory is on.\n";
  for (const Section& section : sections_of(input)) {
    if (!is_same_place(section.directory, directory)) out += "[" + section.directory + "]\n" + section.lines;
  }
  out += "[" + directory + "]\n";
  for (const auto& [key, value] : items) out += key + " " + value + "\n";
  return out;
}

}  // namespace mercutio
