// A client's session with one server: up to 16 streams, each driven by a thread of its own, which asks jobs for requests while
// it has credit. It survives cuts, and ends with a clear error when the server is gone for good. Memory: a frame a stream each
// way, whatever is written.
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
  // `earlier` is one that the caller had before, if any: where it is dead, the server ends it before it welcomes this one.
  static Result<std::shared_ptr<Session>> make(const Connection& connection, i64 server, const std::shared_ptr<Session>& earlier = nullptr);
  ~Session();
  // For tests: one that has no threads, whose streams come from elsewhere; step() is what its threads do again and again.
  struct Undriven {
    std::shared_ptr<TlsContext> tls;
    Link::Connector connect;
  };
  static Result<std::shared_ptr<Session>> make_undriven(const Connection& connection, const Undriven& seams);
  void step();

  // Takes a job; its parts are completed, or it is given up, in bounded time. After a fork the child's jobs fail.
  void submit(std::shared_ptr<Job> job);
  Result<Reply> call(Kind kind, Buffer message);
  void prepare();         // connects, though there is nothing to ask for yet
  bool alive();
  bool left_idle() const { return left_idle_; }   // it ended only because nobody used it: make another one
  i64 locked_bytes() const { return locked_bytes_; }   // the longest access under a lock in one request; 0: the server has none
  void file_opened() { ++open_files_; }
  void file_closed() { --open_files_; }
  const Connection& connection() const { return connection_; }
  const Endpoint& server() const { return server_; }
  void give_up(const Error& error);   // ends it: whatever waits fails, and whatever comes
  struct Counts {
    std::atomic<i64> requests{0}, definitions{0}, reconnects{0}, request_bytes{0};   // request_bytes: beside file data
  };
  const Counts& counts() const { return counts_; }

 private:
  static constexpr i64 kMs = 1'000'000;   // nanoseconds
  struct Request {
    std::shared_ptr<Job> job;
    Part part;
    i64 stream = -1;          // -1: to be sent, or sent again
    i64 cost = 0;             // of the credit of its stream
    i64 deadline_ns = 0;
    i64 tries = 0;
    bool busy = false;        // a thread reads or writes the program's memory for it
  };
  using Requests = std::map<u64, Request>;

  // A stream and its thread. The thread of stream 0 also checks the times of the session, and starts and joins the others.
  struct Stream {
    Link link;                          // its thread's own
    int wake = -1;
    std::thread thread;
    bool ready = false, asleep = false; // from here on: guarded by mutex_. Asleep: it could take a request, and there is none
    i64 in_flight_bytes = 0, credit_bytes = 0, block_bytes = 0;
    std::set<u64> trees;                // sent on it since it was connected
    i64 forgotten = 0;                  // of the requests that were given up, how many it has told
  };
  struct Sending {
    u64 id = 0, acknowledged = 0;
    std::shared_ptr<Job> job;
    Part part;
    bool define = false;
    std::vector<u64> forgotten;         // to be told before
  };

  Session(const Connection& connection, i64 server, std::shared_ptr<TlsContext> tls);
  Status begin();
  void replace(Session& earlier);
  Status open_wakes();
  void run();
  void run_stream(i64 index);
  void start_streams();
  bool over();
  void step(i64 index);
  bool needed() const;
  void connect(i64 index);
  void send_requests(i64 index);
  bool take_request(Stream& stream, i64 index, Sending& sending);
  u64 next_request(const Stream& stream);
  u64 new_request(Request request);
  static bool fits(const Stream& stream, i64 cost);
  std::vector<u64> forgotten_for(Stream& stream, u64 acknowledged);
  void encode(Stream& stream, const Sending& sending);
  i64 patience_of_poll(const Stream& stream);
  void poll_stream(Stream& stream);
  void advance(i64 index);
  bool as_before(const Welcome& welcome);
  void wake_for(i64 bytes);
  void wake_all();
  void broken(i64 index, const Error& error);
  void give_back_credit(const Request& request);
  Status take_reply(Stream& stream, const FrameHeader& header, ConstBytes payload);
  bool send_again(Requests::iterator known);
  void check_times(i64 now);
  void check_deadlines(i64 now);
  void check_silence(i64 index);
  bool is_gone(const Stream& stream);     // mutex_ is held
  void die(const Error& error);       // mutex_ is held
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
  std::atomic<bool> left_idle_{false}, established_{false};
  std::atomic<i64> last_contact_ns_{0}, locked_bytes_{0};
  std::atomic<i64> started_streams_{1};
  i64 last_needed_ns_ = 0, checked_ns_ = 0;   // stream 0's thread only
  std::vector<Stream> streams_;

  std::mutex mutex_;   // guards what follows
  std::atomic<i64> wanted_streams_{1};
  std::deque<std::shared_ptr<Job>> jobs_;
  Requests requests_;
  u64 next_id_ = 1;
  std::set<u64> known_trees_;           // the server has acknowledged requests with them
  std::set<u64> forgotten_;             // given up, and not acknowledged: so that the server doesn't carry them out late
  i64 forgotten_ever_ = 0;
  Error last_failure_;
  std::optional<Error> dead_;
  bool stopping_ = false;
  i64 prepared_until_ns_ = 0;
  i64 refused_since_ns_ = 0;            // since when every attempt finds nobody at the server's port
  i64 full_since_ns_ = 0;               // since when a server that was not reached yet says that it is full
  i64 granted_block_bytes_ = 0;         // by the first welcome
  bool returned_ = false;               // there may be requests to be sent again
};

}  // namespace mercutio::remote
