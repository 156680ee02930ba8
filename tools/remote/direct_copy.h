// A copy between two servers that doesn't pass through this machine: the one that has the file sends it to the other one.
#pragma once

#include <functional>

#include "remote/copy.h"
#include "remote/file.h"
#include "remote/host.h"

namespace mercutio::remote {

struct DirectEnds {
  RemoteHost& from;
  const std::string& path;      // of the source
  RemoteHost& to;
  const std::string& part;      // of the file that the copy is made in, which this program has claimed
  RemoteStorage& file;          // that file
};

// Empty: it is made. Else why these servers can't, and nothing was written.
Result<std::string> copy_directly(const DirectEnds& ends, const CopySettings& settings, const std::function<void(i64 done)>& moved);

}  // namespace mercutio::remote
