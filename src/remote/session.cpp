#include "remote/session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/trace.h"
#include "remote/threads.h"

namespace mercutio::remote {
namespace {

constexpr i64 kMs = 1'000'000;
constexpr i64 kOneStreamBytes = 128 * KiB;   // transfers up to this size don't make more streams
constexpr i64 kConnectMs = 10'000;           // TCP, TLS and hello together
constexpr i64 kFirstRetryMs = 50, kLongestRetryMs = 2'000;
constexpr i64 kIdleMs = 10'000;              // without open files for so long, the streams are closed
constexpr size_t kMostKnownTrees = 4096;
constexpr i64 kMostTries = 3;                // of a request whose tree the server has forgotten
constexpr size_t kMostRequests = 4096;       // under way; the server keeps their replies

std::string process_name() {
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);
  return std::string(host) + " process " + std::to_string(::getpid());
}

}  // namespace

Session::Session(const Connection& connection, i64 server, std::shared_ptr<TlsContext> tls)
    : connection_(connection),
      server_(connection.servers[static_cast<size_t>(server) % connection.servers.size()]),
      tls_(std::move(tls)),
      owner_pid_(::getpid()),
      links_(static_cast<size_t>(connection.streams)) {}

Result<std::shared_ptr<Session>> Session::make(const Connection& connection, i64 server) {
  MERCUTIO_LET(auto tls, make_tls(TlsSide::kClient, connection.key));
  std::shared_ptr<Session> session(new Session(connection, server, std::move(tls)));
  u64 id[2];
  if (::getrandom(id, sizeof id, 0) != sizeof id) return error_from_errno("getrandom", errno);
  session->hello_.session_high = id[0];
  session->hello_.session_low = id[1];
  session->hello_.client = process_name();
  session->wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (session->wake_ < 0) return error_from_errno("eventfd", errno);
  session->last_contact_ns_ = session->last_needed_ns_ = now_ns();
  session->thread_ = start_thread([s = session.get()] { s->run(); });
  return session;
}

Session::~Session() {
  if (::getpid() != owner_pid_) {   // the thread is the parent's
    thread_.detach();
    return;
  }
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  if (wake_ >= 0) (void)::eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  if (wake_ >= 0) ::close(wake_);
}

bool Session::alive() {
  std::lock_guard guard(mutex_);
  return !dead_ && ::getpid() == owner_pid_;
}

void Session::submit(std::shared_ptr<Job> job) {
  if (::getpid() != owner_pid_)
    return job->give_up(Error{ErrorClass::kIo, "a remote file that was opened before a fork is the parent's: open it again"});
  std::unique_lock guard(mutex_);
  if (dead_) {
    const Error error = *dead_;
    guard.unlock();
    return job->give_up(error);
  }
  new_jobs_.push_back(std::move(job));
  guard.unlock();
  (void)::eventfd_write(wake_, 1);
}

Result<Reply> Session::call(Kind kind, Buffer message) {
  const auto job = std::make_shared<CallJob>(kind, std::move(message));
  submit(job);
  return job->wait();
}

void Session::run() {
  for (;;) {
    {
      std::lock_guard guard(mutex_);
      if (stopping_ || dead_) break;
    }
    take_new_jobs();
    const i64 now = now_ns();
    connect_links(now);
    send_requests();
    poll_links();
    advance_links();
    check_times(now_ns());
  }
  die(Error{ErrorClass::kIo, "the connection was closed"});
  for (Link& link : links_) link.drop();
}

void Session::take_new_jobs() {
  std::lock_guard guard(mutex_);
  if (!new_jobs_.empty() && jobs_.empty() && requests_.empty()) last_contact_ns_ = std::max(last_contact_ns_, now_ns());
  for (auto& job : new_jobs_) {
    if (job->bytes() > kOneStreamBytes) wanted_links_ = static_cast<i64>(links_.size());
    jobs_.push_back(std::move(job));
  }
  new_jobs_.clear();
}

bool Session::needed() {
  return !jobs_.empty() || !requests_.empty() || open_files_ > 0;
}

// The first stream alone until it is welcomed: it makes the session that the others join.
void Session::connect_links(i64 now) {
  for (i64 i = 0; i < (established_ ? wanted_links_ : 1); ++i) {
    Link& link = links_[static_cast<size_t>(i)];
    if (link.state() != Link::State::kDown || link.retry_at_ns > now || !needed()) continue;
    hello_.fresh = !established_;
    if (const Status begun = link.begin(server_, tls_, hello_); !begun) broken(link, i, begun.error());
  }
}

void Session::send_requests() {
  for (;;) {
    i64 index = -1;
    Link* link = freest_link(index);
    if (!link || !fill(*link, index)) return;
    if (const Status sent = link->flush(); !sent) broken(*link, index, sent.error());
  }
}

