// The server's state of one client, which survives its connections: open files, locks, type trees, and replies that the client may
// not have received. A request that is sent again after a cut gets the stored reply instead of being executed again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
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
  std::shared_mutex closing;   // held shared while the file is in use
  std::atomic<bool> closed{false};
  std::atomic<bool> lent{false};     // a session of another server may also write to it
  std::atomic<bool> claimed{false};
  std::unique_ptr<HeldLock> claim;   // against other servers and programs; null: the file system has no locks
  std::mutex locks_mutex;
  std::map<const HeldLock*, std::unique_ptr<HeldLock>> locks MERCUTIO_GUARDED_BY(locks_mutex);   // by what made_safe() returned
  Status close();              // releases the locks first; the file must not be in use
};

// Makes a lock of a file one that may be released at any time: when the file is closed, the lock is released already. The file must be
// in use.
std::unique_ptr<HeldLock> made_safe(const std::shared_ptr<ServedFile>& file, std::unique_ptr<HeldLock> lock);

struct SessionLimits {
  i64 files = 1024;
  i64 locks = 4096;
  i64 unfinished = 8192;               // maximum number of requests for which the client, as far as it has reported, still waits
  i64 tree_bytes = 64 * MiB;     // beyond it all trees are discarded, and the client sends them again as needed
  i64 behind_bytes = 64 * MiB;   // of requests that wait for one that takes long
};

// What a request may change.
struct ChangedBy {
  u64 file = 0;       // an open file
  std::string path;   // or what an open may create. Neither: names
};

class ServedSession {
 public:
  explicit ServedSession(const SessionLimits& limits, std::string identity = kOwnIdentity, std::shared_ptr<ServedFile> borrowed = nullptr)
      : limits_(limits), identity_(std::move(identity)), borrowed_(std::move(borrowed)) {}
  const std::string& identity() const { return identity_; }   // of the key that its streams have proved
  // The file of another session to which alone this session may write. Null: the session has the rights of the exports.
  const std::shared_ptr<ServedFile>& borrowed() const { return borrowed_; }

  enum class Admission { kExecute, kAnswered, kTooMany, kOver };
  // Decides whether a request that changes something must be executed. One that has been answered gets the same reply again. One
  // that is being executed will be answered on every channel from which it came. Requests of a stream that the client has abandoned
  // may arrive after the client has sent them again on another stream.
  Admission admit(u64 id, Kind kind, const std::shared_ptr<Channel>& channel, i64 send_limit_ms, const ChangedBy& changed = {});
  // Ends an admitted request. Allocates nothing of its own. False: the client has abandoned it in the meantime.
  bool complete(u64 id, Kind kind, Buffer reply, i64 send_limit_ms);
  // An admitted request that has waited may change something from now on. False: it must not be executed any more.
  // A close is executed although it has been abandoned, as the client does not ask for another one.
  bool begin_work(u64 id);
  // While a request on a file takes long, those after it wait here instead of a thread each.
  void hold_up(u64 file);
  bool any_held_up() const { return any_held_up_; }
  // False: nothing holds the file up, or too much waits. `id`: of an admitted request that may change something, or 0. It is work only when
  // begin_work() says so.
  bool wait_behind(u64 file, i64 bytes, u64 id, std::function<void()> work);
  // What waits longest, for whoever held the file up. Null: nothing waits, and the file is not held up by the caller any more.
  std::function<void()> next_behind(u64 file);
  // Of the requests below `end` the client still waits for these only. It has the replies to the others, or has abandoned them: they
  // must not begin any more.
  void finish(u64 end, const std::set<u64>& awaited = {});
  // Waits until no abandoned request that may change something is being executed: any; one on that file; one that changes names, or opens
  // `path`. False: the time limit was reached. `id`: of the admitted request that waits and has changed nothing yet, or 0. Nobody has to wait for it
  // meanwhile, and it is false at once when the client abandons it: it must not be executed any more.
  bool await_forgotten(i64 limit_ms, u64 id = 0);
  bool await_forgotten_on(const FileIdentity& file, i64 limit_ms, u64 id = 0);
  bool await_forgotten_names(const std::string& path, i64 limit_ms, u64 id = 0);

