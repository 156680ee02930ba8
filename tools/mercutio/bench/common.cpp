#include "common.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "../process.h"
#include "../python.h"

namespace mercutio::tool {

int plot(const std::string& json, const std::string& picture) {
  const std::string script = resolved(own_directory() + "/../share/mercutio/bench/plot.py");
  const std::string python = find_python("matplotlib");
  if (python.empty() || script.empty()) {
    std::fprintf(stderr, "mercutio bench: %s; no plot was made\n",
                 python.empty() ? "python3 was not found" : "plot.py is not installed");
    return 1;
  }
  const Output output = capture({python, script, json, picture}, 120);
  std::fputs(output.text.c_str(), output.exit_code == 0 ? stdout : stderr);
  return output.exit_code == 0 ? 0 : 1;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string joined(const Words& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

Words split(const std::string& text, char separator) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

FlatJson parse_flat_json(const std::string& line) {
  FlatJson values;
  const auto begin = line.find('{');
  if (begin == std::string::npos || line.find('}', begin) == std::string::npos) return values;
  for (std::size_t at = begin; (at = line.find('"', at)) != std::string::npos;) {
    const auto end = line.find('"', at + 1);
    const auto colon = end == std::string::npos ? end : line.find(':', end);
    if (colon == std::string::npos) break;
    const std::string key = line.substr(at + 1, end - at - 1);
    std::size_t from = line.find_first_not_of(' ', colon + 1);
    if (from == std::string::npos) break;
    const bool quoted = line[from] == '"';
    from += quoted;
    std::string value;
    for (at = from; at < line.size() && (quoted ? line[at] != '"' : line[at] != ',' && line[at] != '}'); ++at) {
      if (quoted && line[at] == '\\' && at + 1 < line.size()) ++at;
      value += line[at];
    }
    values[key] = std::move(value);
    at += quoted;
  }
  return values;
}

double number(const FlatJson& values, const char* key) {
  const auto found = values.find(key);
  return found == values.end() ? 0 : std::atof(found->second.c_str());
}

void json_number(std::ostream& out, const char* name, const std::optional<double>& value) {
  out << ", \"" << name << "\": ";
  if (value)
    out << *value;
  else
    out << "null";
}

}  // namespace mercutio::tool
