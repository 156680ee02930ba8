#include "remote/connection_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/errno_text.h"
#include "model/hints_environment.h"
#include "model/keyed_lines.h"

namespace mercutio::remote {
namespace {

constexpr i64 kMostBytes = 64 * KiB;
constexpr const char* kNoDirectory = "there is no directory for connections: HOME is not set; name one in MERCUTIO_CONNECTIONS";

struct NumberKey {
  const char* key;
  i64 Connection::*value;
  i64 low, high;
};
constexpr NumberKey kNumbers[] = {
    {"streams", &Connection::streams, 1, 16},
    {"timeout_ms", &Connection::timeout_ms, 1, i64{1} << 40},
    {"silence_ms", &Connection::silence_ms, 10, i64{1} << 40},
    {"patience_ms", &Connection::patience_ms, 1, i64{1} << 40},
    {"write_behind", &Connection::write_behind_bytes, 0, i64{1} << 40},
    {"read_ahead", &Connection::read_ahead_bytes, 0, i64{1} << 40},
};

Status parse_line(const KeyedLine& line, Connection& connection) {
  if (line.key == "host") {
    if (line.words.size() != 1) return line.wrong("one name is wanted");
    connection.host = line.words[0];
    return ok_status();
  }
  if (line.key == "key") {
    auto key = parse_key(line.words.size() == 1 ? line.words[0] : "");
    if (!key) return line.wrong(key.error().what);
    connection.key = *key;
    return ok_status();
  }
  if (line.key == "server") {
    MERCUTIO_LET(const i64 port, line.size(1));
    if (line.words.size() != 2 || port < 1 || port > 65535) return line.wrong("an address and a port are wanted");
    connection.servers.push_back({line.words[0], static_cast<int>(port)});
    return ok_status();
  }
  if (line.key == "via") {
    MERCUTIO_LET(const i64 port, line.size(1));
    if (line.words.size() != 3 || port < 1 || port > 65535) return line.wrong("an address, a port and a key are wanted");
    const auto key = parse_key(line.words[2]);
    if (!key) return line.wrong(key.error().what);
    connection.hops.push_back({{line.words[0], static_cast<int>(port)}, *key});
    return ok_status();
  }
  if (line.key == "forwarded") {
    if (!line.words.empty()) return line.wrong("no value is wanted");
    connection.forwarded = true;
    return ok_status();
  }
  if (line.key == "compress") {
    const std::string how = line.words.size() == 1 ? line.words[0] : "";
    if (how != "lz4" && how != "none") return line.wrong("lz4 or none is wanted");
    connection.lz4 = how == "lz4";
    return ok_status();
  }
  for (const NumberKey& known : kNumbers) {
    if (line.key != known.key) continue;
    MERCUTIO_LET(const i64 value, line.size());
    if (value < known.low || value > known.high)
      return line.wrong("must be from " + std::to_string(known.low) + " to " + std::to_string(known.high));
    connection.*known.value = value;
    return ok_status();
  }
  return line.wrong("an unknown key; was the file written by a newer Mercutio?");
}

Error not_connected(const std::string& host, const std::string& why) {
  return Error{ErrorClass::kIo, "no connection to '" + host + "': " + why + "; run 'mercutio connect' for it first"};
}

Result<std::string> private_text(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return error_from_errno("fstat", errno);
  if (!S_ISREG(status.st_mode)) return Error{ErrorClass::kIo, "it is no file"};
  if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
    return Error{ErrorClass::kAccess, "the connection file can be read by others than you: it holds a key; 'chmod 600' it, "
                                      "or better, connect again"};
  if (status.st_size > kMostBytes) return Error{ErrorClass::kIo, "the connection file is too long to be one"};
  std::string text(static_cast<size_t>(status.st_size), '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  if (got < 0) return error_from_errno("read", errno);
  text.resize(static_cast<size_t>(got));
  return text;
}

}  // namespace

Result<Connection> parse_connection(const std::string& text) {
  Connection connection;
  bool has_key = false;
  for (const KeyedLine& line : keyed_lines(text)) {
    MERCUTIO_TRY(parse_line(line, connection));
    has_key = has_key || line.key == "key";
  }
  if (!has_key || connection.servers.empty() || connection.host.empty())
    return Error{ErrorClass::kIo, "a connection file needs lines with host, key and server"};
  return connection;
}

std::string connection_text(const Connection& connection) {
  std::string text = "# Written by mercutio connect. Whoever can read this can use the connection.\nhost " + connection.host +
                     "\nkey " + key_text(connection.key) + "\n";
  for (const Endpoint& server : connection.servers)
    text += "server " + server.address + " " + std::to_string(server.port) + "\n";
  for (const Hop& hop : connection.hops)
    text += "via " + hop.at.address + " " + std::to_string(hop.at.port) + " " + key_text(hop.key) + "\n";
  if (connection.forwarded) text += "forwarded\n";
  if (connection.lz4) text += "compress lz4\n";
  for (const NumberKey& known : kNumbers)
    text += std::string(known.key) + " " + std::to_string(connection.*known.value) + "\n";
  return text;
}

std::string connection_directory() {
  const std::string wanted = environment("MERCUTIO_CONNECTIONS");
  return wanted.empty() ? configuration_file("connections") : wanted;
}

// Of a file in the directory of connections, whoever put it there.
static bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

bool is_connection_name(const std::string& host) {
  const auto is_odd = [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '#'; };   // these end a word of the file, or the line
  return is_plain_name(host) && std::none_of(host.begin(), host.end(), is_odd);
}

Result<std::vector<std::string>> list_connections() {
  std::vector<std::string> hosts;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(connection_directory(), failed), end; !failed && at != end; at.increment(failed))
    if (const std::string name = at->path().filename().string(); is_plain_name(name)) hosts.push_back(name);
  if (failed && failed != std::errc::no_such_file_or_directory) return Error{ErrorClass::kIo, connection_directory() + ": " + failed.message()};
  std::sort(hosts.begin(), hosts.end());
  return hosts;
}

Status remove_connection(const std::string& host) {
  if (!is_plain_name(host)) return Error{ErrorClass::kArg, "'" + host + "' can't be a host's name"};
  const std::string path = connection_directory() + "/" + host;
  return ::unlink(path.c_str()) == 0 ? ok_status() : Status(not_connected(host, path + ": " + errno_text(errno)));
}

Result<Connection> load_connection(const std::string& host) {
  if (!is_connection_name(host))
    return Error{ErrorClass::kBadFile, "a remote file is called mercutio://host/root/path, where 'mercutio connect' made host known"};
  const std::string path = connection_directory() + "/" + host;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return not_connected(host, path + ": " + errno_text(errno));
  const Result<std::string> text = private_text(fd);
  ::close(fd);
  Result<Connection> connection = text ? parse_connection(*text) : Result<Connection>(text.error());
  if (connection) return connection;
  Error error = std::move(connection).error();
  error.what = path + ": " + error.what;
  return error;
}

Status store_connection(const Connection& connection) {
  if (!is_connection_name(connection.host)) return Error{ErrorClass::kArg, "'" + connection.host + "' can't be a host's name"};
  const std::string directory = connection_directory(), path = directory + "/" + connection.host;
  if (connection_directory().empty()) return Error{ErrorClass::kArg, kNoDirectory};
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) return Error{ErrorClass::kIo, directory + ": " + failed.message()};
  std::string fresh = directory + "/." + connection.host + ".XXXXXX";   // hidden: what a killed process leaves is no connection
  const int fd = ::mkostemp(fresh.data(), O_CLOEXEC);                   // mode 0600
  const std::string text = connection_text(connection);
  const bool written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  if (written && ::rename(fresh.c_str(), path.c_str()) == 0) return ::close(fd), ok_status();
  Error error = error_from_errno("write", errno);
  error.what = fresh + ": " + error.what;
  if (fd >= 0) ::close(fd), ::unlink(fresh.c_str());
  return error;
}

}  // namespace mercutio::remote
