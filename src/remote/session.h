// A client's session with one server: up to 16 streams, driven by one thread, which asks jobs for requests while streams
// have credit, survives cuts, and ends with a clear error when the server is gone for good. Memory: a frame a stream each
// way, whatever is written.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <thread>

#include "remote/jobs.h"
#include "remote/link.h"

namespace mercutio::remote {

class Session {
 public:
  static Result<std::shared_ptr<Session>> make(const Connection& connection, i64 server);
  ~Session();

  // Takes a job; its parts are settled, or it is given up, in bounded time. After a fork the child's jobs fail.
  void submit(std::shared_ptr<Job> job);
  Result<Reply> call(Kind kind, Buffer message);
  bool alive();
  bool left_idle() const { return left_idle_; }   // it ended only because nobody used it: make another one
  void file_opened() { ++open_files_; }
  void file_closed() { --open_files_; }
  const Connection& connection() const { return connection_; }
  struct Counts {
    std::atomic<i64> requests{0}, definitions{0}, reconnects{0}, request_bytes{0};   // request_bytes: beside file data
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Request {
    std::shared_ptr<Job> job;
    Part part;
    i64 link = -1;            // -1: to be sent, or sent again
    i64 cost = 0;             // of its link's credit
    i64 deadline_ns = 0;
    i64 tries = 0;
  };
  using Requests = std::map<u64, Request>;

  Session(const Connection& connection, i64 server, std::shared_ptr<TlsContext> tls);
  void run();
  void take_new_jobs();
  bool needed();
  void connect_links(i64 now);
  void send_requests();
  Link* freest_link(i64& index);
  bool fill(Link& link, i64 index);
  u64 next_request(const Link& link);
  bool fits(const Link& link, i64 cost) const;
  void encode(u64 id, Request& request, Link& link, i64 index);
  i64 patience_of_poll() const;
  void poll_links();
  void advance_links();
  void broken(Link& link, i64 index, const Error& error);
  void give_back_credit(const Request& request);
  Status take_reply(Link& link, const FrameHeader& header, ConstBytes payload);
  void check_times(i64 now);
  void check_silence(i64 now);
  void die(const Error& error);
  Error explain(const Error& error) const;
  Error too_late(const Request& request) const;

  const Connection connection_;
  const Endpoint server_;
  const std::shared_ptr<TlsContext> tls_;
  const int owner_pid_;
  Counts counts_;
  std::atomic<i64> open_files_{0};
  std::atomic<bool> left_idle_{false};

  // The thread's own.
  Hello hello_;
  std::vector<Link> links_;
  i64 wanted_links_ = 1;
  std::deque<std::shared_ptr<Job>> jobs_;
  Requests requests_;
  u64 next_id_ = 1;
  std::set<u64> known_trees_;           // the server has acknowledged requests with them
  bool established_ = false;
  i64 last_contact_ns_ = 0, last_needed_ns_ = 0;
  Error last_trouble_;

  std::mutex mutex_;
  std::vector<std::shared_ptr<Job>> new_jobs_;
  std::optional<Error> dead_;
  bool stopping_ = false;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace mercutio::remote
