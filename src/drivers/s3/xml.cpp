#include "xml.h"

#include <algorithm>
#include <utility>

namespace mercutio_s3 {
namespace {

constexpr std::pair<std::string_view, char> kEntities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&#34;", '"'}, {"&#39;", '\''}, {"&amp;", '&'}};

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto* const found = std::find_if(std::begin(kEntities), std::end(kEntities), [&](const auto& entity) { return text.substr(at).starts_with(entity.first); });
    const bool entity = found != std::end(kEntities);
    out += entity ? found->second : text[at];
    at += entity ? found->first.size() : 1;
  }
  return out;
}

}  // namespace

std::vector<std::string_view> elements(std::string_view xml, std::string_view name) {
  std::vector<std::string_view> found;
  const std::string open = "<" + std::string(name), close = "</" + std::string(name) + ">";
  for (size_t at = xml.find(open); at != std::string_view::npos; at = xml.find(open, at)) {
    const size_t after = at + open.size();
    const bool whole = after < xml.size() && (xml[after] == '>' || xml[after] == ' ');
    const size_t begin = whole ? xml.find('>', after) : std::string_view::npos, end = whole ? xml.find(close, after) : std::string_view::npos;
    if (whole && (begin == std::string_view::npos || end == std::string_view::npos || end <= begin)) break;
    if (whole) found.push_back(xml.substr(begin + 1, end - begin - 1));
    at = whole ? end + close.size() : after;
  }
  return found;
}

std::string text_of(std::string_view xml, std::string_view name) {
  const auto found = elements(xml, name);
  return found.empty() ? "" : unescaped(found.front());
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto* const found = std::find_if(std::begin(kEntities), std::end(kEntities), [&](const auto& entity) { return entity.second == c; });
    if (found == std::end(kEntities)) out += c;
    else out += found->first;
  }
  return out;
}

}  // namespace mercutio_s3
