// How to reach a server: what `mercutio connect` writes for jobs to find. Lines of a key and its values:
//   host dtn.far.example          for messages
//   key 64 hexadecimal digits     whoever has it can do what the server allows
//   server address port           one or more; the ranks of a program spread over them
//   via address port key          a router on the way, 'mercutio route'; more of them in the order of the way
//   streams 4                     the most connections of a process to its server, 1 to 16
//   compress lz4                  file data goes compressed where it shrinks; none: never
//   timeout_ms, silence_ms, patience_ms, write_behind, read_ahead    see docs/engineers/remote.md
#pragma once

#include <string>
#include <vector>

#include "remote/tls.h"

namespace mercutio::remote {

struct Endpoint {
  std::string address;
  int port = 0;
  bool operator==(const Endpoint&) const = default;
};

struct Hop {
  Endpoint at;
  Key key{};   // the router's
  bool operator==(const Hop&) const = default;
};

struct Connection {
  std::string host;
  Key key{};
  std::string identity = kOwnIdentity;   // the key's; not in the file
  std::vector<Endpoint> servers;
  std::vector<Hop> hops;
  i64 streams = 4;
  bool lz4 = false;
  i64 timeout_ms = 300'000;       // for one request but a lock, which may wait for ever while its server lives
  i64 silence_ms = 30'000;        // a stream that says nothing for so long is cut and made anew
  i64 patience_ms = 60'000;       // without any stream for so long, the server is gone
  i64 write_behind_bytes = 32 * MiB;   // of a file under way when a write returns, where mercutio_write_behind allows it
  i64 read_ahead_bytes = 32 * MiB;     // asked for in advance, where mercutio_read_ahead allows it
  bool operator==(const Connection&) const = default;
};

Result<Connection> parse_connection(const std::string& text);
std::string connection_text(const Connection& connection);

// $MERCUTIO_CONNECTIONS, else mercutio/connections in $XDG_CONFIG_HOME or ~/.config.
std::string connection_directory();
// kIo: there is none, or others than its owner may read it.
Result<Connection> load_connection(const std::string& host);
Status store_connection(const Connection& connection);   // readable by its owner only
bool is_connection_name(const std::string& host);         // that of a file
Result<std::vector<std::string>> list_connections();      // by name
Status remove_connection(const std::string& host);

}  // namespace mercutio::remote