  Status room_for_file();
  Result<u64> add_file(std::shared_ptr<ServedFile> file);
  std::shared_ptr<ServedFile> file(u64 handle);        // null: unknown handle
  std::shared_ptr<ServedFile> take_file(u64 handle);
  Result<u64> add_lock(std::unique_ptr<HeldLock> lock, const ServedFile& file);
  std::optional<FileIdentity> file_of_lock(u64 handle);
  std::optional<std::string> release_lock(u64 handle);   // the path of its file; nothing: unknown handle

  Result<u64> add_copy(std::shared_ptr<OutgoingCopy> copy);
  std::shared_ptr<OutgoingCopy> copy(u64 handle);      // null: unknown handle

  FlatTypeRef tree(u64 hash);                          // null: unknown, or discarded
  void learn(u64 hash, FlatTypeRef tree);

  // Channels are attached and detached. The session survives the last one for a while.
  bool attach(const std::shared_ptr<Channel>& channel);   // false: the session has ended
  void detach(const Channel* channel, i64 now, bool in_order = false);   // in order: the client has ended
  bool client_has_ended();
  i64 streams();
  bool cut_one();                                      // the newest one, if there are several
  i64 idle_since();                                    // time in ns; -1: it has a channel, or executes a request that may change a file
  bool holds_files();                                  // or sends one to another server
  u64 claim_on(const FileIdentity& identity);          // the handle of that file if this session has claimed it; 0: it has not
  void end();                                          // releases locks, closes files, cancels copies
  // The client has a new session: cuts the streams of this one, executes no further request, and ends it when those that may change
  // a file are complete. False: the time limit was reached; call it again.
  bool retire(i64 limit_ms);

 private:
  struct Late {
    std::optional<FileIdentity> file;
    std::string path;
    bool certain = false;   // it is executed although it is abandoned
  };
  struct Entry {
    std::vector<std::weak_ptr<Channel>> routes;   // the channels from which it came
    bool work = true;    // it may change something: what `late` says
    Late late;
    std::shared_ptr<Buffer> reply = std::make_shared<Buffer>();   // empty: it is being executed; never changed afterwards
  };
  struct Behind {
    i64 held_up = 0;   // number of requests that hold the file up
    std::deque<std::pair<i64, std::function<void()>>> works;   // with their bytes
  };
  struct Lock {
    std::unique_ptr<HeldLock> held;
    std::string path;   // of its file
    FileIdentity file;
  };
  template <class Concerns>
  bool await_late(i64 limit_ms, u64 id, Concerns concerns);
  bool end_late(u64 id) MERCUTIO_REQUIRES(mutex_);   // false: it was not abandoned while it was work
  void pause_work(Entry& entry) MERCUTIO_REQUIRES(mutex_);
  bool resume_work(u64 id) MERCUTIO_REQUIRES(mutex_);   // false: abandoned, or the session has ended
  Status room() const MERCUTIO_REQUIRES(mutex_);
  static constexpr size_t kMostCopies = 64;   // maximum number of copies that are remembered
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
  std::map<u64, Behind> behind_ MERCUTIO_GUARDED_BY(mutex_);   // by file
  std::atomic<bool> any_held_up_{false};
  i64 behind_bytes_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  i64 tree_bytes_ = 0, idle_since_ns_ = 0;
  bool client_ended_ MERCUTIO_GUARDED_BY(mutex_) = false;
  u64 finished_ MERCUTIO_GUARDED_BY(mutex_) = 0;          // all requests below are finished but those of `awaited_`
  std::set<u64> awaited_ MERCUTIO_GUARDED_BY(mutex_);
  u64 next_handle_ = 1;
  i64 working_ MERCUTIO_GUARDED_BY(mutex_) = 0;   // requests being executed that may change a file, including abandoned ones
  std::map<u64, Late> late_ MERCUTIO_GUARDED_BY(mutex_);   // those of them that the client has abandoned
  std::condition_variable at_rest_;
  bool ended_ MERCUTIO_GUARDED_BY(mutex_) = false;
  std::mutex ending_;   // locked before mutex_
};

}  // namespace mercutio::remote
