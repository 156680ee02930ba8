// What a request does on the server, through the same storage and engine that serve local files.
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
  const std::function<void(const std::string& path)> released;   // a lock of a file

  // The whole reply to `request`, whose message begins at `message` in its body. Any thread.
  Buffer carry_out(ServedSession& session, const Frame& request, ConstBytes message) const;
  Buffer too_early(u64 id) const;   // the reply to what can't be done yet
  Buffer answer_of(u64 id, const Result<Reply>& reply) const;
  // Of a lock, or an access under one.
  Result<LockRequest> wanted_lock(const std::shared_ptr<ServedSession>& session, Kind kind, ConstBytes message) const;
  Result<OutgoingCopy::Source> open_source(const std::string& path) const;   // for a copy to another server
  Buffer answer_lock(const LockRequest& wanted, u64 id, Result<std::unique_ptr<HeldLock>> lock) const;

 private:
  Result<Reply> plain(ServedSession& session, Kind kind, ConstBytes message) const;
  Result<Reply> about_names(ServedSession& session, Kind kind, ConstBytes message) const;
  Result<Reply> about_attributes(Kind kind, const NameRequest& request) const;
  Result<Reply> open(ServedSession& session, ConstBytes message) const;
  Result<Reply> opened(ServedSession& session, const std::shared_ptr<ServedFile>& file) const;
  Result<Reply> on_file(ServedSession& session, Kind kind, const PlainRequest& request) const;
  Buffer transfer(ServedSession& session, const Frame& request, ConstBytes message) const;
};

// XXH3 of bytes [begin, end) of a file, as far as there are any; at most kMostChecked of them.
inline constexpr i64 kMostChecked = 16 * MiB;
Result<u64> checksum_of_range(Storage& storage, i64 begin, i64 end);

// Whether it changes nothing, so that it is carried out as often as it is asked for.
bool is_look(Kind kind);

// Whether it may take so long that the stream it came on must not wait for it.
bool is_slow(Kind kind);

}  // namespace mercutio::remote
