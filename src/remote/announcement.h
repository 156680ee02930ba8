// The line that mercutiod prints when it listens and `mercutio connect` reads: mercutiod VERSION ADDRESS PORT [PROCESS].
#pragma once

#include <string>
#include <vector>

#include "remote/connection_file.h"

namespace mercutio::remote {

struct Announced {
  std::vector<Endpoint> servers;
  std::vector<i64> processes;   // process ids, of the servers that print them
};

std::string announcement(const Endpoint& at, i64 process);
// Parses the output of a start command. Lines that do not begin with "mercutiod" are ignored.
Result<Announced> read_announcements(const std::string& output);

}  // namespace mercutio::remote
