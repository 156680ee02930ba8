#include "model/environment_check.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/edit_distance.h"

namespace mercutio {
namespace {

struct Variable {
  std::string_view name, values;
};
constexpr Variable kVariables[] = {
#define MERCUTIO_ENVIRONMENT(reader, name, value, text) {#name, value},
#include "model/environment.def"
#undef MERCUTIO_ENVIRONMENT
};
constexpr std::string_view kOfOthers[] = {"MERCUTIO_ROOT", "MERCUTIO_DIR", "MERCUTIO_HOME", "MERCUTIO_VERSION"};   // modulefiles set them
constexpr std::string_view kTests = "MERCUTIO_TEST_";

// Null: Mercutio has none of this name.
const Variable* find_variable(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kVariables), std::end(kVariables), [name](const Variable& one) { return one.name == name; });
  return found == std::end(kVariables) ? nullptr : found;
}

std::string_view closest(std::string_view name) {
  std::string_view best;
  i64 least = believable_mistakes(name) + 1;
  for (const Variable& known : kVariables) {
    const i64 distance = edit_distance(name, known.name);
    if (distance < least) least = distance, best = known.name;
  }
  return best;
}

// "spread or bound" and "memory, window or file" are names; "0 or a TOML file" is not.
std::vector<std::string_view> names_in(std::string_view values) {
  std::vector<std::string_view> names;
  while (true) {
    const std::size_t end = std::min(values.find(", "), values.find(" or "));
    names.push_back(values.substr(0, end));
    if (names.back().find_first_of(" =") != std::string_view::npos) return {};
    if (end == std::string_view::npos) return names;
    values.remove_prefix(end + (values[end] == ',' ? 2 : 4));
  }
}

}  // namespace

std::string values_instead(const std::string& name, const std::string& value) {
  const Variable* const known = find_variable(name);
  if (!known || value.empty()) return "";
  std::vector<std::string_view> names = names_in(known->values);
  if (known->values == "0 or 1") names.insert(names.end(), {"no", "yes", "off", "on", "false", "true"});
  return names.size() < 2 || std::find(names.begin(), names.end(), value) != names.end() ? "" : std::string(known->values);
}

std::vector<std::string> unknown_variables(const char* const* environment) {
  constexpr std::size_t kLongest = 64;
  std::vector<std::string> sentences;
  for (; environment && *environment; ++environment) {
    const std::string_view entry = *environment, name = entry.substr(0, std::min(entry.find('='), kLongest));
    if (!name.starts_with("MERCUTIO_") || name.starts_with(kTests)) continue;
    if (find_variable(name) || std::find(std::begin(kOfOthers), std::end(kOfOthers), name) != std::end(kOfOthers)) continue;
    const std::string_view meant = closest(name);
    sentences.push_back(std::string(name) + " is no variable of Mercutio" + (meant.empty() ? "" : "; did you mean " + std::string(meant) + "?"));
  }
  return sentences;
}

}  // namespace mercutio
