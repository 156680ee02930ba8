// What the server keeps of one client across its connections: open files, locks, type trees, and the replies that the
// client may not have got. A request that arrives again after a cut is answered from here instead of being done again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>

#include "base/thread_annotations.h"
#include "model/flat_type.h"
#include "remote/channel.h"
#include "remote/exports.h"
#include "remote/outgoing.h"
#include "storage/storage.h"

namespace mercutio::remote {

struct ServedFile {
  std::unique_ptr<Storage> storage;
  std::string path;
  FileIdentity identity;
  bool readable = true, writable = false;
  std::shared_mutex closing;   // shared: in use
  std::atomic<bool> closed{false};
  std::atomic<bool> lent{false};     // a session of another server may write to it, too
  std::atomic<bool> claimed{false};
  std::unique_ptr<HeldLock> claim;   // for other servers and programs there; null: files can't be locked there
  Status close();              // nobody uses it
};

struct SessionLimits {
  i64 files = 1024;
  i64 locks = 4096;
  i64 unacknowledged = 8192;          // requests that the client hasn't acknowledged the reply of
  i64 tree_bytes = 64 * MiB;     // beyond it all are forgotten, and the client sends again what it needs
};

class ServedSession {
 public:
  explicit ServedSession(const SessionLimits& limits, std::string identity = kOwnIdentity, std::shared_ptr<ServedFile> borrowed = nullptr)
      : limits_(limits), identity_(std::move(identity)), borrowed_(std::move(borrowed)) {}
  const std::string& identity() const { return identity_; }   // of the key that its streams have shown
  // The file of another session that this one may write to, and to nothing else. Null: its client may do what the exports allow.
  const std::shared_ptr<ServedFile>& borrowed() const { return borrowed_; }

  enum class Admission { kExecute, kAnswered, kTooMany, kOver };
  // A request that changes something: whether it has to be carried out. What is answered already is sent again, what is
  // being carried out will be answered on every channel it came from: what a stream held that the client has given up may
  // be read after what was sent again.
  Admission admit(u64 id, Kind kind, const std::shared_ptr<Channel>& channel, i64 send_limit_ms);
  void complete(u64 id, Kind kind, Buffer reply, i64 send_limit_ms);   // of an admitted request
  // An admitted request that has waited for a lock may change something from now on. False: it is to be carried out no more.
  bool begin_work(u64 id);
  void acknowledge(u64 below);                         // the client has the replies to all requests before this one, or gave them up
  bool forget(const std::vector<u64>& ids);            // the client gave these up: they are not begun any more. False: too many
  // Whether nothing that may change a file is carried out for which the client does not wait any more. Waits for that; false:
  // it took longer.
  bool await_forgotten(i64 limit_ms);

  Status room_for_file();
  Result<u64> add_file(std::shared_ptr<ServedFile> file);
  std::shared_ptr<ServedFile> file(u64 handle);        // null: there is none
  std::shared_ptr<ServedFile> take_file(u64 handle);
  Result<u64> add_lock(std::unique_ptr<HeldLock> lock, const std::string& path);
  std::optional<std::string> release_lock(u64 handle);   // the path of its file; nothing: there is no such lock

  Result<u64> add_copy(std::shared_ptr<OutgoingCopy> copy);
  std::shared_ptr<OutgoingCopy> copy(u64 handle);      // null: there is none

  FlatTypeRef tree(u64 hash);                          // null: not known, or not any more
  void learn(u64 hash, FlatTypeRef tree);

  // Channels come and go; the session outlives the last one for a while.
  bool attach(const std::shared_ptr<Channel>& channel);   // false: it has ended
  void detach(const Channel* channel, i64 now);
  i64 streams();
  bool cut_one();                                      // the latest of several channels
  i64 idle_since();                                    // ns; -1: it has a channel, or carries out what may change a file yet
  bool holds_files();                                  // or sends one
  u64 claim_on(const FileIdentity& identity);          // the handle of that file, if it is claimed here; 0: it isn't
  void end();                                          // gives back locks, closes files, ends what it sends
  // Its client has another session: its streams are cut, nothing more is carried out, and when what may change a file is done,
  // it ends. False: that took longer than the limit; ask again.
  bool retire(i64 limit_ms);

 private:
  struct Entry {
    std::vector<std::weak_ptr<Channel>> routes;   // the channels it came from
    Buffer reply;        // empty: being carried out
    bool work = true;    // may change a file
  };
  struct Lock {
    std::unique_ptr<HeldLock> held;
    std::string path;   // of its file
  };
  Status room() const MERCUTIO_REQUIRES(mutex_);
  static constexpr size_t kMostCopies = 64;   // that are remembered
  const SessionLimits limits_;
  const std::string identity_;
  const std::shared_ptr<ServedFile> borrowed_;
  std::mutex mutex_;
  std::map<u64, Entry> entries_ MERCUTIO_GUARDED_BY(mutex_);
  std::map<u64, std::shared_ptr<ServedFile>> files_ MERCUTIO_GUARDED_BY(mutex_);
  std::map<u64, std::shared_ptr<OutgoingCopy>> copies_ MERCUTIO_GUARDED_BY(mutex_);
  std::map<u64, Lock> locks_ MERCUTIO_GUARDED_BY(mutex_);
  std::map<u64, FlatTypeRef> trees_ MERCUTIO_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<Channel>> channels_ MERCUTIO_GUARDED_BY(mutex_);
  i64 tree_bytes_ = 0, idle_since_ns_ = 0;
  u64 acknowledged_ MERCUTIO_GUARDED_BY(mutex_) = 0, next_handle_ = 1;
  i64 working_ MERCUTIO_GUARDED_BY(mutex_) = 0;   // requests that may change a file yet, also those given up
  std::set<u64> late_ MERCUTIO_GUARDED_BY(mutex_);   // those of them that the client has given up
  std::condition_variable at_rest_;
  bool ended_ MERCUTIO_GUARDED_BY(mutex_) = false;
};

}  // namespace mercutio::remote
