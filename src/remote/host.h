// Operations on the files of a server by name, for the commands: list, rename, read and write whole small files. Functions
// begin_... return while the request is in flight, so several of them take one round trip.
#pragma once

#include "remote/file.h"
#include "remote/session.h"

namespace mercutio::remote {

class RemoteHost {
 public:
  explicit RemoteHost(const std::string& host) : host_(host) {}
  const std::string& name() const { return host_; }

  Result<std::shared_ptr<Session>> session();   // a new session if the last one ended because it was unused
  Result<std::shared_ptr<CallJob>> begin(Kind kind, const NameRequest& request);
  Result<Reply> call(Kind kind, const NameRequest& request);

  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options, std::optional<FileIdentity>* identity = nullptr);
  // `linked`: symbolic links are followed in the first so many bytes of the path only; 0: in all of it.
  Result<std::shared_ptr<CallJob>> begin_remove(const std::string& path, i64 linked = 0);
  Status remove(const std::string& path, i64 linked = 0);
  // Claims `file`, which is open as `path`, as the target of a copy until it is closed. A copy that a dead client began at another
  // server of the connection loses the file. EBUSY: another copy is in progress.
  Status claim(RemoteStorage& file, const std::string& path);
  Result<FileStatus> status(const std::string& path);
  Result<FileStatus> own_status(const std::string& path);   // does not follow a symbolic link
  Result<std::string> read_link(const std::string& path);
  Result<Space> space(const std::string& path);
  Result<std::vector<ListEntry>> list(const std::string& path, i64 linked = 0);
  Result<std::vector<Extent>> extents(const std::string& path);

 private:
  Result<std::shared_ptr<CallJob>> begin(Kind kind, Buffer message);
  Result<Reply> ask(Kind kind, const Buffer& message);
  const std::string host_;
  std::mutex mutex_;
  std::shared_ptr<Session> session_ MERCUTIO_GUARDED_BY(mutex_);
};

int errno_of(const Error& error);   // the system's error number, or the nearest one to the error class

struct RemoteName {
  std::string host, path;   // of mercutio://host/path
};
inline constexpr char kScheme[] = "mercutio://";
bool is_remote(const std::string& name);
RemoteName split_name(const std::string& name);   // with or without the scheme

}  // namespace mercutio::remote
