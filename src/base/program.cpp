#include "base/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

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

constexpr const char* kRunner = "mpi4py";         // a module that runs a program, with the same options

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_interpreter(const std::string& name) {
  static constexpr const char* kNames[] = {"python", "julia", "Rscript", "perl"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](const char* one) { return name.rfind(one, 0) == 0; });
}

// Of an interpreter's command line, without its first word; "": it runs none that has a name.
std::string script_in(const std::string& command_line, bool python) {
  bool is_value = false, is_module = false;
  for (std::size_t at = command_line.find('\0'); at != std::string::npos && at + 1 < command_line.size(); at = command_line.find('\0', at + 1)) {
    const std::string word = command_line.substr(at + 1, command_line.find('\0', at + 1) - at - 1);
    if (std::exchange(is_module, false)) {
      if (word != kRunner) return last_part(word);
      continue;
    }
    if (std::exchange(is_value, false) || word.empty()) continue;
    if (word[0] != '-') return word.find('.') != std::string::npos || word.find('/') != std::string::npos ? last_part(word) : "";
    if (word == "-c" || word == "-") return "";
    is_value = word == "--check-hash-based-pycs";
    if (!python || word.rfind("--", 0) == 0) continue;
    // Letters may be joined, the last one also with its value: -uWignore, -Wignore, -mx.
    const std::size_t letter = word.find_first_of("cmWX");
    if (letter == std::string::npos) continue;
    const std::string value = word.substr(letter + 1);
    if (word[letter] == 'c') return "";
    if (word[letter] == 'm' && !value.empty() && value != kRunner) return last_part(value);
    is_module = word[letter] == 'm' && value.empty();
    is_value = word[letter] != 'm' && value.empty();
  }
  return "";
}

}  // namespace

std::string program_name_in(const std::string& command_line, const std::string& kernels_name) {
  std::string name = kernels_name;
  while (!name.empty() && name.back() == '\n') name.pop_back();
  const std::string called = last_part(command_line.substr(0, command_line.find('\0')));
  if (name.size() == kLongestKernelsName && called.rfind(name, 0) == 0) name = called;
  if (is_interpreter(name)) {
    const std::string script = script_in(command_line, name.rfind("python", 0) == 0);
    if (!script.empty()) name = script;
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
