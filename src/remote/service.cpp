#include "remote/service.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/attempt.h"
#include "base/threads.h"
#include "base/trace.h"
#include "remote/printable.h"

namespace mercutio::remote {
namespace {

constexpr size_t kMostLogged = 8192;
constexpr i64 kRetireMs = 2'000;   // for requests of the client's previous session; after it the client asks again

Error wrong_protocol(const char* why) {
  return Error{ErrorClass::kIo, why, EPROTO};
}

std::string path_of_open(Kind kind, ConstBytes message) {
  if (kind != Kind::kOpen) return "";
  const auto request = get_message<OpenRequest>(message);
  return request ? request->path : "";
}

// The requests that another server with a one-time key may send.
bool is_of_copy(Kind kind) {
  return kind == Kind::kOpen || kind == Kind::kClose || kind == Kind::kWrite || kind == Kind::kSize || kind == Kind::kSetSize || kind == Kind::kSync ||
         kind == Kind::kChecksum;
}

// The open file that a request is about. 0: none.
u64 file_of(Kind kind, ConstBytes message) {
  const bool is_first = kind == Kind::kRead || kind == Kind::kWrite || kind == Kind::kSize || kind == Kind::kLock || kind == Kind::kClose ||
                        kind == Kind::kSync || kind == Kind::kSetSize || kind == Kind::kPreallocate || kind == Kind::kChecksum;
  if (!is_first && !is_locked(kind)) return 0;
  const size_t at = is_first ? 0 : 2 * sizeof(i64);   // after the range of the lock
  u64 file = 0;
  if (message.size() >= at + sizeof file) RemoteDecoder(message.subspan(at, sizeof file))(file);
  return file;
}

std::string host_name() {
  char name[256] = "";
  (void)::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

void take_finished(std::list<Worker>& from, std::list<Worker>& to) {
  for (auto at = from.begin(); at != from.end();) {
    const auto next = std::next(at);
    if (at->finished) to.splice(to.end(), from, at);
    at = next;
  }
}

JoinAtEnd::~JoinAtEnd() {
  for (Worker& worker : workers) worker.thread.join();
}

Service::Service(const ServiceOptions& options, Exports exports)
    : options_(options),
      exports_(std::move(exports)),
      refusals_(options.log),
      operations_{exports_, host_name(), options.block_bytes, Hints{}, options.around, [this](const std::string& path) { locks_.released(path); }},
      grants_(std::make_shared<Grants>(options.grant_ms)) {}

Service::~Service() {
  std::vector<std::shared_ptr<ServedSession>> sessions;
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
    sessions.swap(over_);
    for (auto& [id, session] : sessions_) sessions.push_back(std::move(session));
    sessions_.clear();
  }
  for (auto& session : sessions) end(session);
  locks_.stop();
  for (Worker& slow : slow_) slow.thread.join();
}

// Joins workers that are done, and ends sessions whose clients have been absent for too long.
bool Service::do_periodic_work(i64 now) {
  std::vector<std::shared_ptr<ServedSession>> over;
  std::list<Worker> finished;
  const JoinAtEnd join{finished};
  bool used = false;
  {
    std::lock_guard guard(mutex_);
    take_finished(slow_, finished);
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      const i64 since = at->second->idle_since();
      const i64 grace_ms = at->second->client_has_ended() ? 0 : at->second->holds_files() ? options_.grace_ms : options_.short_grace_ms;
      const auto& borrowed = at->second->borrowed();
      const bool expired = (since >= 0 && now - since > grace_ms * 1'000'000) || (borrowed && borrowed->closed && at->second->retire(0));
      if (expired) over_.push_back(at->second);
      at = expired ? sessions_.erase(at) : std::next(at);
    }
    used = !sessions_.empty();
    over.swap(over_);
  }
  for (auto& session : over) end_beside(std::move(session));
  locks_.step_without_thread(now);
  return used;
}

i64 Service::users_beside(const ServedSession& asking) {
  std::lock_guard guard(mutex_);
  return std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& known) {
    return known.second.get() != &asking && (known.second->streams() > 0 || known.second->holds_files());
  });
}

// A client with the key of `mercutio connect` has started the server and may end it. If other programs use it, it is ended only on
// demand.
Result<Reply> Service::end_server(const Channel& channel, const ServedSession& asking, ConstBytes message) {
  MERCUTIO_LET(const NameRequest request, get_message<NameRequest>(message));
  Reply reply;
  reply.value = users_beside(asking);
  if (reply.value > 0 && !request.replace) return Error{ErrorClass::kFileInUse, "programs use the server: " + std::to_string(reply.value), EBUSY};
  asked_to_end_ = true;
  log(channel, "ends the server");
  return reply;
}

