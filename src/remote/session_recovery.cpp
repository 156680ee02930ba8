// Recovery of a session: broken or silent streams, requests that take too long, a server that does not come back; and the end of
// the session.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/trace.h"
#include "remote/operations.h"
#include "remote/session.h"

namespace mercutio::remote {
namespace {

constexpr i64 kConnectMs = 10'000;           // TCP, TLS and hello together
constexpr i64 kFirstRetryMs = 50, kLongestRetryMs = 2'000;
constexpr i64 kSpareRetryMs = 10'000;        // of a stream that a full server refused, if there are others
constexpr i64 kGonePart = 6;                 // if the connection is refused for this part of the patience, the server has ended
constexpr i64 kIdleMs = 10'000;              // without open files for this time, the streams are closed
constexpr i64 kCheckMs = 10;                 // between two checks of all requests
constexpr i64 kFarewellMs = 1'000;           // at the end, for closes and unlocks that nobody waited for
constexpr i64 kMostTries = 3;                // of a request whose tree the server has discarded
constexpr i64 kMostDoubts = 2;               // failed handshakes before a client that was welcomed before accepts them as final

bool changes_something(Kind kind) {
  return !is_query(kind) && kind != Kind::kChecksum;
}

}  // namespace

// A stream is broken: its requests are sent again on another stream, or on this one when it has reconnected.
void Session::broken(i64 index, const Error& error) {
  Stream& stream = streams_[static_cast<size_t>(index)];
  stream.link.drop();
  std::lock_guard guard(mutex_);
  release(stream.sent_from);
  release(stream.received_in);
  const bool was_ready = std::exchange(stream.ready, false);
  stream.asleep = false;
  stream.in_flight_bytes = stream.waiting_bytes = 0;
  stream.files.clear();
  stream.trees.clear();
  stream.reported_finished = stream.reported_abandoned = 0;
  for (auto& [id, request] : requests_)
    if (request.stream == index) request.stream = -1;
  close_again(index);
  returned_ = true;
  last_failure_ = error;
  // A corrupt handshake looks like one with another key. A client that was welcomed before tries again.
  const bool other_key = error.cls == ErrorClass::kAccess && (!established_ || ++stream.link.doubts > kMostDoubts);
  const bool refused_for_good = other_key || error.sys_errno == ESTALE;
  const bool full = error.sys_errno == EUSERS;
  if (full) {   // the server exists; wait as long as for a request
    last_contact_ns_ = now_ns();
    if (full_since_ns_ == 0) full_since_ns_ = last_contact_ns_;
    if (!established_ && last_contact_ns_ - full_since_ns_ > connection_.timeout_ms * kMs) return die(server_full(error));
  }
  const bool nobody_there = !established_ && error.sys_errno != ETIMEDOUT && error.sys_errno != EBUSY && !full && !may_be_busy(error);
  const bool others = std::any_of(streams_.begin(), streams_.end(), [](const Stream& other) { return other.ready; });
  const bool gone = is_gone(stream);
  if (established_ && !others && gone) server_ended_ = true;
  if (!others && (refused_for_good || nobody_there || gone)) return die(explain(error));
  if (!others && !needed()) {
    left_idle_ = true;
    return die(Error{ErrorClass::kIo, "the server closed an idle connection"});
  }
  counts_.reconnects += was_ready ? 1 : 0;
  i64 wait_ms = std::min(kLongestRetryMs, kFirstRetryMs << std::min<i64>(stream.link.retries++, 6));
  if (full && others) wait_ms = kSpareRetryMs;
  wait_ms -= wait_ms * static_cast<i64>(hello_.session_low % 256) / 512;   // spreads the processes of a job over time
  stream.link.retry_at_ns = driven_ ? now_ns() + wait_ms * kMs : 0;
  wake_all();
}

// A server or router without free threads or descriptors closes connections without a message. Its clients retry for a while.
bool Session::may_be_busy(const Error& error) const {
  const bool closed = error.sys_errno == ECONNRESET || error.sys_errno == EPIPE;
  return driven_ && closed && now_ns() - last_contact_ns_ < connection_.patience_ms * kMs / kGonePart;
}

// When a server ends, its sessions end, so there is no need to wait as for a link or a router. But a program that forwards ports
// may be restarted.
bool Session::is_gone(const Stream& stream) {
  if (!stream.link.server_refused) {
    refused_since_ns_ = 0;
    return false;
  }
  if (refused_since_ns_ == 0) refused_since_ns_ = now_ns();
  return now_ns() - refused_since_ns_ > connection_.patience_ms * kMs / kGonePart;
}

void Session::give_back_credit(const Request& request) {
  if (request.stream < 0) return;
  Stream& sender = streams_[static_cast<size_t>(request.stream)];
  sender.in_flight_bytes = std::max<i64>(0, sender.in_flight_bytes - request.cost);
  const bool waits = may_wait_for_lock(request.job->kind());
  if (waits) sender.waiting_bytes = std::max<i64>(0, sender.waiting_bytes - request.cost);
  const auto known = sender.files.find({waits, request.job->file()});
  if (request.cost > 0 && known != sender.files.end() && --known->second == 0) sender.files.erase(known);
}

void Session::check_times(i64 now) {
  std::lock_guard guard(mutex_);
  if (dead_) return;
  const bool contact = std::any_of(streams_.begin(), streams_.end(), [](const Stream& stream) { return stream.ready; });
  if (!contact && needed() && now - last_contact_ns_ > connection_.patience_ms * kMs) return die(explain(last_failure_));
  if (needed()) last_needed_ns_ = now;
  if (!contact && !needed()) last_contact_ns_ = now;
  if (now - last_needed_ns_ > kIdleMs * kMs) {
    left_idle_ = true;
    return die(Error{ErrorClass::kIo, "the connection was closed because nothing used it"});
  }
  if (now - checked_ns_ < kCheckMs * kMs) return;
  checked_ns_ = now;
  check_deadlines(now);
}

void Session::check_deadlines(i64 now) {
  for (auto at = requests_.begin(); at != requests_.end();) {
    Request& request = at->second;
    if (request.deadline_ns > now || request.busy) {
      ++at;
      continue;
    }
    const Error late = too_late(request);
    const std::shared_ptr<Job> job = request.job;
    const Part part = request.part;
    if (job->kind() == Kind::kClose) keep_close(request);
    give_back_credit(request);
    if (changes_something(job->kind())) {
      last_abandoned_ = std::max(last_abandoned_, at->first);
      ++abandoned_;
      if (job->kind() == Kind::kOpen) late_opens_.insert(at->first);
    }
    at = end_request(at);
    job->fail(part, late);
    job->give_up(late);
  }
}

// The server has opened a file of which nobody has the handle. If it learns first that the open is abandoned, it closes the file itself.
void Session::close_late(u64 id, const Reply& reply) {
  if (late_opens_.erase(id) == 0 || reply.outcome != 0) return;
  const auto opened = get_message<OpenReply>(reply.more);
  if (!opened) return;
  Buffer message;
  put_message(message, PlainRequest{.target = opened->handle});
  jobs_.push_back(std::make_shared<CallJob>(Kind::kClose, std::move(message)));
}

// Nobody asks for another close. The server carries it out although it is abandoned. If its stream breaks, it may not
// have arrived.
void Session::keep_close(const Request& request) {
  Buffer message;
  request.job->put_message(request.part, false, message);
  late_closes_.emplace(request.stream, std::move(message));
  if (request.stream < 0) close_again(request.stream);
}

void Session::close_again(i64 stream) {
  const auto [begin, end] = late_closes_.equal_range(stream);
  for (auto at = begin; at != end; ++at)
    jobs_.push_back(std::make_shared<CallJob>(Kind::kClose, std::move(at->second)));
  late_closes_.erase(begin, end);
}

void Session::check_silence(i64 index) {
  Link& link = streams_[static_cast<size_t>(index)].link;
  if (link.state() == Link::State::kDown) return;
  const i64 silent_ms = (now_ns() - link.last_heard_ns) / kMs;
  const i64 limit_ms = link.ready() ? connection_.silence_ms : std::min(kConnectMs, connection_.silence_ms);
  if (silent_ms > limit_ms) return broken(index, error_from_errno("the server is silent", ETIMEDOUT));
  if (silent_ms <= connection_.silence_ms / 3 || link.ping_sent || !link.can_take()) return;
  const Buffer ping = frame_of(Kind::kPing, 0, {});
  link.outgoing().insert(link.outgoing().end(), ping.begin(), ping.end());
  link.ping_sent = true;
  if (const Status sent = link.flush(); !sent) broken(index, sent.error());
}

// The advice precedes the cause, because Open MPI's texts end after 255 bytes. What was under way may have been done: the error number must not
// be one after which programs try again, as that of the broken connection.
Error Session::explain(const Error& error) const {
  Error result = error;
  const bool is_told_by_server = error.sys_errno == ESTALE || error.cls == ErrorClass::kAccess;
  if (established_ && !is_told_by_server) result.sys_errno = EIO;
  result.cls = error.cls == ErrorClass::kAccess ? ErrorClass::kAccess : ErrorClass::kIo;
  const char* advice = " can't be made; see whether mercutiod runs there, or run 'mercutio connect' again: ";
  if (established_) advice = " is lost, and with it perhaps what was not synced; run 'mercutio connect' again: ";
  if (!established_ && (error.sys_errno == ECONNRESET || error.sys_errno == EPIPE))
    advice = " can't be made; the server or router there has no room ('ulimit -u', 'ulimit -n', --connections), or has ended: ";
  result.what = "the connection to " + connection_.host + advice + (error.what.empty() ? "no answer" : error.what) + " (" + server_.address + " port " + std::to_string(server_.port) + ")";
  result.offset = result.bytes = -1;
  return result;
}

Error Session::server_full(const Error& error) const {
  return Error{ErrorClass::kIo, connection_.host + " is full: wait for other programs to end, or run 'mercutio connect' with fewer --streams or more --connections: " +
                                    error.what, EUSERS};
}

Error Session::too_late(const Request& request) const {
  Error error{ErrorClass::kIo, "", ETIMEDOUT};
  error.what = connection_.host + " did not answer a request to " + kind_name(request.job->kind()) + " within " +
               std::to_string(connection_.timeout_ms / 1000) + " s (timeout_ms in the connection file)";
  return error;
}

// Later jobs fail with `error` from now on. Waiting jobs fail when the threads have stopped.
void Session::die(const Error& error) {
  if (!dead_) dead_ = error;
  wake_all();
}

// Also called if a thread of the session cannot continue, as the state of its request is unknown.
void Session::give_up(const Error& error) {
  std::lock_guard guard(mutex_);
  die(error);
}

void Session::fail_everything() {
  std::lock_guard guard(mutex_);
  if (!dead_) dead_ = Error{ErrorClass::kIo, "the connection was closed"};
  for (auto& [id, request] : requests_) {
    request.job->fail(request.part, *dead_);
    request.job->give_up(*dead_);
  }
  for (auto& job : jobs_) job->give_up(*dead_);
  requests_.clear();
  waiting_ = 0;
  jobs_.clear();
}

// The server has discarded the tree. The request gets a new number, because under the old one the server would repeat its reply.
bool Session::send_again(Requests::iterator known) {
  if (++known->second.tries >= kMostTries) return false;
  const u64 tree = known->second.job->tree();
  known_trees_.erase(tree);
  for (Stream& stream : streams_) stream.trees.erase(tree);
  Request again = known->second;
  again.stream = -1;
  returned_ = true;
  end_request(known);
  new_request(std::move(again));
  return true;
}

// A server keeps what belongs to a client whose connection broke, not to one that has ended.
void Session::leave(i64 index) {
  Link& link = streams_[static_cast<size_t>(index)].link;
  bool in_order = false;
  {
    std::lock_guard guard(mutex_);
    in_order = !dead_ || left_idle_;
  }
  in_order ? link.leave() : link.drop();
}

// Without its closes the server would keep the files, and the session, as those of a program that may return.
void Session::await_farewells() {
  const auto is_farewell = [](const std::shared_ptr<Job>& job) { return job->kind() == Kind::kClose || job->kind() == Kind::kUnlock; };
  for (const i64 end = now_ns() + kFarewellMs * kMs; driven_ && established_ && now_ns() < end;) {
    {
      std::lock_guard guard(mutex_);
      const bool in_flight = std::any_of(requests_.begin(), requests_.end(), [&](const auto& known) { return is_farewell(known.second.job); });
      if (dead_ || (!in_flight && std::none_of(jobs_.begin(), jobs_.end(), is_farewell))) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace mercutio::remote
