#include "arguments.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>

#include "../output.h"
#include "model/size_text.h"
#include "remote/printable.h"

namespace mercutio::remote {

static constexpr size_t kMostSaid = 16 * 1024;

Result<Arguments> Arguments::parse(int argc, char** argv, const std::vector<Option>& known) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") {   // what follows are words, whatever they begin with
      arguments.words_.insert(arguments.words_.end(), argv + i + 1, argv + argc);
      break;
    }
    if (word.starts_with("-") && word.size() > 1 && word[1] != '-') {
      MERCUTIO_TRY(arguments.take_letters(word, known));
      continue;
    }
    if (!word.starts_with("--")) {
      arguments.words_.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const auto option = std::find_if(known.begin(), known.end(), [&](const Option& o) { return name == o.name; });
    if (option == known.end()) return Error{ErrorClass::kArg, "there is no option --" + name + "; --help lists them"};
    std::string value = "yes";
    if (option->value && equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (option->value && i + 1 < argc)
      value = argv[++i];
    else if (option->value || equals != std::string::npos)
      return Error{ErrorClass::kArg, "--" + name + (option->value ? std::string(" needs ") + option->value : " takes no value")};
    arguments.given_.emplace_back(name, value);
  }
  return arguments;
}

Status Arguments::take_letters(const std::string& word, const std::vector<Option>& known) {
  for (const char letter : word.substr(1)) {
    const auto option = std::find_if(known.begin(), known.end(), [&](const Option& o) { return o.letter == letter; });
    if (option == known.end()) return Error{ErrorClass::kArg, "there is no option -" + std::string(1, letter) + "; --help lists them, and ./" + word + " is a file of that name"};
    given_.emplace_back(option->name, "yes");
  }
  return ok_status();
}

std::vector<std::string> Arguments::all(const std::string& name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : given_)
    if (key == name) values.push_back(value);
  return values;
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) const {
  const std::vector<std::string> values = all(name);
  return values.empty() ? otherwise : values.back();
}

Result<i64> Arguments::number(const std::string& name, i64 otherwise, i64 least, i64 most) const {
  constexpr size_t kShown = 40;
  if (!has(name)) return otherwise;
  const std::string given = text(name);
  const std::optional<i64> value = parse_size(given);
  if (value && *value >= least && *value <= most) return *value;
  return Error{ErrorClass::kArg, "--" + name + ": '" + (given.size() <= kShown ? given : given.substr(0, kShown) + "...") + "' must be a number from " +
                                     std::to_string(least) + " to " + std::to_string(most)};
}

static std::string help_text(const std::string& usage, const std::vector<Option>& known) {
  std::string text = usage + "\n\n";
  for (const Option& option : known) {
    std::string left = (option.letter ? std::string("  -") + option.letter + ",--" : "  --") + std::string(option.name) + (option.value ? std::string(" ") + option.value : "");
    left.resize(std::max<size_t>(left.size() + 2, 30), ' ');
    text += left + option.help + "\n";
  }
  return text;
}

void say_error(const char* command, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", command, printable(error.what, kMostSaid).c_str());
}

int run_command(const Command& command, int argc, char** argv, const std::function<Status(const Arguments&)>& body) {
  (void)::prctl(PR_SET_DUMPABLE, 0);   // its memory holds keys: no core, and no other process of the user's looks at it
  const auto arguments = Arguments::parse(argc, argv, command.options);
  if (arguments && arguments->has("help")) {
    std::printf("%s", help_text(command.usage, command.options).c_str());
    return exit_code_with_output(command.name, 0);
  }
  const Status done = arguments ? body(*arguments) : Status(arguments.error());
  if (!done) say_error(command.name, done.error());
  const bool wrong_line = !done && done.error().cls == ErrorClass::kArg && done.error().sys_errno == 0;   // a server's has a number
  return exit_code_with_output(command.name, done ? 0 : wrong_line ? 2 : 1);
}

}  // namespace mercutio::remote