void Service::end(const std::shared_ptr<ServedSession>& session) {
  session->end();
  locks_.drop(session.get());
}

// Closing its files may take long. Without a thread for it, it is tried again in the next period.
void Service::end_beside(std::shared_ptr<ServedSession> session) {
  if (options_.in_turn) return end(session);
  if (attempt_or(false, [&] { return run_beside([this, session] { end(session); }); })) return;
  std::lock_guard guard(mutex_);
  over_.push_back(std::move(session));
}

void Service::serve(const std::shared_ptr<ServedStream>& stream, const std::function<void()>& welcomed) {
  const std::shared_ptr<Channel>& channel = stream->channel();
  const Status hands = channel->shake_hands(options_.handshake_ms);
  const auto session = hands ? greet(channel) : Result<std::shared_ptr<ServedSession>>(hands.error());
  if (!session) {
    refusals_.say(channel->peer(), session.error().what, now_ns());
    return channel->cut();
  }
  stream->set_session(*session);
  welcomed();
  serve_requests(stream);
}

void Service::take_over(const std::shared_ptr<ServedStream>& stream, i64 since_ns) {
  if (stream->take_over(since_ns)) serve_requests(stream);
}

void Service::serve_requests(const std::shared_ptr<ServedStream>& stream) {
  const u64 turn = stream->turn();
  const Status end = attempt([&] { return serve_frames(stream, turn); });
  if (stream->turn() != turn) return;   // another thread serves it
  Channel& channel = *stream->channel();
  stream->session()->detach(&channel, now_ns(), end.ok());
  --streams_;
  log(channel, end ? "left" : "cut: " + end.error().what);
  channel.cut();
}

Result<std::shared_ptr<ServedSession>> Service::greet(const std::shared_ptr<Channel>& channel) {
  Frame frame;
  MERCUTIO_LET(const bool there, channel->receive(frame, 0, options_.handshake_ms));
  if (!there || frame.header.kind != Kind::kHello) return wrong_protocol("it did not say hello");
  MERCUTIO_LET(const Hello hello, get_message<Hello>(frame.body()));
  Result<std::shared_ptr<ServedSession>> session = session_of(hello, channel);
  if (!session) {
    Reply reply = reply_of(session.error(), operations_.host);
    if (session.error().sys_errno == ESTALE) reply.outcome = static_cast<std::uint32_t>(Outcome::kSessionUnknown);
    (void)channel->send(frame_with(Kind::kReply, 0, reply), options_.handshake_ms);
    return session.error();
  }
  Welcome welcome;
  welcome.capabilities = hello.capabilities & (kLz4 | kNames | kClaims | kServers | kLockedAccesses | kAttributes);
  if (welcome.capabilities & kLz4) channel->allow_lz4();
  welcome.block_bytes = options_.block_bytes;
  welcome.credit_bytes = options_.credit_bytes;
  welcome.host = operations_.host;
  log(*channel, std::string(hello.fresh ? "joined: " : "joined again: ") + hello.client);
  if (const Status sent = channel->send(frame_with(Kind::kWelcome, 0, welcome), options_.handshake_ms); !sent) {
    (*session)->detach(channel.get(), now_ns());
    --streams_;
    return sent.error();
  }
  return session;
}

// The client's previous session ends before the welcome of the new one, so nothing of it is executed later.
Status Service::end_earlier(const Hello& hello, const Channel& channel) {
  const SessionId id{hello.replaces_high, hello.replaces_low};
  std::shared_ptr<ServedSession> earlier;
  {
    std::lock_guard guard(mutex_);
    const auto known = sessions_.find(id);
    if (id == SessionId() || known == sessions_.end()) return ok_status();
    earlier = known->second;
  }
  if (!earlier->retire(std::min(options_.handshake_ms, kRetireMs)))
    return Error{ErrorClass::kIo, "what this program asked for before it lost its connection is still being done", EBUSY};
  locks_.drop(earlier.get());
  log(channel, "its session before this one has ended");
  std::lock_guard guard(mutex_);
  if (const auto known = sessions_.find(id); known != sessions_.end() && known->second == earlier) sessions_.erase(known);
  return ok_status();
}

