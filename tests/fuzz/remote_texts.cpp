// Text that comes from the other cluster or from files: what a starter prints, connection files, roots, keys. An error, or
// something whole: ports and numbers in range, words that a shell and a connection file take for what they are, and what is
// written down again is understood alike.
#include <algorithm>
#include <cctype>

#include "fuzz.h"
#include "remote/announcement.h"
#include "remote/exports.h"

namespace mercutio::fuzz {
namespace {

using namespace remote;

void check_address(const Endpoint& at) {
  FUZZ_CHECK(at.port >= 1 && at.port <= 65535, "a port " + std::to_string(at.port));
  FUZZ_CHECK(!at.address.empty() && at.address.find_first_of(" \t\n\r#'\"`$;&|<>") == std::string::npos, "an address: " + at.address);
}

// By an own reading: lines whose first word is mercutiod and that have four words or more.
i64 lines_meant(const std::string& text) {
  i64 count = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    const size_t end = std::min(text.find('\n', at), text.size());
    i64 words = 0;
    std::string first;
    for (size_t i = at; i < end; ++i) {
      if (std::isspace(static_cast<unsigned char>(text[i]))) continue;
      if (i == at || std::isspace(static_cast<unsigned char>(text[i - 1]))) ++words;
      if (words == 1) first += text[i];
    }
    count += first == "mercutiod" && words >= 4;
    at = end;
  }
  return count;
}

void check_announcements(const std::string& text) {
  const auto announced = read_announcements(text);
  if (!announced) return;
  FUZZ_CHECK(static_cast<i64>(announced->servers.size()) == lines_meant(text), "a line is left out, or one too many");
  FUZZ_CHECK(announced->processes.size() <= announced->servers.size(), "processes of no server");
  std::string again;
  for (const Endpoint& server : announced->servers) {
    check_address(server);
    again += announcement(server, 1) + "\n";
  }
  for (const i64 process : announced->processes) FUZZ_CHECK(process >= 1 && process <= INT32_MAX, "a process " + std::to_string(process));
  const auto back = read_announcements(again);
  FUZZ_CHECK(back.ok() && back->servers == announced->servers, "what is announced is read in another way");
}

void check_connection(const std::string& text) {
  const auto connection = parse_connection(text);
  if (!connection) return;
  FUZZ_CHECK(!connection->servers.empty() && !connection->host.empty(), "a connection to nowhere");
  for (const Endpoint& server : connection->servers) FUZZ_CHECK(server.port >= 1 && server.port <= 65535, "a port");
  for (const Hop& hop : connection->hops) FUZZ_CHECK(hop.at.port >= 1 && hop.at.port <= 65535, "a router's port");
  FUZZ_CHECK(connection->streams >= 1 && connection->streams <= 16, "streams");
  FUZZ_CHECK(connection->timeout_ms >= 1 && connection->silence_ms >= 10 && connection->patience_ms >= 1, "times");
  FUZZ_CHECK(connection->write_behind_bytes >= 0 && connection->read_ahead_bytes >= 0, "memory");
  const auto back = parse_connection(connection_text(*connection));
  FUZZ_CHECK(back.ok() && *back == *connection, "what is written down is read in another way");
}

void check_export(const std::string& text) {
  const auto one = parse_export(text);
  if (!one) return;
  FUZZ_CHECK(!one->name.empty() && one->name.find('/') == std::string::npos && one->name.find('=') == std::string::npos, "a name");
  const bool of_home = one->directory == "~" || one->directory.starts_with("~/");
  FUZZ_CHECK((one->directory.starts_with("/") || of_home || DriverRoot::is_name(one->directory)) && text.starts_with(one->name + "=" + one->directory), "a directory that was not named");
  FUZZ_CHECK(one->writable == text.ends_with(":rw"), "what may be written");
}

void check_key(const std::string& text) {
  const auto key = parse_key(text);
  const bool valid = text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  FUZZ_CHECK(key.ok() == valid, "a key");
  if (key) FUZZ_CHECK(key_text(*key) == text, "another key");
}

}  // namespace

Input example(Random& random) {
  const char* const numbers[] = {"1", "4", "65535", "65536", "0", "-1", "32MiB", "4k", "99999999999999999999", "0x10", "7a", ""};
  const auto number = [&] { return std::string(numbers[static_cast<size_t>(pick(random, 0, static_cast<i64>(std::size(numbers)) - 1))]); };
  const std::string key(64, "0123456789abcdef"[pick(random, 0, 15)]);
  std::string text(1, static_cast<char>(pick(random, 0, 3)));
  if (text[0] == 0) {
    for (i64 lines = pick(random, 0, 3); lines > 0; --lines) {
      const bool good = pick(random, 0, 3) != 0;
      text += "mercutiod 2 10.0.0." + std::to_string(pick(random, 1, 9)) + " " + (good ? std::to_string(pick(random, 1, 65535)) : number());
      if (pick(random, 0, 1) == 1) text += " " + (good ? std::to_string(pick(random, 1, 99999)) : number());
      text += "\n";
    }
  } else if (text[0] == 1) {
    text += "host far.example\nkey " + key + "\nserver 10.0.0.1 " + std::to_string(pick(random, 1, 65535)) + "\n";
    if (pick(random, 0, 2) == 0) text += "via [::1] 4000 " + key + "\n";
    const char* const keys[] = {"streams", "timeout_ms", "silence_ms", "patience_ms", "write_behind", "read_ahead", "compress", "server"};
    for (i64 lines = pick(random, 0, 4); lines > 0; --lines)
      text += std::string(keys[static_cast<size_t>(pick(random, 0, 7))]) + " " + number() + (pick(random, 0, 5) == 0 ? " # why" : "") + "\n";
  } else if (text[0] == 2) {
    text += std::string(pick(random, 0, 4) == 0 ? "" : "data") + "=/scratch/me" + (pick(random, 0, 1) == 0 ? ":rw" : pick(random, 0, 1) == 0 ? ":ro" : "");
  } else {
    text += key;
  }
  return input_of(text);
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio::fuzz;
  Taker taker(std::as_bytes(std::span(data, size)));
  const auto which = taker.byte() % 4;
  const std::string text(reinterpret_cast<const char*>(taker.rest().data()), taker.rest().size());
  start_measuring_memory();
  if (which == 0) check_announcements(text);
  if (which == 1) check_connection(text);
  if (which == 2) check_export(text);
  if (which == 3) check_key(text);
  FUZZ_CHECK(most_memory_used() <= 64 * mercutio::KiB + 256 * static_cast<mercutio::i64>(size), std::to_string(most_memory_used()) + " bytes of memory");
  return 0;
}
