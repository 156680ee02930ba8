#include "model/environment_check.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/edit_distance.h"

namespace mercutio {
namespace {

constexpr std::string_view kNames[] = {
#define MERCUTIO_ENVIRONMENT(reader, name, value, text) #name,
#include "model/environment.def"
#undef MERCUTIO_ENVIRONMENT
};
struct Values {
  std::string_view name, values;
};
constexpr Values kValues[] = {
#define MERCUTIO_ENVIRONMENT(reader, name, value, text) {#name, value},
#include "model/environment.def"
#undef MERCUTIO_ENVIRONMENT
};
constexpr std::string_view kOfOthers[] = {"MERCUTIO_ROOT", "MERCUTIO_DIR", "MERCUTIO_HOME", "MERCUTIO_VERSION"};   // modulefiles set them
constexpr std::string_view kTests = "MERCUTIO_TEST_";

std::string_view closest(std::string_view name) {
  std::string_view best;
  i64 least = believable_mistakes(name) + 1;
  for (const std::string_view known : kNames) {
    const i64 distance = edit_distance(name, known);
    if (distance < least) least = distance, best = known;
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
  const auto known = std::find_if(std::begin(kValues), std::end(kValues), [&](const Values& one) { return one.name == name; });
  if (known == std::end(kValues) || value.empty()) return "";
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
    const auto is_it = [name](std::string_view known) { return known == name; };
    if (std::any_of(std::begin(kNames), std::end(kNames), is_it) || std::any_of(std::begin(kOfOthers), std::end(kOfOthers), is_it)) continue;
    const std::string_view meant = closest(name);
    sentences.push_back(std::string(name) + " is no variable of Mercutio" + (meant.empty() ? "" : "; did you mean " + std::string(meant) + "?"));
  }
  return sentences;
}

}  // namespace mercutio
