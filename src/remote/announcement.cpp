#include "remote/announcement.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "remote/printable.h"
#include "remote/wire.h"

namespace mercutio::remote {
namespace {

// A number from 1 to `most`; 0: it is not one.
i64 number_in(const std::string& word, i64 most) {
  i64 value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  return failed == std::errc() && end == word.data() + word.size() && value >= 1 && value <= most ? value : 0;
}

// Numeric addresses, with scopes, and names. Nothing that has another meaning in a connection file or a shell.
bool is_address(const std::string& word) {
  constexpr size_t kMostBytes = 255;
  const auto fits = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || std::string_view(".:%_-").find(c) != std::string_view::npos; };
  return word.size() <= kMostBytes && std::all_of(word.begin(), word.end(), fits);
}

}  // namespace

std::string announcement(const Endpoint& at, i64 process) {
  return "mercutiod " + std::to_string(kProtocolVersion) + " " + at.address + " " + std::to_string(at.port) + " " + std::to_string(process);
}

Result<Announced> read_announcements(const std::string& output) {
  Announced announced;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream rest(line);
    std::vector<std::string> words;
    for (std::string word; rest >> word;) words.push_back(word);
    if (words.size() < 4 || words[0] != "mercutiod") continue;
    if (words[1] != std::to_string(kProtocolVersion))
      return Error{ErrorClass::kOther, "mercutiod there speaks version " + printable(words[1], 20) + " of the protocol, this is version " +
                                           std::to_string(kProtocolVersion) + ": install the same Mercutio on both sides"};
    const i64 port = number_in(words[3], 65535);
    const i64 process = words.size() > 4 ? number_in(words[4], INT32_MAX) : -1;
    if (port == 0 || process == 0 || !is_address(words[2]))
      return Error{ErrorClass::kOther, "mercutiod there does not say where it listens: '" + printable(line, 200) + "'; install the same Mercutio on both sides"};
    announced.servers.push_back({words[2], static_cast<int>(port)});
    if (process > 0) announced.processes.push_back(process);
  }
  if (announced.servers.empty()) return Error{ErrorClass::kOther, "mercutiod did not start there; what it said stands above"};
  return announced;
}

}  // namespace mercutio::remote
