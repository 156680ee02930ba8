// Generated from the same table as the parser, so that it can't say anything else.
#include "hint_table.h"

#include <cstdio>
#include <sstream>

#include "model/hints.h"

namespace mercutio::tool {
namespace {

struct Row {
  std::string name, initial, aliases, unit, when, doc;
  long long low, high;
  bool agree;
};

std::string shown(Toggle value) {
  return value == Toggle::kEnable ? "enable" : value == Toggle::kDisable ? "disable" : "automatic";
}
std::string shown(bool value) {
  return value ? "true" : "false";
}
std::string shown(i64 value) {
  return std::to_string(value);
}
std::string shown(const std::string& value) {
  return value.empty() ? "(none)" : value;
}

constexpr const char *kOpen = "at open", *kAnyTime = "any time", *kOutput = "reported only";

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
#define MERCUTIO_HINT(type, name, initial, alias, low, high, unit, when, agree, doc) \
  {#name, shown(static_cast<type>(initial)), alias, unit, when, doc, low, high, agree},
#include "model/hints.def"
#undef MERCUTIO_HINT
  };
  return kRows;
}

bool is_named(const Row& row, const std::string& name) {
  if (row.name == name) return true;
  std::istringstream words(row.aliases);
  for (std::string alias; words >> alias;) {
    if (alias == name) return true;
  }
  return false;
}

}  // namespace

int list_hints() {
  for (const Row& row : rows())
    std::printf("%-28s %-10s %-13s %s\n", row.name.c_str(), row.initial.c_str(), row.when.c_str(), row.doc.c_str());
  return 0;
}

int explain_hint(const std::string& name) {
  for (const Row& row : rows()) {
    if (!is_named(row, name)) continue;
    std::printf("%s\n  %s\n  default: %s\n", row.name.c_str(), row.doc.c_str(), row.initial.c_str());
    if (row.high > row.low)
      std::printf("  range: %lld to %lld %s\n", row.low, row.high,
                  row.unit == "bytes" ? "bytes (units such as 64k or 16MiB are understood)" : "");
    if (!row.aliases.empty()) std::printf("  also accepted: %s\n", row.aliases.c_str());
    std::printf("  set: %s\n  %s\n", row.when.c_str(),
                row.agree ? "rank 0's value counts for all ranks" : "each rank's own");
    return 0;
  }
  std::fprintf(stderr, "mercutio: no hint is called '%s'; `mercutio hints` lists them\n", name.c_str());
  return 1;
}

}  // namespace mercutio::tool