// Attaches the stream to its session before do_periodic_work() may end the session.
Result<std::shared_ptr<ServedSession>> Service::session_of(const Hello& hello, const std::shared_ptr<Channel>& channel) {
  if (hello.lowest > kProtocolVersion || hello.highest < kProtocolVersion)
    return Error{ErrorClass::kIo, "client and server have no protocol version in common (the server has " +
                                      std::to_string(kProtocolVersion) + "): install the same Mercutio on both sides",
                 EPROTO};
  if (channel->identity() == kOwnIdentity) MERCUTIO_TRY(end_earlier(hello, *channel));
  auto session = admit(hello, channel);
  if (session) ++streams_;
  return session;
}

// If the server is full, a client without any stream gets one that is taken from a client with several.
bool Service::has_room(bool is_first) {
  if (streams_ < options_.most_connections) return true;
  return is_first && cut_spare_stream();
}

Result<std::shared_ptr<ServedSession>> Service::admit(const Hello& hello, const std::shared_ptr<Channel>& channel) {
  const SessionId id{hello.session_high, hello.session_low};
  const std::string identity = channel->identity();
  const auto is_first = [&] {
    std::lock_guard guard(mutex_);
    const auto known = sessions_.find(id);
    return known == sessions_.end() || known->second->streams() == 0;
  };
  if (hello.fresh && now_ns() >= options_.expires_ns)
    return Error{ErrorClass::kAccess, "the key of this connection has expired; run 'mercutio connect' for another one", EKEYEXPIRED};
  if (!has_room(is_first()))
    return Error{ErrorClass::kOther, "the server has as many connections as it may have, " + std::to_string(options_.most_connections), EUSERS};
  std::lock_guard guard(mutex_);
  const auto known = sessions_.find(id);
  if (known != sessions_.end() && known->second->identity() != identity)
    return Error{ErrorClass::kAccess, "another key made the session that it names", EACCES};
  if (known != sessions_.end() && known->second->attach(channel)) return known->second;
  if (known != sessions_.end() || !hello.fresh)
    return Error{ErrorClass::kIo, "the server was started anew or has given this program up: open the file again", ESTALE};
  if (static_cast<i64>(sessions_.size()) >= options_.most_sessions)
    return Error{ErrorClass::kOther, "the server has as many clients as it may have, " + std::to_string(options_.most_sessions), EUSERS};
  std::shared_ptr<ServedFile> borrowed;
  if (identity != kOwnIdentity) {
    MERCUTIO_LET(borrowed, grants_->use(identity));
  }
  auto session = std::make_shared<ServedSession>(options_.limits, identity, std::move(borrowed));
  (void)session->attach(channel);
  sessions_.emplace(id, session);
  return session;
}

bool Service::cut_spare_stream() {
  std::lock_guard guard(mutex_);
  std::shared_ptr<ServedSession> most;
  i64 streams = 1;
  for (const auto& [id, session] : sessions_)
    if (const i64 count = session->streams(); count > streams) streams = count, most = session;
  return most && most->cut_one();
}

Status Service::serve_frames(const std::shared_ptr<ServedStream>& stream, u64 turn) {
  Channel& channel = *stream->channel();
  auto frame = std::make_shared<Frame>();
  for (;;) {
    // Another thread may still use the previous one. If it does not, its reads come before what is received now: to read the count orders
    // nothing, but the end of a copy does.
    if (std::shared_ptr<Frame>(frame).use_count() > 2) frame = std::make_shared<Frame>();
    MERCUTIO_LET(const bool there, channel.receive(*frame, options_.block_bytes, options_.silence_ms));
    if (!there) return ok_status();
    if (frame->header.kind == Kind::kPing) {
      MERCUTIO_TRY(channel.send(frame_of(Kind::kPong, frame->header.id, {}), options_.silence_ms));
    } else if (frame->header.kind == Kind::kAwaits) {
      MERCUTIO_TRY(finish(*stream->session(), frame->body()));
    } else if (is_request(frame->header.kind)) {
      if (frame->body().size() < kAcknowledgedBytes) return wrong_protocol("a request is too short");
      const Task task{frame, file_of(frame->header.kind, frame->body().subspan(kAcknowledgedBytes)), stream.get(), turn};
      const Status handled = attempt([&] { return handle(stream, task); });
      if (stream->turn() == turn) {
        MERCUTIO_TRY(handled);
        continue;
      }
      if (!handled) channel.cut();
      while (const auto work = stream->session()->next_behind(task.file))
        (void)attempt([&] { return work(), ok_status(); });
      return ok_status();
    } else {
      return wrong_protocol("a kind of frame that a client doesn't send");
    }
  }
}

