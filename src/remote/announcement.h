// The line that mercutiod prints when it listens, which `mercutio connect` reads: mercutiod VERSION ADDRESS PORT [PROCESS].
#pragma once

#include <string>
#include <vector>

#include "remote/connection_file.h"

namespace mercutio::remote {

struct Announced {
  std::vector<Endpoint> servers;
  std::vector<i64> processes;   // of the servers that say theirs
};

std::string announcement(const Endpoint& at, i64 process);
// Of all that a starter printed; lines that begin with another word are somebody else's.
Result<Announced> read_announcements(const std::string& output);

}  // namespace mercutio::remote
