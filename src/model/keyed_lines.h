// Text made of lines "key word word ...", as machine and pattern files are: `#` begins a comment, empty lines don't count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mercutio {

struct KeyedLine {
  i64 number = 0;   // in the text, from 1
  std::string key;
  std::vector<std::string> words;

  Error wrong(const std::string& why) const;                    // "line 3: cb: ..."
  Result<i64> size(size_t word = 0) const;                      // with a unit if it has one
  Result<std::vector<i64>> sizes() const;                       // all words, at least one
  Result<bool> yes_or_no() const;                               // no word: yes
  Result<size_t> one_of(const std::vector<std::string_view>& choices) const;   // which of them the only word is
};

std::vector<KeyedLine> keyed_lines(const std::string& text);

}  // namespace mercutio
