// The connection file, which `mercutio connect` writes and jobs read: how to reach a server. Each line has a key and its values:
//   host dtn.far.example          the name used in messages
//   key 64 hexadecimal digits     grants everything that the server allows
//   server address port           one or more; the ranks of a program are distributed over them
//   forwarded                     the server's port is one of this machine, where ssh takes what it carries (--forward)
//   via address port key          a router on the way, `mercutio route`; several in the order of the way
//   streams 4                     maximum number of connections of a process to its server, 1 to 16
//   compress lz4                  compress file data if that makes it smaller; none: never
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
  Key key{};   // of the router
  bool operator==(const Hop&) const = default;
};

struct Connection {
  std::string host;
  Key key{};
  std::string identity = kOwnIdentity;   // of the key; not in the file
  std::vector<Endpoint> servers;
  std::vector<Hop> hops;
  bool forwarded = false;         // that the port refuses a connection says nothing of the server
  i64 streams = 4;
  bool lz4 = false;
  i64 timeout_ms = 300'000;       // for one request, except a lock, which may wait for ever while its server is alive
  i64 silence_ms = 30'000;        // a stream without any message for this time is cut and reconnected
  i64 patience_ms = 60'000;       // without any stream for this time, the server counts as dead
  i64 write_behind_bytes = 32 * MiB;   // maximum data of a file in flight when a write returns, if mercutio_write_behind allows it
  i64 read_ahead_bytes = 32 * MiB;     // maximum data requested in advance, if mercutio_read_ahead allows it
  bool operator==(const Connection&) const = default;
};

Result<Connection> parse_connection(const std::string& text);
std::string connection_text(const Connection& connection);

// $MERCUTIO_CONNECTIONS, else mercutio/connections in $XDG_CONFIG_HOME or ~/.config.
std::string connection_directory();
// kIo: the file does not exist, or other users may read it.
Result<Connection> load_connection(const std::string& host);
Status store_connection(const Connection& connection);   // readable by its owner only
bool is_connection_name(const std::string& host);         // whether it may be a file name
Result<std::vector<std::string>> list_connections();      // sorted by name
Status remove_connection(const std::string& host);

}  // namespace mercutio::remote
