// The server's work on a stream, from the handshake to its end. It owns the sessions and executes requests. The thread that serves
// a stream reads and writes file data. Where that takes long, another thread takes the stream over. Requests that may take long (open, sync,
// close, lists) get a thread of their own. Locks that others hold wait in a queue. Everything is limited: handshake time, frame sizes, sessions,
// files, trees, threads.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <thread>

#include "base/thread_annotations.h"
#include "remote/grants.h"
#include "remote/operations.h"
#include "remote/reception.h"
#include "remote/served_stream.h"
#include "remote/shared_by_key.h"

namespace mercutio::remote {

struct ServiceOptions {
  i64 most_connections = 4096;           // streams that have proved the key
  i64 most_sessions = 4096;
  i64 most_slow = 64;                    // requests with a thread of their own
  SessionLimits limits;
  i64 block_bytes = 1 * MiB;
  i64 credit_bytes = 8 * MiB;
  i64 handshake_ms = 10'000;
  i64 silence_ms = 300'000;              // a stream without any message for this time is cut
  i64 grace_ms = 120'000;                // time that a session without streams is kept if it has open files
  i64 short_grace_ms = 60'000;           // the same without open files: as long as a client tries (patience_ms)
  i64 expires_ns = INT64_MAX;            // in terms of now_ns(); no new client is admitted afterwards
  i64 grant_ms = 30'000;                 // validity of an unused one-time key
  i64 most_outgoing = 16;                // concurrent copies to other servers
  std::vector<std::string> copy_to;      // permitted targets of copies: ADDRESS:PORT, ADDRESS:*, or * for any
  bool in_turn = false;                  // for tests: all requests run in the thread of their stream
  std::function<void(const std::string&)> log;   // writes a line of the audit log; called by any thread
  std::function<std::unique_ptr<Storage>(std::unique_ptr<Storage>)> around;   // for tests: wraps the storage of a file
};

// Every request's message begins with the acknowledged ids.
inline constexpr size_t kAcknowledgedBytes = 8;

struct Worker {
  ~Worker() {
    if (handshake) handshake->over = true;
  }
  std::thread thread;
  std::shared_ptr<ServedStream> stream;   // that it serves while it has the turn; null: a request
  std::shared_ptr<Handshake> handshake;   // with which the stream begins; one that fails counts until the worker is gone
  u64 turn = 0;
  std::atomic<bool> finished{false};
};
void take_finished(std::list<Worker>& from, std::list<Worker>& to);
struct JoinAtEnd {
  std::list<Worker>& workers;
  ~JoinAtEnd();
};

class Service {
 public:
  Service(const ServiceOptions& options, Exports exports);
  ~Service();   // ends all sessions; no thread may be in serve() any more

  // Serves a stream in the caller's thread, until another one takes it over. `welcomed` is called when the client has proved the key and is
  // admitted.
  void serve(const std::shared_ptr<ServedStream>& stream, const std::function<void()>& welcomed = [] {});
  // Takes a stream over whose request of `since_ns` takes long, unless that has ended.
  void take_over(const std::shared_ptr<ServedStream>& stream, i64 since_ns);
  // Cuts a stream of the session with the most streams, which continues with the others. False: no session has more than one.
  bool cut_spare_stream();
  bool asked_to_end() const { return asked_to_end_; }   // by the client for which it was started
  RefusalLog& refusals() { return refusals_; }
  const std::shared_ptr<Grants>& grants() const { return grants_; }
  bool do_periodic_work(i64 now);   // periodic work; false: there is no session

 private:
  using SessionId = std::pair<u64, u64>;

  Result<std::shared_ptr<ServedSession>> greet(const std::shared_ptr<Channel>& channel);
  Status end_earlier(const Hello& hello, const Channel& channel);
  Result<std::shared_ptr<ServedSession>> admit(const Hello& hello, const std::shared_ptr<Channel>& channel);
  bool has_room(bool is_first);
  Result<std::shared_ptr<ServedSession>> session_of(const Hello& hello, const std::shared_ptr<Channel>& channel);
  using Work = ServedStream::Work;
  // A request, and the thread of a stream that is to execute it. No stream: a thread of its own.
  struct Task {
    std::shared_ptr<Frame> frame;
    u64 file = 0;   // of the open files, if it is about one of them
    ServedStream* stream = nullptr;
    u64 turn = 0;
  };
  // A request that is executed once, by whichever thread.
  struct Change {
    std::shared_ptr<ServedSession> session;
    std::shared_ptr<Channel> channel;
    Task request;   // without a thread
    u64 id() const { return request.frame->header.id; }
    Kind kind() const { return request.frame->header.kind; }
  };
  void serve_requests(const std::shared_ptr<ServedStream>& stream);
  Status serve_frames(const std::shared_ptr<ServedStream>& stream, u64 turn);
  Status handle(const std::shared_ptr<ServedStream>& stream, const Task& task);
  Status answer_query(const std::shared_ptr<ServedStream>& stream, const Task& task);
  Status change(const std::shared_ptr<ServedStream>& stream, const Task& task);
  void execute(const Change& change, const Task& by);
  Buffer carry_out(const Change& change);
  bool await_order(ServedSession& session, const Task& task, i64 limit_ms) const;
  Status finish(ServedSession& session, ConstBytes body);
  void lock_or_wait(const std::shared_ptr<ServedSession>& session, const Task& task);
  Status take_lock(const std::shared_ptr<ServedSession>& session, const Task& task);
  void use_lock(const LockRequest& wanted, const Task& task, Result<std::unique_ptr<HeldLock>> lock, i64 limit_ms);
  void end(const std::shared_ptr<ServedSession>& session);
  void end_beside(std::shared_ptr<ServedSession> session);
  Result<Reply> claim(const std::shared_ptr<ServedSession>& session, ConstBytes message);
  Status end_claim_of_others(const ServedSession& asking, const FileIdentity& identity);
  Result<Reply> grant(ServedSession& session, ConstBytes message);
  Result<Reply> send_file(ServedSession& session, ConstBytes message);
  Result<Reply> carry_out(const std::shared_ptr<ServedSession>& session, Kind kind, ConstBytes message);
  i64 users_beside(const ServedSession& asking);
  Result<Reply> end_server(const Channel& channel, const ServedSession& asking, ConstBytes message);
  // False: there is no thread for it.
  bool run_beside(std::function<void()> work);
  Buffer answer_from(u64 id, const std::function<Buffer()>& work) const;
  void log(const Channel& channel, const std::string& text);
  void log_request(const Channel& channel, const Frame& frame, ConstBytes message, const Buffer& reply);

  const ServiceOptions options_;
  const Exports exports_;
  RefusalLog refusals_;
  std::atomic<bool> asked_to_end_{false};
  std::atomic<i64> streams_{0};   // that were admitted
  LockQueue locks_;
  const Operations operations_;
  const std::shared_ptr<Grants> grants_;
  std::atomic<i64> outgoing_{0};
  SharedByKey<FileIdentity, std::mutex> claims_;   // held while one file is claimed, as its file system may not answer; before mutex_
  std::mutex mutex_;
  std::list<Worker> slow_ MERCUTIO_GUARDED_BY(mutex_);
  std::map<SessionId, std::shared_ptr<ServedSession>> sessions_ MERCUTIO_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<ServedSession>> over_ MERCUTIO_GUARDED_BY(mutex_);   // their clients have been absent for too long
  bool stopping_ MERCUTIO_GUARDED_BY(mutex_) = false;
};

}  // namespace mercutio::remote