Link* Session::freest_link(i64& index) {
  Link* best = nullptr;
  for (size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    if (!link.can_take() || (best && best->in_flight_bytes <= link.in_flight_bytes)) continue;
    best = &link;
    index = static_cast<i64>(i);
  }
  return best;
}

bool Session::fits(const Link& link, i64 cost) const {
  return link.in_flight_bytes == 0 || link.in_flight_bytes + cost <= link.welcome().credit_bytes;
}

// The request to send next on a link: one whose stream was cut, or a job's next part. 0: none, or no credit for it.
u64 Session::next_request(const Link& link) {
  for (auto& [id, request] : requests_)
    if (request.link < 0) return fits(link, request.cost) ? id : 0;
  if (!fits(link, link.welcome().block_bytes) || requests_.size() >= kMostRequests) return 0;
  for (size_t i = 0; i < jobs_.size();) {
    Request request;
    request.job = jobs_[i];
    const Job::Next next = request.job->next(link.welcome().block_bytes, connection_.streams, request.part);
    if (next == Job::Next::kFinished) {
      jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (next == Job::Next::kLater) {
      ++i;
    } else {
      request.cost = request.part.end - request.part.begin;
      request.deadline_ns = request.job->kind() == Kind::kLock ? INT64_MAX : now_ns() + connection_.timeout_ms * kMs;
      requests_.emplace(next_id_, std::move(request));
      return next_id_++;
    }
  }
  return 0;
}

bool Session::fill(Link& link, i64 index) {
  const u64 id = next_request(link);
  if (id == 0) return false;
  encode(id, requests_.at(id), link, index);
  return true;
}

void Session::encode(u64 id, Request& request, Link& link, i64 index) {
  Buffer& frame = link.outgoing();
  frame.resize(static_cast<size_t>(kHeaderBytes));
  BodyWriter writer(frame);
  writer(requests_.begin()->first);   // all before it have their replies
  const u64 tree = request.job->tree();
  const bool define = tree != 0 && !known_trees_.count(tree) && !link.trees.count(tree);
  i64 body_bytes = 0;
  request.job->put(request.part, define, frame, body_bytes);
  seal(frame, request.job->kind(), id, body_bytes);
  if (define) link.trees.insert(tree);
  request.link = index;
  link.in_flight_bytes += request.cost;
  ++counts_.requests;
  counts_.definitions += define ? 1 : 0;
  counts_.request_bytes += kHeaderBytes + body_bytes;
}

// Work, replies and new jobs wake the thread; the rest is clocks.
i64 Session::patience_of_poll() const {
  i64 down = 0;
  for (i64 i = 0; i < wanted_links_; ++i) down += links_[static_cast<size_t>(i)].ready() ? 0 : 1;
  const i64 longest = std::clamp<i64>(connection_.silence_ms / 6, 1, 500);
  return std::min<i64>(longest, down > 0 ? 20 : requests_.empty() ? longest : 50);
}

void Session::poll_links() {
  std::vector<pollfd> ready{{wake_, POLLIN, 0}};
  bool at_once = false;
  for (const Link& link : links_) {
    if (link.state() == Link::State::kDown) continue;
    ready.push_back({link.fd(), link.events(), 0});
    at_once = at_once || link.has_read_ahead();
  }
  (void)::poll(ready.data(), ready.size(), at_once ? 0 : static_cast<int>(patience_of_poll()));
  eventfd_t count = 0;
  if ((ready[0].revents & POLLIN) != 0) (void)::eventfd_read(wake_, &count);
}

void Session::advance_links() {
  for (size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    if (link.state() == Link::State::kDown) continue;
    const Status done =
        link.advance([&](const FrameHeader& header, ConstBytes payload) { return take_reply(link, header, payload); });
    if (!done) broken(link, static_cast<i64>(i), done.error());
    if (!link.ready()) continue;
    established_ = true;
    last_contact_ns_ = now_ns();
  }
}

void Session::give_back_credit(const Request& request) {
  if (request.link < 0) return;
  Link& sender = links_[static_cast<size_t>(request.link)];
  sender.in_flight_bytes = std::max<i64>(0, sender.in_flight_bytes - request.cost);
}

Status Session::take_reply(Link& link, const FrameHeader& header, ConstBytes payload) {
  const auto known = requests_.find(header.id);
  MERCUTIO_LET(const Reply reply, get_message<Reply>(payload.first(static_cast<size_t>(header.body_bytes))));
  if (known == requests_.end()) return ok_status();   // answered twice after a cut, or given up
  Request& request = known->second;
  give_back_credit(request);
  const u64 tree = request.job->tree();
  if (reply.outcome == static_cast<std::uint32_t>(Outcome::kTreeUnknown) && ++request.tries < kMostTries) {
    known_trees_.erase(tree);
    for (Link& other : links_) other.trees.erase(tree);
    // Under a number of its own: under the old one the server would say the same again.
    Request again = std::move(request);
    again.link = -1;
    requests_.erase(known);
    requests_.emplace(next_id_++, std::move(again));
    return ok_status();
  }
  if (tree != 0 && reply.outcome == 0) {
    if (known_trees_.size() >= kMostKnownTrees) known_trees_.clear();
    known_trees_.insert(tree);
    link.trees.erase(tree);
  }
  request.job->settle(request.part, reply, payload.subspan(static_cast<size_t>(header.body_bytes)));
  requests_.erase(known);
  return ok_status();
}

// A link is down: what was under way on it goes out again on another one, or on this one when it is back.
void Session::broken(Link& link, i64 index, const Error& error) {
  const bool was_ready = link.ready();
  link.drop();
  for (auto& [id, request] : requests_)
    if (request.link == index) request.link = -1;
  last_trouble_ = error;
  const bool refused_for_good = error.cls == ErrorClass::kAccess || error.sys_errno == ESTALE;
  const bool nobody_there = !established_ && error.sys_errno != ETIMEDOUT;
  const bool others = std::any_of(links_.begin(), links_.end(), [](const Link& other) { return other.ready(); });
  if (!others && (refused_for_good || nobody_there)) return die(explain(error));
  if (!others && !needed()) {
    left_idle_ = true;
    return die(Error{ErrorClass::kIo, "the server closed an idle connection"});
  }
  counts_.reconnects += was_ready ? 1 : 0;
  const i64 wait_ms = std::min(kLongestRetryMs, kFirstRetryMs << std::min<i64>(link.retries++, 6));
  link.retry_at_ns = now_ns() + wait_ms * kMs;
}

void Session::check_times(i64 now) {
  check_silence(now);
  const bool contact = std::any_of(links_.begin(), links_.end(), [](const Link& link) { return link.ready(); });
  if (!contact && needed() && now - last_contact_ns_ > connection_.patience_ms * kMs) return die(explain(last_trouble_));
  if (needed()) last_needed_ns_ = now;
  if (!contact && !needed()) last_contact_ns_ = now;
  if (now - last_needed_ns_ > kIdleMs * kMs) {
    left_idle_ = true;
    return die(Error{ErrorClass::kIo, "the connection was closed because nothing used it"});
  }
  for (auto at = requests_.begin(); at != requests_.end();) {
    Request& request = at->second;
    if (request.deadline_ns > now) {
      ++at;
      continue;
    }
    const Error late = too_late(request);
    const std::shared_ptr<Job> job = request.job;
    const Part part = request.part;
    give_back_credit(request);
    at = requests_.erase(at);
    job->fail(part, late);
    job->give_up(late);
  }
}

void Session::check_silence(i64 now) {
  for (size_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    if (link.state() == Link::State::kDown) continue;
    const i64 silent_ms = (now - link.last_heard_ns) / kMs;
    const i64 limit_ms = link.ready() ? connection_.silence_ms : std::min(kConnectMs, connection_.silence_ms);
    if (silent_ms > limit_ms) {
      Error error = error_from_errno("the server is silent", ETIMEDOUT);
      broken(link, static_cast<i64>(i), error);
    } else if (silent_ms > connection_.silence_ms / 3 && !link.ping_sent && link.can_take()) {
      link.outgoing() = frame_of(Kind::kPing, 0, {});
      link.ping_sent = true;
      if (const Status sent = link.flush(); !sent) broken(link, static_cast<i64>(i), sent.error());
    }
  }
}

Error Session::explain(const Error& error) const {
  Error result = error;
  result.cls = error.cls == ErrorClass::kAccess ? ErrorClass::kAccess : ErrorClass::kIo;
  const std::string place = "the connection to " + connection_.host + " (" + server_.address + " port " + std::to_string(server_.port) + ")";
  const std::string ending = established_ ? "; what was not synced may be lost" : "";
  result.what = place + (established_ ? " is lost: " : " can't be made: ") + error.what +
                "; see whether mercutiod still runs there, or run 'mercutio connect' again" + ending;
  result.offset = result.bytes = -1;
  return result;
}

Error Session::too_late(const Request& request) const {
  Error error{ErrorClass::kIo, "", ETIMEDOUT};
  error.what = connection_.host + " did not answer a request to " + kind_name(request.job->kind()) + " within " +
               std::to_string(connection_.timeout_ms / 1000) + " s (timeout_ms in the connection file)";
  return error;
}

// Everything that waits, and everything that comes, fails with `error`.
void Session::die(const Error& error) {
  {
    std::lock_guard guard(mutex_);
    if (!dead_) dead_ = error;
    for (auto& job : new_jobs_) jobs_.push_back(std::move(job));
    new_jobs_.clear();
  }
  Requests requests;
  requests.swap(requests_);
  for (auto& [id, request] : requests) {
    request.job->fail(request.part, *dead_);
    request.job->give_up(*dead_);
  }
  for (auto& job : jobs_) job->give_up(*dead_);
  jobs_.clear();
}

}  // namespace mercutio::remote
