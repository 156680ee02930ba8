#include "base/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace mercutio {
namespace {

std::string contents(const char* path) {
  std::string text(4096, '\0');
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t got = file >= 0 ? ::read(file, text.data(), text.size()) : 0;
  if (file >= 0) ::close(file);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return text;
}

constexpr std::size_t kLongestKernelsName = 15;   // TASK_COMM_LEN; longer ones are cut

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_interpreter(const std::string& name) {
  static constexpr const char* kNames[] = {"python", "julia", "Rscript", "perl"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](const char* one) { return name.rfind(one, 0) == 0; });
}

}  // namespace

std::string program_name_in(const std::string& command_line, const std::string& kernels_name) {
  std::string name = kernels_name;
  while (!name.empty() && name.back() == '\n') name.pop_back();
  const std::string called = last_part(command_line.substr(0, command_line.find('\0')));
  if (name.size() == kLongestKernelsName && called.rfind(name, 0) == 0) name = called;
  if (is_interpreter(name)) {
    for (std::size_t at = command_line.find('\0'); at != std::string::npos && at + 1 < command_line.size(); at = command_line.find('\0', at + 1)) {
      const std::string word = command_line.substr(at + 1, command_line.find('\0', at + 1) - at - 1);
      if (word == "-c") break;
      if (word.empty() || word[0] == '-') continue;
      if (word.find('.') != std::string::npos || word.find('/') != std::string::npos) name = last_part(word);
      break;
    }
  }
  for (char& c : name) {
    if (c == '/' || c == ' ') c = '_';
  }
  return name.empty() ? "program" : name;
}

const std::string& program_name() {
  static const auto* const name = new std::string(program_name_in(contents("/proc/self/cmdline"), contents("/proc/self/comm")));   // also used at exit
  return *name;
}

}  // namespace mercutio
