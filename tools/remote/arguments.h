// Command lines of mercutiod and mercutio-connect: long options with a value, flags, and words.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace mercutio::remote {

struct Option {
  const char* name;              // without the dashes
  const char* value;             // what to write there; null: a flag
  const char* help;
};

class Arguments {
 public:
  // kArg: an unknown option, or one without its value.
  static Result<Arguments> parse(int argc, char** argv, const std::vector<Option>& known);

  bool has(const std::string& name) const { return !all(name).empty(); }
  std::string text(const std::string& name, const std::string& otherwise = "") const;   // the last one given
  std::vector<std::string> all(const std::string& name) const;
  Result<i64> number(const std::string& name, i64 otherwise) const;                     // with a unit if it has one
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::pair<std::string, std::string>> given_;
  std::vector<std::string> words_;
};

std::string help_text(const std::string& usage, const std::vector<Option>& known);

}  // namespace mercutio::remote
