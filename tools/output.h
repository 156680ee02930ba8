// What a command prints counts once it is written: on a full disk the command fails.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace mercutio {

// The exit code of a command that has done its work, and would end with `code`. An Error of standard output is said on standard error.
inline int exit_code_with_output(const char* command, int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "%s: the output could not be written: %s\n", command, std::strerror(errno ? errno : EIO));
  return code == 0 ? 1 : code;
}

}  // namespace mercutio
