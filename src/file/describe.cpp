// Error texts: one line that names the operation, the file, the place, the rank, the host, the cause, and what helps.
#include <cerrno>

#include "file/open_file.h"

namespace mercutio {
namespace {

const char* advice(const Error& error) {
  switch (error.sys_errno) {
    case ENOSPC: return "free space on the file system, or write elsewhere";
    case EDQUOT: return "ask for more quota, or delete files of your own";
    case EACCES:
    case EPERM: return "check the permissions of the file and of its directory";
    case ENOENT: return "check the name, and that every node sees the file system";
    case EROFS: return "the file system is mounted read-only";
    case EFBIG: return "check the file size limit (ulimit -f) and what the file system allows";
    case EMFILE:
    case ENFILE: return "close files, or raise the limit of open files (ulimit -n)";
    case EISDIR: return "the name belongs to a directory";
    case ENOLCK:
    case ENOSYS:
    case EOPNOTSUPP: return "the file system doesn't support this; check its mount options";
    case ESTALE: return "the file was replaced or removed by another node; open it again";
    case EIO: return "the storage reports a defect; ask the administrator";
    default: return nullptr;
  }
}

}  // namespace

std::string OpenFile::describe(const char* operation, const Error& error) const {
  std::string line = std::string(operation) + ": file '" + name_ + "'";
  if (error.offset >= 0) line += ", offset " + std::to_string(error.offset);
  if (error.bytes >= 0) line += ", " + std::to_string(error.bytes) + " bytes";
  line += ", rank " + std::to_string(comm_->rank()) + " on host " + comm_->host() + ": ";
  line += error.what.empty() ? error_class_name(error.cls) : error.what;
  if (const char* help = advice(error)) line += std::string(": ") + help;
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  return line;
}

}  // namespace mercutio
