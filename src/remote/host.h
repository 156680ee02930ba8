// The files of a server by their names, for the commands: list, rename, small files as a whole. What begins with begin_ is under way
// when it returns, so that many of them take one round trip.
#pragma once

#include "remote/file.h"
#include "remote/session.h"

namespace mercutio::remote {

class RemoteHost {
 public:
  explicit RemoteHost(const std::string& host) : host_(host) {}
  const std::string& name() const { return host_; }

  Result<std::shared_ptr<Session>> session();   // another one where the last has ended because nothing used it
  Result<std::shared_ptr<CallJob>> begin(Kind kind, const NameRequest& request);
  Result<Reply> call(Kind kind, const NameRequest& request);

  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options);
  Status remove(const std::string& path);
  // Nobody else makes a copy in `file`, which is open as `path`, until it is closed. A copy that was begun at another server of the
  // connection, by a program that is gone, loses the file. EBUSY: another copy is under way.
  Status claim(RemoteStorage& file, const std::string& path);
  Result<FileStatus> status(const std::string& path);
  Result<FileStatus> own_status(const std::string& path);   // of a symbolic link itself
  Result<std::string> read_link(const std::string& path);
  Result<Space> space(const std::string& path);
  Result<std::vector<ListEntry>> list(const std::string& path);
  Result<std::vector<Extent>> extents(const std::string& path);

 private:
  const std::string host_;
  std::mutex mutex_;
  std::shared_ptr<Session> session_ MERCUTIO_GUARDED_BY(mutex_);
};

int errno_of(const Error& error);   // for who knows no other errors: the system's own, or one that is nearest to the class

struct RemoteName {
  std::string host, path;   // of mercutio://host/path
};
inline constexpr char kScheme[] = "mercutio://";
bool is_remote(const std::string& name);
RemoteName split_name(const std::string& name);   // with the scheme or without it

}  // namespace mercutio::remote