Status Service::finish(ServedSession& session, ConstBytes body) {
  const size_t ids = body.size() / sizeof(u64);
  if (ids == 0 || body.size() % sizeof(u64) != 0) return wrong_protocol("what a client waits for is no list of requests");
  if (static_cast<i64>(ids) > options_.limits.unfinished) return wrong_protocol("a client waits for too many requests");
  RemoteDecoder reader(body);
  u64 end = 0;
  reader(end);
  std::set<u64> awaited;
  for (size_t i = 1; i < ids; ++i) {
    u64 id = 0;
    reader(id);
    awaited.insert(id);
  }
  session.finish(end, awaited);
  return ok_status();
}

// Requests wait for the end of abandoned ones. Otherwise an abandoned change could happen after them, and after an unlock others could see it
// happen. Closing waits by itself, and an open when it knows the file. False: the time limit was reached.
bool Service::await_order(ServedSession& session, const Task& task, i64 limit_ms) const {
  const Kind kind = task.frame->header.kind;
  const u64 id = kind == Kind::kUnlock ? 0 : task.frame->header.id;   // an unlock is carried out in any case
  const ConstBytes message = task.frame->body().subspan(kAcknowledgedBytes);
  if (kind == Kind::kOpen) return session.await_forgotten_names(path_of_open(kind, message), limit_ms, id);
  if (kind == Kind::kRemove || (is_about_names(kind) && !is_query(kind))) return session.await_forgotten(limit_ms, id);
  std::optional<FileIdentity> file;
  if (kind == Kind::kWrite || kind == Kind::kSetSize || kind == Kind::kPreallocate) {
    if (const auto open = session.file(task.file)) file = open->identity;
  } else if (kind == Kind::kUnlock) {
    const auto request = get_message<PlainRequest>(message);
    if (request) file = session.file_of_lock(request->target);
  }
  return !file || session.await_forgotten_on(*file, limit_ms, id);
}

Status Service::handle(const std::shared_ptr<ServedStream>& stream, const Task& task) {
  const std::shared_ptr<Frame>& frame = task.frame;
  const std::shared_ptr<Channel>& channel = stream->channel();
  const std::shared_ptr<ServedSession>& session = stream->session();
  const Kind kind = frame->header.kind;
  const u64 id = frame->header.id;
  u64 acknowledged = 0;
  RemoteDecoder(frame->body().first(kAcknowledgedBytes))(acknowledged);
  if (acknowledged > id) return wrong_protocol("a request acknowledges itself");
  session->finish(acknowledged);
  const ConstBytes message = frame->body().subspan(kAcknowledgedBytes);
  if (session->borrowed() && !is_of_copy(kind))
    return channel->send(operations_.answer_of(id, Error{ErrorClass::kAccess, "the key of a copy is good for writing its file alone", EACCES}), options_.silence_ms);
  if (kind == Kind::kEnd) return channel->send(operations_.answer_of(id, end_server(*channel, *session, message)), options_.silence_ms);
  return is_query(kind) ? answer_query(stream, task) : change(stream, task);
}

// Executed again as often as requested.
Status Service::answer_query(const std::shared_ptr<ServedStream>& stream, const Task& task) {
  const std::shared_ptr<Frame>& frame = task.frame;
  const std::shared_ptr<Channel>& channel = stream->channel();
  const std::shared_ptr<ServedSession>& session = stream->session();
  const ConstBytes message = frame->body().subspan(kAcknowledgedBytes);
  const auto answer = [this, channel, session, frame, message](const Task& by) {
    const Kind kind = frame->header.kind;
    Buffer reply;
    {
      const Work work(by.stream, by.turn, by.file);
      reply = is_about_servers(kind) ? operations_.answer_of(frame->header.id, carry_out(session, kind, message)) : operations_.carry_out(*session, *frame, message);
    }
    log_request(*channel, *frame, message, reply);
    return channel->send(reply, options_.silence_ms);
  };
  const auto answer_beside = [channel, answer] {
    if (!attempt([&] { return answer({}); })) channel->cut();   // the client asks again on another stream
  };
  if (session->any_held_up() && session->wait_behind(task.file, static_cast<i64>(frame->payload.size()), 0, answer_beside)) return ok_status();
  return is_slow(frame->header.kind) && !options_.in_turn && run_beside(answer_beside) ? ok_status() : answer(task);
}

