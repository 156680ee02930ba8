// Command lines of mercutiod, mercutio-connect, -cp and -route: long options with a value, flags (some with a letter), and words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace mercutio::remote {

inline constexpr i64 kMostSeconds = 1'000'000'000, kMostConnections = 1'000'000;   // of options

struct Option {
  const char* name;              // without the dashes
  const char* value;             // what to write there; null: a flag
  const char* help;
  char letter = 0;               // a flag's short name, -r; 0: it has none
};

class Arguments {
 public:
  // kArg: an unknown option, or one without its value.
  static Result<Arguments> parse(int argc, char** argv, const std::vector<Option>& known);

  bool has(const std::string& name) const { return !all(name).empty(); }
  std::string text(const std::string& name, const std::string& otherwise = "") const;   // the last one given
  std::vector<std::string> all(const std::string& name) const;
  Result<i64> number(const std::string& name, i64 otherwise, i64 least, i64 most) const;   // with a unit if it has one
  const std::vector<std::string>& words() const { return words_; }

 private:
  Status take_letters(const std::string& word, const std::vector<Option>& known);
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> words_;
};

struct Command {
  const char* name;    // as messages call it: "mercutio cp"
  const char* usage;   // what --help says before the options
  const std::vector<Option>& options;
};

void say_error(const char* command, const Error& error);   // on standard error

// Works on all of them. Of what fails, the last is returned, and the others are said.
template <class Items, class Work>
Status each_of(const char* command, const Items& items, Work work) {
  Status outcome = ok_status();
  for (const auto& item : items) {
    Status done = work(item);
    if (done) continue;
    if (!outcome) say_error(command, outcome.error());
    outcome = std::move(done);
  }
  return outcome;
}

// Its exit code: 0; 2 where the command line is wrong (kArg without errno); else 1. An Error is said on standard error.
int run_command(const Command& command, int argc, char** argv, const std::function<Status(const Arguments&)>& body);

}  // namespace mercutio::remote
