#include "trace_file.h"

#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <string_view>

#include "insight/format.h"
#include "insight/output_file.h"

namespace mercutio::tool {

std::string no_trace(const std::string& path, const std::string& why) {
  struct stat state {};
  const bool there = ::stat(path.c_str(), &state) == 0;
  return why + "; a trace is made by: mercutio run --trace=" + (there ? "NAME.mtrace" : path) + " -- mpirun ...";
}

Result<std::vector<RankTrace>> read_trace_file(const std::string& path) {
  struct stat state {};
  if (::stat(path.c_str(), &state) == 0 && !S_ISREG(state.st_mode) && !S_ISDIR(state.st_mode))
    return Error{ErrorClass::kBadFile, "a pipe or device: a trace is read from a file only"};
  std::vector<std::string> notes;
  auto traces = read_trace(path, &notes);
  for (const std::string& note : notes) std::fprintf(stderr, "mercutio: %s: note: %s\n", path.c_str(), note.c_str());
  return traces;
}

std::string why_not_overwritten(const std::string& path, bool report) {
  struct stat state {};
  if (::stat(path.c_str(), &state) != 0) return "";
  if (report && S_ISDIR(state.st_mode)) return "it is a folder, and a report needs a file";
  if (!is_plain_file(path)) return report || S_ISDIR(state.st_mode) ? "" : "it is no file, and a trace needs one";
  if (state.st_size == 0) return "";
  const std::string_view begin = report ? "mercutio: " : std::string_view(kPieceMagic.data(), kPieceMagic.size());
  std::string found(begin.size(), '\0');
  std::ifstream in(path, std::ios::binary);
  const bool ours = in.read(found.data(), static_cast<std::streamsize>(found.size())) && found == begin;
  return ours ? "" : std::string("it is there and holds no ") + (report ? "report" : "trace") + " of Mercutio: name another file, or remove it";
}

}  // namespace mercutio::tool
