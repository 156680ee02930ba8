// Error texts: one line that names the operation, the file, the place, the rank, the host, and the cause
// (whose advice stands in the Error already).
#include "file/open_file.h"

namespace mercutio {

std::string OpenFile::describe(const char* operation, const Error& error) const {
  std::string line = std::string(operation) + ": file '" + name_ + "'";
  if (error.offset >= 0) line += ", offset " + std::to_string(error.offset);
  if (error.bytes >= 0) line += ", " + std::to_string(error.bytes) + " bytes";
  line += ", rank " + std::to_string(comm_->rank()) + " on host " + comm_->host() + ": ";
  line += error.what.empty() ? error_class_name(error.cls) : error.what;
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  return line;
}

}  // namespace mercutio
