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

}  // namespace

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
