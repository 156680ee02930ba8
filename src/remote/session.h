// A client's session with one server: up to 16 streams, each driven by a thread, which takes requests from jobs while the stream
// has credit. The session survives broken streams. It ends with an error when the server cannot be reached any more. Memory: one
// frame per stream and direction, whatever the size of the accesses.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <thread>

#include "remote/jobs.h"
#include "remote/link.h"

namespace mercutio::remote {

class Session {
 public:
  // `earlier`: the caller's previous session, if any. If it is dead, the server ends it before it welcomes the new one.
  static Result<std::shared_ptr<Session>> make(const Connection& connection, i64 server, const std::shared_ptr<Session>& earlier = nullptr);
  ~Session();
  // For tests: a session without threads. The test provides the streams and calls step() instead of the threads.
  struct Undriven {
    std::shared_ptr<TlsContext> tls;
    Link::Connector connect;
  };
  static Result<std::shared_ptr<Session>> make_undriven(const Connection& connection, const Undriven& seams);
  void step();

  // Executes a job: in bounded time its parts are complete or it is given up. After fork() the jobs of the child fail.
  void submit(std::shared_ptr<Job> job);
  Result<Reply> call(Kind kind, Buffer message);
  void prepare();         // connects before there are requests
  bool alive();
  bool server_ended() const { return server_ended_; }   // nobody listens at its port any more
  bool left_idle() const { return left_idle_; }   // the session ended because it was unused; the caller may make another one
  i64 locked_bytes() const { return locked_bytes_; }   // maximum size of an access under a lock in one request; 0: the server does not support them
  void file_opened() { ++open_files_; }
  void file_closed() { --open_files_; }
  const Connection& connection() const { return connection_; }
  const Endpoint& server() const { return server_; }
  void give_up(const Error& error);   // ends the session: all waiting and later jobs fail
  struct Counts {
    std::atomic<i64> requests{0}, definitions{0}, reconnects{0}, request_bytes{0};   // request_bytes: without file data
  };
  const Counts& counts() const { return counts_; }

 private:
  static constexpr i64 kMs = 1'000'000;   // nanoseconds
  struct Request {
    std::shared_ptr<Job> job;
    Part part;
    i64 stream = -1;          // -1: not sent, or to be sent again
    i64 cost = 0;             // part of the credit of its stream
    i64 deadline_ns = 0;
    i64 tries = 0;
    bool busy = false;        // a thread or a link uses the program's memory for it
  };
  using Requests = std::map<u64, Request>;

  // A stream and its thread. The thread of stream 0 also checks the timeouts of the session, and starts and joins the other
  // threads.
  struct Stream {
    Link link;                          // used by its thread only
    int wake = -1;
    std::thread thread;
    bool ready = false, asleep = false; // from here on guarded by mutex_. Asleep: the stream has credit, but there is no request
    i64 in_flight_bytes = 0, credit_bytes = 0, block_bytes = 0;
    i64 waiting_bytes = 0;              // of those in flight: of requests that may wait for a lock
    std::map<std::pair<bool, u64>, i64> files;   // how many with data are in flight, by whether they may wait for a lock, and file
    std::set<u64> trees;                // trees sent on this connection
    u64 reported_finished = 0, reported_abandoned = 0;   // the counts at this stream's last report
    u64 sent_from = 0, received_in = 0;   // the requests whose memory the link uses; used by its thread only
  };
  struct Sending {
    u64 id = 0, acknowledged = 0;
    std::shared_ptr<Job> job;
    Part part;
    bool define = false;
    Buffer report;                      // a frame to send first; usually empty
  };

