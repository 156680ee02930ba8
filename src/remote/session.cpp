#include "remote/session.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/attempt.h"
#include "base/threads.h"
#include "base/trace.h"

namespace mercutio::remote {
namespace {

constexpr i64 kOneStreamBytes = 128 * KiB;   // transfers up to this size do not start further streams
constexpr i64 kPreparedMs = 5'000;           // for a file that was announced by prepare()
constexpr i64 kMostLockedBytes = 64 * KiB;   // an access under a lock is one request
constexpr size_t kMostKnownTrees = 4096;
constexpr size_t kMostRequests = 4096;       // in flight; the server stores their replies
constexpr u64 kMostUnreported = 1024;        // finished requests whose replies the server may have to store, too

// A lock may wait for ever. An unlock does not expire, because others would wait for ever for one that never arrives.
bool has_deadline(Kind kind) {
  return kind != Kind::kUnlock && !may_wait_for_lock(kind);
}

u64 capability_of(Kind kind) {
  if (is_about_attributes(kind)) return kAttributes;
  if (is_about_names(kind)) return kNames;
  if (is_about_servers(kind)) return kServers;
  if (is_locked(kind)) return kLockedAccesses;
  return kind == Kind::kClaim ? kClaims : 0;
}

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
      streams_(static_cast<size_t>(connection.streams)) {}

Result<std::shared_ptr<Session>> Session::make(const Connection& connection, i64 server, const std::shared_ptr<Session>& earlier) {
  MERCUTIO_LET(auto tls, make_tls(TlsSide::kClient, connection.key, {connection.identity, {}}));
  std::shared_ptr<Session> session(new Session(connection, server, std::move(tls)));
  if (earlier) session->replace(*earlier);
  MERCUTIO_TRY(session->begin());
  MERCUTIO_LET(session->streams_[0].thread, start_thread([s = session.get()] { s->run(); }));
  return session;
}

Result<std::shared_ptr<Session>> Session::make_undriven(const Connection& connection, const Undriven& seams) {
  std::shared_ptr<Session> session(new Session(connection, 0, seams.tls));
  session->connect_ = seams.connect;
  session->driven_ = false;
  MERCUTIO_TRY(session->begin());
  return session;
}

Status Session::begin() {
  u64 id[2];
  if (::getrandom(id, sizeof id, 0) != sizeof id) return error_from_errno("getrandom", errno);
  hello_.session_high = id[0];
  hello_.session_low = id[1];
  hello_.client = process_name();
  hello_.capabilities = kNames | kClaims | kServers | kLockedAccesses | kAttributes | (connection_.lz4 ? kLz4 : 0);
  MERCUTIO_TRY(open_wakes());
  last_contact_ns_ = last_needed_ns_ = now_ns();
  return ok_status();
}

// A session that was never welcomed has sent no request, but the server may not know yet of the session before it. A session from
// before a fork belongs to the parent, which continues to use it.
void Session::replace(Session& earlier) {
  if (earlier.owner_pid_ != owner_pid_ || earlier.alive()) return;
  const Hello& old = earlier.hello_;
  hello_.replaces_high = earlier.established_ ? old.session_high : old.replaces_high;
  hello_.replaces_low = earlier.established_ ? old.session_low : old.replaces_low;
}

Status Session::open_wakes() {
  for (Stream& stream : streams_) {
    stream.wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stream.wake < 0) return error_from_errno("eventfd", errno);
  }
  return ok_status();
}

Session::~Session() {
  const bool forked = ::getpid() != owner_pid_;   // the threads belong to the parent
  if (!forked) {
    await_farewells();
    std::lock_guard guard(mutex_);
    stopping_ = true;
    wake_all();
  }
  if (!forked && streams_[0].thread.joinable()) streams_[0].thread.join();
  if (!driven_) fail_everything();
  for (Stream& stream : streams_) {
    if (forked && stream.thread.joinable()) stream.thread.detach();
    if (!forked && stream.wake >= 0) ::close(stream.wake);
  }
}

bool Session::alive() {
  if (::getpid() != owner_pid_) return false;
  std::lock_guard guard(mutex_);
  return !dead_;
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
  if (jobs_.empty() && requests_.empty()) last_contact_ns_ = std::max<i64>(last_contact_ns_, now_ns());
  const i64 bytes = job->bytes();
  if (bytes > kOneStreamBytes) wanted_streams_ = static_cast<i64>(streams_.size());
  jobs_.push_back(std::move(job));
  wake_for(bytes);
}

// Wakes as many sleeping streams as the job has work for, those with the least data in flight first. A stream that is awake looks
// for work before it sleeps.
void Session::wake_for(i64 bytes) {
  if (!established_ || wanted_streams_ > started_streams_) (void)::eventfd_write(streams_[0].wake, 1);
  for (i64 wanted = 1 + bytes / kOneStreamBytes; wanted > 0; --wanted) {
    Stream* best = nullptr;
    for (Stream& stream : streams_)
      if (stream.asleep && (!best || stream.in_flight_bytes < best->in_flight_bytes)) best = &stream;
    if (!best) return;
    best->asleep = false;
    (void)::eventfd_write(best->wake, 1);
  }
}

void Session::wake_all() {
  for (const Stream& stream : streams_)
    if (stream.wake >= 0) (void)::eventfd_write(stream.wake, 1);
}

Result<Reply> Session::call(Kind kind, Buffer message) {
  const auto job = std::make_shared<CallJob>(kind, std::move(message));
  submit(job);
  return job->wait();
}

bool Session::over() {
  std::lock_guard guard(mutex_);
  return stopping_ || dead_;
}

void Session::run() {
  while (!over()) {
    const Status stepped = attempt([this] {
      step(0);
      start_streams();
      check_times(now_ns());
      return ok_status();
    });
    if (!stepped) give_up(stepped.error());
  }
  for (i64 i = 1; i < started_streams_; ++i) streams_[static_cast<size_t>(i)].thread.join();
  leave(0);
  fail_everything();
}

void Session::run_stream(i64 index) {
  while (!over()) {
    const Status stepped = attempt([&] {
      step(index);
      return ok_status();
    });
    if (!stepped) give_up(stepped.error());
  }
  leave(index);
}

void Session::step() {
  for (i64 i = 0; i < started_streams_ && !over(); ++i) step(i);
  start_streams();
  check_times(now_ns());
  if (over()) fail_everything();
}

// Starts the first stream alone until it is welcomed. It creates the session that the others join.
void Session::start_streams() {
  if (!established_ || started_streams_ >= wanted_streams_) return;
  std::lock_guard guard(mutex_);
  for (; started_streams_ < wanted_streams_; ++started_streams_) {
    const i64 index = started_streams_;
    if (!driven_) continue;
    auto thread = start_thread([this, index] { run_stream(index); });
    if (!thread) {   // the existing streams suffice
      wanted_streams_ = started_streams_.load();
      return;
    }
    streams_[static_cast<size_t>(index)].thread = std::move(*thread);
  }
}

void Session::step(i64 index) {
  connect(index);
  send_requests(index);
  poll_stream(streams_[static_cast<size_t>(index)]);
  advance(index);
  check_silence(index);
}

// Requires mutex_.
bool Session::needed() const {
  return !jobs_.empty() || !requests_.empty() || open_files_ > 0 || now_ns() < prepared_until_ns_;
}

void Session::prepare() {
  if (::getpid() != owner_pid_) return;
  std::lock_guard guard(mutex_);
  prepared_until_ns_ = now_ns() + kPreparedMs * kMs;
  if (!dead_ && streams_[0].wake >= 0) (void)::eventfd_write(streams_[0].wake, 1);
}

void Session::connect(i64 index) {
  Link& link = streams_[static_cast<size_t>(index)].link;
  if (link.state() != Link::State::kDown || link.retry_at_ns > now_ns()) return;
  {
    std::lock_guard guard(mutex_);
    if (!needed()) return;
  }
  Hello hello = hello_;
  hello.fresh = !established_;
  if (const Status begun = link.begin({server_, connection_.hops, connect_}, tls_, hello); !begun) broken(index, begun.error());
}

void Session::send_requests(i64 index) {
  Stream& stream = streams_[static_cast<size_t>(index)];
  Sending sending;
  while (stream.link.can_take()) {
    while (stream.link.can_take() && take_request(stream, index, sending)) encode(stream, sending);
    if (const Status sent = stream.link.flush(); !sent) return broken(index, sent.error());
    release_sent(stream);
    if (sending.id == 0) return;
  }
}

// Requests that wait for a lock may wait for later ones of this session, by which the holder uses the lock and releases it. So they
// take at most half of the credit and of the requests in flight. One that needs no credit always fits. So does the first of a file: others may
// have all credit, and a file system that hangs.
bool Session::fits(const Stream& stream, const Job& job, i64 cost, Blocked& blocked) {
  if (cost == 0) return true;
  const bool waits = may_wait_for_lock(job.kind());
  if (stream.files.count({waits, job.file()}) == 0) return true;
  const bool room = stream.in_flight_bytes + cost <= stream.credit_bytes;
  bool& sort = waits ? blocked.waiting : blocked.other;
  if (waits) sort = sort || !(stream.in_flight_bytes == 0 || (room && stream.waiting_bytes + cost <= stream.credit_bytes / 2));
  else sort = sort || !(stream.in_flight_bytes == stream.waiting_bytes || room);
  return !sort;
}

u64 Session::new_request(Request request) {
  waiting_ += may_wait_for_lock(request.job->kind()) ? 1 : 0;
  requests_.emplace(next_id_, std::move(request));
  return next_id_++;
}

Session::Requests::iterator Session::end_request(Requests::iterator known) {
  waiting_ -= may_wait_for_lock(known->second.job->kind()) ? 1 : 0;
  return requests_.erase(known);
}

// A request whose stream was cut. 0: there is none, or none fits.
u64 Session::next_returned(const Stream& stream, Blocked& blocked) {
  if (!std::exchange(returned_, false)) return 0;
  for (auto& [id, request] : requests_) {
    if (request.stream >= 0 || request.busy) continue;
    returned_ = true;
    if (fits(stream, *request.job, request.cost, blocked)) return id;
  }
  return 0;
}

// The request to send next on a stream: one whose stream was cut, or the next part of a job. 0: none, or the stream has no credit
// for it.
u64 Session::next_request(const Stream& stream) {
  Blocked blocked;
  if (const u64 id = next_returned(stream, blocked); id != 0) return id;
  if (requests_.size() >= kMostRequests) return 0;
  for (size_t i = 0; i < jobs_.size();) {
    const bool too_many = waiting_ >= kMostRequests / 2 && may_wait_for_lock(jobs_[i]->kind());
    if (too_many || !fits(stream, *jobs_[i], std::min(jobs_[i]->bytes(), stream.block_bytes), blocked)) {
      ++i;
      continue;
    }
    Request request;
    request.job = jobs_[i];
    const u64 needed = capability_of(request.job->kind());
    if (needed != 0 && !stream.link.uses(needed)) {
      request.job->give_up(Error{ErrorClass::kUnsupportedOperation, "the server is too old for this: install the same Mercutio on both sides"});
      jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const Job::Next next = request.job->next(stream.block_bytes, connection_.streams, request.part);
    if (next == Job::Next::kFinished) {
      jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (next == Job::Next::kLater) {
      ++i;
    } else {
      request.cost = request.part.end - request.part.begin;
      request.deadline_ns = has_deadline(request.job->kind()) ? now_ns() + connection_.timeout_ms * kMs : INT64_MAX;
      return new_request(std::move(request));
    }
  }
  return 0;
}

bool Session::take_request(Stream& stream, i64 index, Sending& sending) {
  std::lock_guard guard(mutex_);
  const u64 id = dead_ ? 0 : next_request(stream);
  stream.asleep = id == 0;
  sending.id = id;
  if (id == 0) return false;
  Request& request = requests_.at(id);
  const u64 tree = request.job->tree();
  sending.define = tree != 0 && !known_trees_.count(tree) && !stream.trees.count(tree);
  if (sending.define) stream.trees.insert(tree);
  sending.acknowledged = requests_.begin()->first;   // all earlier requests have their replies
  sending.report = report_for(stream, sending.acknowledged);
  sending.job = request.job;
  sending.part = request.part;
  request.busy = true;
  request.stream = index;
  stream.in_flight_bytes += request.cost;
  const bool waits = may_wait_for_lock(request.job->kind());
  if (waits) stream.waiting_bytes += request.cost;
  if (request.cost > 0) ++stream.files[{waits, request.job->file()}];
  return true;
}

// A request acknowledges all earlier ones up to the first that is in flight. That is not enough where one of them takes long: the
// server would have to store the replies to all later ones; and not where a later one was abandoned, which must not be executed late.
// Then a stream reports what is in flight before its next request. At the server a report on one stream may precede an earlier one
// on another, and a cut loses some; each holds all there is to know.
Buffer Session::report_for(Stream& stream, u64 acknowledged) {
  const u64 finished = next_id_ - 1 - requests_.size();
  const bool abandoned = stream.reported_abandoned != abandoned_ && last_abandoned_ >= acknowledged;
  if (!abandoned && finished - std::max(stream.reported_finished, acknowledged - 1) < kMostUnreported) return {};
  stream.reported_finished = finished;
  stream.reported_abandoned = abandoned_;
  Buffer ids;
  RemoteEncoder encoder(ids);
  encoder(next_id_);
  for (const auto& [id, request] : requests_) encoder(id);
  return frame_of(Kind::kAwaits, 0, ids);
}

void Session::encode(Stream& stream, const Sending& sending) {
  Buffer& out = stream.link.outgoing();
  out.insert(out.end(), sending.report.begin(), sending.report.end());
  const size_t start = out.size();
  out.resize(start + static_cast<size_t>(kHeaderBytes));
  RemoteEncoder writer(out);
  writer(sending.acknowledged);
  sending.job->put_message(sending.part, sending.define, out);
  FrameMade made{sending.job->kind(), sending.id, static_cast<i64>(out.size() - start) - kHeaderBytes};
  const ConstBytes data = sending.job->put_data(sending.part, out);
  made.lz4 = stream.link.uses(kLz4);
  if (seal(out, start, made, data)) stream.link.attach(data);
  ++counts_.requests;
  counts_.definitions += sending.define ? 1 : 0;
  counts_.request_bytes += kHeaderBytes + made.body_bytes;
  stream.sent_from = sending.id;
  release_sent(stream);
}

// When the link has taken its data, the memory of a request is not used any more.
void Session::release_sent(Stream& stream) {
  if (stream.sent_from == 0 || stream.link.has_data()) return;
  std::lock_guard guard(mutex_);
  release(stream.sent_from);
}

void Session::release(u64& request) {
  if (const auto known = requests_.find(std::exchange(request, 0)); known != requests_.end()) known->second.busy = false;
}

// The memory of the program that a reply is for, which belongs to the link until the reply is taken or the stream breaks.
Bytes Session::memory_for(Stream& stream, const FrameHeader& header) {
  std::lock_guard guard(mutex_);
  const auto known = requests_.find(header.id);
  if (known == requests_.end() || known->second.busy) return {};
  const Bytes memory = known->second.job->memory(known->second.part, header.data_bytes);
  if (memory.empty()) return {};
  known->second.busy = true;
  stream.received_in = header.id;
  return memory;
}

// Work, replies and new jobs wake the thread. This is the time until the next timeout.
i64 Session::patience_of_poll(const Stream& stream) {
  if (!driven_) return 0;
  const i64 longest = std::clamp<i64>(connection_.silence_ms / 6, 1, 500);
  std::lock_guard guard(mutex_);
  return std::min<i64>(longest, !stream.ready ? 20 : requests_.empty() ? longest : 50);
}

void Session::poll_stream(Stream& stream) {
  const bool up = stream.link.state() != Link::State::kDown;
  pollfd ready[] = {{stream.wake, POLLIN, 0}, {stream.link.fd(), up ? stream.link.events() : short{0}, 0}};
  (void)::poll(ready, up ? 2 : 1, up && stream.link.has_more() ? 0 : static_cast<int>(patience_of_poll(stream)));
  eventfd_t count = 0;
  if ((ready[0].revents & POLLIN) != 0) (void)::eventfd_read(stream.wake, &count);
}

void Session::advance(i64 index) {
  Stream& stream = streams_[static_cast<size_t>(index)];
  if (stream.link.state() == Link::State::kDown) return;
  const bool was_ready = stream.link.ready();
  const Status done = stream.link.advance({[&](const FrameHeader& header) { return memory_for(stream, header); },
                                           [&](const FrameHeader& header, ConstBytes message, ConstBytes data) { return take_reply(stream, header, message, data); }});
  if (!done) broken(index, done.error());
  release_sent(stream);
  if (!stream.link.ready()) return;
  if (!was_ready && !as_before(stream.link.welcome()))
    return broken(index, Error{ErrorClass::kIo, "the server grants shorter frames than before: open the file again", ESTALE});
  last_contact_ns_ = now_ns();
  established_ = true;
  if (was_ready) return;
  std::lock_guard guard(mutex_);
  stream.ready = true;
  refused_since_ns_ = full_since_ns_ = 0;
  stream.credit_bytes = stream.link.welcome().credit_bytes;
  stream.block_bytes = granted_block_bytes_;
}

// Whether a later stream has the same grants as the first one, so that any request can be sent again on it.
bool Session::as_before(const Welcome& welcome) {
  std::lock_guard guard(mutex_);
  if (granted_block_bytes_ == 0) {
    granted_block_bytes_ = welcome.block_bytes;
    locked_bytes_ = (welcome.capabilities & kLockedAccesses) != 0 ? std::min(welcome.block_bytes, kMostLockedBytes) : 0;
  }
  return welcome.block_bytes >= granted_block_bytes_;
}

Status Session::take_reply(Stream& stream, const FrameHeader& header, ConstBytes message, ConstBytes data) {
  MERCUTIO_LET(const Reply reply, get_message<Reply>(message));
  std::unique_lock guard(mutex_);
  if (!stream.link.has_data()) release(stream.sent_from);
  release(stream.received_in);
  const auto known = requests_.find(header.id);
  // Answered twice after a cut, or abandoned; or answered before it was sent, which no correct server does.
  if (known == requests_.end() || known->second.busy) return close_late(header.id, reply), ok_status();
  Request& request = known->second;
  give_back_credit(request);
  request.stream = -1;
  if (reply.outcome == static_cast<std::uint32_t>(Outcome::kTreeUnknown) && send_again(known)) return ok_status();
  const u64 tree = request.job->tree();
  if (tree != 0 && reply.outcome == 0) {
    if (known_trees_.size() >= kMostKnownTrees) known_trees_.clear();
    known_trees_.insert(tree);
    stream.trees.erase(tree);
  }
  request.busy = true;
  const std::shared_ptr<Job> job = request.job;
  const Part part = request.part;
  guard.unlock();
  job->complete(part, reply, data);
  guard.lock();
  if (const auto complete = requests_.find(header.id); complete != requests_.end()) end_request(complete);
  return ok_status();
}

}  // namespace mercutio::remote
