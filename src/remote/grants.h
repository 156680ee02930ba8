// One-time keys. Each permits one session of another server to write to one file that a client has claimed here, and nothing else.
// An unused key expires after a short time; a used key is valid as long as its file is open.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/thread_annotations.h"
#include "remote/served_session.h"

namespace mercutio::remote {

class Grants {
 public:
  explicit Grants(i64 limit_ms) : limit_ms_(limit_ms) {}

  Result<GrantReply> make(const std::shared_ptr<ServedFile>& file);
  std::optional<Key> key_of(const std::string& identity);                       // during a handshake
  // The file, for the first session with this key. kAccess: the key has been used or has expired.
  Result<std::shared_ptr<ServedFile>> use(const std::string& identity);

 private:
  static constexpr size_t kMost = 256;   // maximum number of files that other servers may write to
  struct Grant {
    Key key{};
    std::weak_ptr<ServedFile> file;
    i64 until_ns = 0;
    bool used = false;
  };
  void forget_old(i64 now) MERCUTIO_REQUIRES(mutex_);

  const i64 limit_ms_;
  std::mutex mutex_;
  std::map<std::string, Grant> grants_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio::remote
