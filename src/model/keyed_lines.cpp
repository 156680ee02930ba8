#include "model/keyed_lines.h"

#include <sstream>

#include "model/size_text.h"

namespace mercutio {

Error KeyedLine::wrong(const std::string& why) const {
  return Error::in_line(number, key + ": " + why);
}

Result<i64> KeyedLine::size(size_t word) const {
  if (word >= words.size()) return wrong("a number is missing");
  const std::optional<i64> value = parse_size(words[word]);
  if (!value) return wrong("'" + words[word] + "' is no number of the kind 64, 4k or 1MiB");
  return *value;
}

Result<std::vector<i64>> KeyedLine::sizes() const {
  std::vector<i64> all;
  if (words.empty()) return wrong("a number is missing");
  for (size_t word = 0; word < words.size(); ++word) {
    MERCUTIO_LET(const i64 value, size(word));
    all.push_back(value);
  }
  return all;
}

Result<bool> KeyedLine::yes_or_no() const {
  if (words.empty()) return true;
  MERCUTIO_LET(const size_t which, one_of({"yes", "no"}));
  return which == 0;
}

Result<size_t> KeyedLine::one_of(const std::vector<std::string_view>& choices) const {
  std::string all;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (words.size() == 1 && words[0] == choices[i]) return i;
    all += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + std::string(choices[i]);
  }
  return wrong("must be " + all);
}

std::vector<KeyedLine> keyed_lines(const std::string& text) {
  std::vector<KeyedLine> lines;
  std::istringstream input(text);
  i64 number = 0;
  for (std::string line; std::getline(input, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    KeyedLine keyed;
    keyed.number = number;
    if (!(words >> keyed.key)) continue;
    for (std::string word; words >> word;) keyed.words.push_back(word);
    lines.push_back(std::move(keyed));
  }
  return lines;
}

}  // namespace mercutio
