// A remote file as a Storage.
#pragma once

#include "remote/session.h"

namespace mercutio::remote {

// The driver of the prefix "mercutio://". Paths are host/root/name/in/it. The files of one connection share its sessions.
std::unique_ptr<Driver> make_driver();

// The operations of a remote file beyond those of a Storage: what open_remote returns where the options allow no cache.
class RemoteStorage : public Storage {
 public:
  virtual Result<u64> checksum(i64 begin, i64 end) = 0;   // XXH3 of these bytes, computed on the server; at most 16 MiB
  // Until the file is closed, no other client can claim it as the target of a copy. EBUSY: another has; ESTALE: the file has lost
  // its name.
  virtual Status claim() = 0;
  virtual u64 handle() const = 0;                         // the server's handle
};

// `identity`: where to tell which file it is; the server may be older than the question.
Result<std::unique_ptr<Storage>> open_remote(const std::shared_ptr<Session>& session, const std::string& path, const OpenOptions& options,
                                             std::optional<FileIdentity>* identity = nullptr);

}  // namespace mercutio::remote
