// Executes requests on the server, with the same storage and engine as for local files.
#pragma once

#include <functional>

#include "model/hints.h"
#include "remote/exports.h"
#include "remote/lock_queue.h"

namespace mercutio::remote {

struct Operations {
  const Exports& exports;
  const std::string host;
  const i64 block_bytes;
  const Hints hints;
  const std::function<std::unique_ptr<Storage>(std::unique_ptr<Storage>)> around;
  const std::function<void(const std::string& path)> released;   // called when a lock of the file was released

  // Executes `request`, whose message begins at `message` in its body, and returns the whole reply. Thread-safe.
  Buffer carry_out(ServedSession& session, const Frame& request, ConstBytes message) const;
  Buffer too_early(u64 id) const;   // the reply to a request that is not possible yet
  Buffer answer_of(u64 id, const Result<Reply>& reply) const;
  // The lock of a lock request or of an access under a lock.
  Result<LockRequest> wanted_lock(const std::shared_ptr<ServedSession>& session, Kind kind, ConstBytes message) const;
  Result<OutgoingCopy::Source> open_source(const std::string& path) const;   // for a copy to another server
  u64 opened_by(const Buffer& answer) const;   // the handle of the file that was opened; 0: it was not
  Status close(ServedSession& session, u64 handle) const;
  Buffer answer_lock(const LockRequest& wanted, u64 id, Result<std::unique_ptr<HeldLock>> lock) const;

 private:
  Result<Reply> plain(ServedSession& session, Kind kind, ConstBytes message) const;
  Result<Reply> about_names(ServedSession& session, Kind kind, ConstBytes message) const;
  Result<Reply> about_attributes(Kind kind, const NameRequest& request) const;
  Result<Reply> open(ServedSession& session, ConstBytes message) const;
  Result<Reply> opened(ServedSession& session, const std::shared_ptr<ServedFile>& file, const OpenRequest& request) const;
  Result<Reply> on_file(ServedSession& session, Kind kind, const PlainRequest& request) const;
  Buffer transfer(ServedSession& session, const Frame& request, ConstBytes message) const;
};

inline constexpr i64 kLateMs = 2'000;   // for abandoned requests to end before the client may change anything that they change

// XXH3 of the bytes [begin, end) of a file, up to its end; at most kMostChecked of them.
inline constexpr i64 kMostChecked = 16 * MiB;
Result<u64> checksum_of_range(Storage& storage, i64 begin, i64 end);

// Whether the request changes nothing, so that it may be executed more than once.
bool is_query(Kind kind);

// Whether it may take so long that its stream must not wait for it.
bool is_slow(Kind kind);

}  // namespace mercutio::remote