  Session(const Connection& connection, i64 server, std::shared_ptr<TlsContext> tls);
  Status begin();
  void replace(Session& earlier);
  Status open_wakes();
  void await_farewells();
  void run();
  void run_stream(i64 index);
  void start_streams();
  bool over();
  void leave(i64 index);
  void step(i64 index);
  bool needed() const;
  void connect(i64 index);
  void send_requests(i64 index);
  bool take_request(Stream& stream, i64 index, Sending& sending);
  u64 next_request(const Stream& stream);
  u64 new_request(Request request);
  Requests::iterator end_request(Requests::iterator known);
  // What did not fit on a stream. Nothing of the same sort is sent before it.
  struct Blocked {
    bool waiting = false, other = false;
  };
  static bool fits(const Stream& stream, const Job& job, i64 cost, Blocked& blocked);
  u64 next_returned(const Stream& stream, Blocked& blocked);
  Buffer report_for(Stream& stream, u64 acknowledged);
  void encode(Stream& stream, const Sending& sending);
  void release_sent(Stream& stream);
  void release(u64& request);             // requires mutex_
  Bytes memory_for(Stream& stream, const FrameHeader& header);
  i64 patience_of_poll(const Stream& stream);
  void poll_stream(Stream& stream);
  void advance(i64 index);
  bool as_before(const Welcome& welcome);
  void wake_for(i64 bytes);
  void wake_all();
  void broken(i64 index, const Error& error);
  void give_back_credit(const Request& request);
  Status take_reply(Stream& stream, const FrameHeader& header, ConstBytes message, ConstBytes data);
  bool send_again(Requests::iterator known);
  void check_times(i64 now);
  void check_deadlines(i64 now);
  void close_late(u64 id, const Reply& reply);   // requires mutex_
  void keep_close(const Request& request);       // requires mutex_
  void close_again(i64 stream);                  // requires mutex_
  void check_silence(i64 index);
  bool is_gone(const Stream& stream);     // requires mutex_
  void die(const Error& error);       // requires mutex_
  void fail_everything();
  bool may_be_busy(const Error& error) const;
  Error explain(const Error& error) const;
  Error server_full(const Error& error) const;
  Error too_late(const Request& request) const;

  const Connection connection_;
  const Endpoint server_;
  const std::shared_ptr<TlsContext> tls_;
  const int owner_pid_;
  Link::Connector connect_ = connected_socket;
  bool driven_ = true;
  Hello hello_;
  Counts counts_;
  std::atomic<i64> open_files_{0};
  std::atomic<bool> left_idle_{false}, established_{false}, server_ended_{false};
  std::atomic<i64> last_contact_ns_{0}, locked_bytes_{0};
  std::atomic<i64> started_streams_{1};
  i64 last_needed_ns_ = 0, checked_ns_ = 0;   // used by the thread of stream 0 only
  std::vector<Stream> streams_;

  std::mutex mutex_;   // guards the following members
  std::atomic<i64> wanted_streams_{1};
  std::deque<std::shared_ptr<Job>> jobs_;
  Requests requests_;
  size_t waiting_ = 0;                  // number of those that may wait for a lock
  u64 next_id_ = 1;
  std::set<u64> known_trees_;           // the server has acknowledged requests with these trees
  u64 abandoned_ = 0;                   // number of requests whose deadline has passed, which the server must not execute late
  u64 last_abandoned_ = 0;              // the highest of them
  std::set<u64> late_opens_;            // those of them that open a file
  std::multimap<i64, Buffer> late_closes_;   // the messages of those that close one, by their streams
  Error last_failure_;
  std::optional<Error> dead_;
  bool stopping_ = false;
  i64 prepared_until_ns_ = 0;
  i64 refused_since_ns_ = 0;            // since when every attempt to connect to the server's port has been refused
  i64 full_since_ns_ = 0;               // since when a server, before the first welcome, has reported that it is full
  i64 granted_block_bytes_ = 0;         // from the first welcome
  bool returned_ = false;               // there may be requests to send again
};

// What `work` makes of a session. The one that `find` finds may end because it was unused, just before the work: then there is another one.
template <class Find, class Work>
std::invoke_result_t<Work, const std::shared_ptr<Session>&> on_session(Find find, Work work) {
  for (int tries = 0;; ++tries) {
    MERCUTIO_LET(const std::shared_ptr<Session> at, find());
    auto done = work(at);
    if (done || tries > 0 || !at->left_idle()) return done;
  }
}

}  // namespace mercutio::remote
