#include "numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "model/size_text.h"

namespace mercutio::tool {
namespace {

constexpr double kMostSeconds = 1e9;

std::string cut(const std::string& text) {
  constexpr std::size_t kShown = 40;
  return "'" + (text.size() <= kShown ? text : text.substr(0, kShown) + "...") + "'";
}

// What CLI11 reads afterwards is in `text`.
std::string check(std::string& text, std::optional<i64> value, i64 least, i64 most, const std::string& must_be) {
  if (!value || *value < least || *value > most) return cut(text) + " must be " + must_be;
  text = std::to_string(*value);
  return "";
}

std::optional<i64> whole(const std::string& text) {
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// 32MB is 32,000,000.
std::optional<i64> decimal_size(const std::string& text) {
  constexpr std::size_t kDigits = 18;
  const std::size_t digits = text.find_first_not_of("0123456789");
  const std::string units = "kmgt";
  const std::size_t power = digits == std::string::npos ? std::string::npos : units.find(static_cast<char>(std::tolower(text[digits])));
  const std::string rest = power == std::string::npos ? "" : text.substr(digits + 1);
  if (power == std::string::npos || digits == 0 || digits > kDigits || (!rest.empty() && rest != "b" && rest != "B")) return parse_size(text);
  const double value = std::strtod(text.substr(0, digits).c_str(), nullptr) * std::pow(1000, static_cast<double>(power + 1));
  return value < 9e18 ? std::optional(static_cast<i64>(value)) : std::nullopt;
}

}  // namespace

CLI::Validator whole_number(i64 least, i64 most) {
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  return CLI::Validator([=](std::string& text) { return check(text, whole(text), least, most, "a whole number from " + range); }, range);
}

CLI::Validator size_number(i64 least, i64 most, Units units) {
  const std::string range = size_text(least) + " to " + size_text(most);
  return CLI::Validator([=](std::string& text) {
    return check(text, units == Units::kDecimal ? decimal_size(text) : parse_size(text), least, most, "a number of bytes from " + range + ", such as 65536, 64k or 16MiB");
  }, range);
}

CLI::Validator seconds_number() {
  return CLI::Validator([](std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool fits = end != text.c_str() && *end == '\0' && value > 0 && value <= kMostSeconds;
    return fits ? "" : cut(text) + " must be a number of seconds of more than 0, and at most 1000000000";
  }, "SECONDS");
}

}  // namespace mercutio::tool
