// A remote file as a Storage, and the sessions of this process.
#pragma once

#include "remote/session.h"

namespace mercutio::remote {

// The driver behind "mercutio://"; paths are host/root/name/in/it. Sessions are shared by the files of one connection.
std::unique_ptr<Driver> make_driver();

// What a remote file can beside a Storage's calls.
class RemoteStorage : public Storage {
 public:
  virtual Result<u64> checksum(i64 begin, i64 end) = 0;   // XXH3 of what lies there, made there; 16 MiB at most
  // Nobody else makes a copy in this file from now on until it is closed. EBUSY: somebody does; ESTALE: it has lost its name.
  virtual Status claim() = 0;
  virtual u64 handle() const = 0;                         // the server's
};

Result<std::unique_ptr<Storage>> open_remote(const std::shared_ptr<Session>& session, const std::string& path,
                                             const OpenOptions& options);

}  // namespace mercutio::remote
