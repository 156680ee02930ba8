#include "model/memory_kinds.h"

#include "base/trim.h"

namespace mercutio {
namespace {

// The first of a list, taken off it.
std::string_view next_kind(std::string_view& list) {
  const size_t comma = list.find(',');
  const std::string_view kind = list.substr(0, comma);
  list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  return trimmed(kind);
}

bool has(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const std::string_view kind = next_kind(list);
    if (kind == wanted || kind == wanted.substr(0, wanted.find(':'))) return true;
  }
  return false;
}

}  // namespace

bool kinds_cover(std::string_view supported, std::string_view asserted) {
  while (!asserted.empty()) {
    if (!has(supported, next_kind(asserted))) return false;
  }
  return true;
}

}  // namespace mercutio
