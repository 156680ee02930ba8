// What this machine offers to MPI-IO, and why something it lacks is lacking.
#pragma once

#include <string>

namespace mercutio::tool {

enum class Verdict { kOk, kNote, kProblem };

struct Finding {
  Verdict verdict;
  std::string subject, text;
};

Finding check_directory(const std::string& directory);  // file system, room, may we write there
Finding check_locks(const std::string& directory);      // byte-range locks between processes
Finding check_preallocation(const std::string& directory);
Finding check_io_uring();
Finding check_shared_memory();

}  // namespace mercutio::tool