// Executed once.
Status Service::change(const std::shared_ptr<ServedStream>& stream, const Task& task) {
  const std::shared_ptr<Frame>& frame = task.frame;
  const std::shared_ptr<Channel>& channel = stream->channel();
  const std::shared_ptr<ServedSession>& session = stream->session();
  const Kind kind = frame->header.kind;
  const u64 id = frame->header.id;
  const i64 bytes = static_cast<i64>(frame->payload.size());
  const ConstBytes message = frame->body().subspan(kAcknowledgedBytes);
  switch (session->admit(id, kind, channel, options_.silence_ms, {task.file, path_of_open(kind, message)})) {
    case ServedSession::Admission::kTooMany:
      return wrong_protocol("a client waits for too many requests");
    case ServedSession::Admission::kOver:
      return wrong_protocol("its session has ended");
    case ServedSession::Admission::kAnswered:
      return ok_status();
    case ServedSession::Admission::kExecute:
      break;
  }
  if (may_wait_for_lock(kind)) {
    const Task beside{frame};
    if (session->any_held_up() && session->wait_behind(task.file, bytes, id, [this, session, beside] { lock_or_wait(session, beside); })) return ok_status();
    lock_or_wait(session, task);
    return ok_status();
  }
  const Change change{session, channel, {frame, task.file}};
  const auto execute_later = [this, change] {
    if (change.session->begin_work(change.id())) execute(change, {});
  };
  if (session->any_held_up() && session->wait_behind(task.file, bytes, id, execute_later)) return ok_status();
  const bool slow = is_slow(kind) || (kind == Kind::kUnlock && !await_order(*session, task, 0));
  if (slow && !options_.in_turn && attempt_or(false, [&] { return run_beside([this, change] { execute(change, {}); }); })) return ok_status();
  execute(change, task);
  return ok_status();
}

void Service::execute(const Change& change, const Task& by) {
  Buffer reply;
  {
    const Work working(by.stream, by.turn, by.file);
    reply = answer_from(change.id(), [&] { return carry_out(change); });
  }
  const bool opens = change.kind() == Kind::kOpen;
  const u64 opened = opens ? attempt_or(u64{0}, [&] { return operations_.opened_by(reply); }) : 0;
  const bool awaited = change.session->complete(change.id(), change.kind(), std::move(reply), options_.silence_ms);
  if (opened == 0 || awaited) return;
  const Work working(by.stream, by.turn, by.file);
  (void)operations_.close(*change.session, opened);   // nobody knows the handle
}

Buffer Service::carry_out(const Change& change) {
  const Kind kind = change.kind();
  const Frame& frame = *change.request.frame;
  const ConstBytes message = frame.body().subspan(kAcknowledgedBytes);
  const bool unlocks = kind == Kind::kUnlock;
  const bool in_order = await_order(*change.session, change.request, unlocks ? options_.grace_ms : kLateMs);
  Buffer reply;
  if (kind == Kind::kClaim || is_about_servers(kind)) reply = operations_.answer_of(change.id(), carry_out(change.session, kind, message));
  else if (in_order || unlocks) reply = operations_.carry_out(*change.session, frame, message);
  else reply = operations_.too_early(change.id());
  log_request(*change.channel, frame, message, reply);
  return reply;
}

// An admitted request has a reply, also if it throws: otherwise the client would wait for it, and ask again in vain.
Buffer Service::answer_from(u64 id, const std::function<Buffer()>& work) const {
  Buffer reply;
  const Status done = attempt([&] {
    reply = work();
    return ok_status();
  });
  return done ? std::move(reply) : operations_.answer_of(id, done.error());
}

void Service::log(const Channel& channel, const std::string& text) {
  if (!options_.log) return;
  options_.log(printable(channel.peer() + " " + text, kMostLogged));   // one line, whatever characters a path contains
}

bool Service::run_beside(std::function<void()> work) {
  std::list<Worker> finished;   // joined after the lock has been released
  const JoinAtEnd join{finished};
  std::lock_guard guard(mutex_);
  if (stopping_) return false;   // whoever stops joins them all
  take_finished(slow_, finished);
  if (static_cast<i64>(slow_.size()) >= options_.most_slow) return false;
  Worker& worker = slow_.emplace_back();
  auto thread = attempt([&] {
    return start_thread([&worker, work = std::move(work)] {
      (void)attempt([&] {
        work();
        return ok_status();
      });
      worker.finished = true;
    });
  });
  if (thread) {
    worker.thread = std::move(*thread);
  } else {
    slow_.pop_back();
  }
  return thread.ok();
}

}  // namespace mercutio::remote
