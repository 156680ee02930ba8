// What mercutiod does with the streams of its clients (src/remote/service.h), behind TLS: an input is what clients say, as steps
// that make valid requests, requests with any numbers, frames that come again, damaged ones and bytes. One thread, no network, a
// folder in memory. What holds: each answer is what the model says, read data included; what comes again is answered again and not
// done again; nothing outside of the exported folders is read, made or changed; no descriptor stays open; memory has a bound.
#include <signal.h>

#include "base/trace.h"
#include "remote/operations.h"
#include "remote/service.h"
#include "remote_model.h"
#include "remote_playground.h"
#include "scripted_stream.h"
#include "storage/faulty.h"

namespace mercutio::fuzz {
namespace {

using namespace remote;

constexpr i64 kMostSessions = 3, kMostUnfinished = 8;
constexpr i64 kMostServerMemory = 48 * MiB;   // a check of 16 MiB, a message of 4 MiB, a sieve of 4 MiB, and copies

class Case;

// A stream's client: makes what it says next from the input, when the server has answered what it said before.
class Client final : public Peer {
 public:
  Client(Case& of) : case_(of) {}
  bool say(Buffer& out) override;
  void hear(ConstBytes bytes) override;
  bool is_of(const std::pair<const std::pair<u64, u64>, ModelSession>& known) const { return id_ == known.first && made_ == known.second.made; }

 private:
  struct Asked {
    Kind kind = Kind::kPing;
    u64 id = 0;
    Buffer message, data;
    Expected expected = Expected::kEither;
    bool again = false;   // done before: the same reply comes
  };
  bool step(Buffer& out);
  void say_hello(Buffer& out);
  void say_open(Buffer& out);
  void say_transfer(Buffer& out, Kind kind);
  void say_plain(Buffer& out, Kind kind);
  void say_name(Buffer& out);
  bool say_odd(Buffer& out);
  void say_awaits(Buffer& out);
  bool let_others_in(Buffer& out);
  void ask(Buffer& out, u64 id, Kind kind, Buffer message, Buffer data = {});
  void expect_answer(Asked asked, u64 acknowledged);
  u64 next_id();
  u64 some_handle();
  ModelSession& session();
  void take_welcome(const FrameReader::Heard& heard);
  void take_reply(const FrameReader::Heard& heard);

  Case& case_;
  FrameReader heard_;
  std::pair<u64, u64> id_;
  i64 made_ = 0;         // which of the sessions of that name
  bool said_hello_ = false, welcome_expected_ = false, welcome_due_ = false, lz4_ = false;
  bool ends_ = false;    // the server gives the stream up at what was said last
  bool over_ = false;    // nothing more is said
  i64 pongs_due_ = 0;
  std::optional<Asked> asked_, before_;   // what waits for an answer; the last request
};

class Case {
 public:
  explicit Case(ConstBytes input) : taker(input) {
    playground().refresh();
    model.names["data/a"] = std::make_shared<ModelFile>(ModelFile{bytes_of(kBegin)});
    model.names["seen/fixed"] = std::make_shared<ModelFile>(ModelFile{bytes_of(kFixed)});
    const i64 fail = taker.byte();
    faults->fail_at = fail >= 224 ? fail - 224 : -1;
    ServiceOptions options;
    options.in_turn = true;
    options.block_bytes = kBlockBytes;
    options.most_sessions = kMostSessions;
    options.limits = {kMostFiles, 4, kMostUnfinished, 64 * KiB};
    options.log = [](const std::string& line) { FUZZ_CHECK(line.find('\n') == std::string::npos, "two lines in the audit log"); };
    options.around = [this](std::unique_ptr<Storage> file) { return make_faulty(std::make_unique<NoWait>(std::move(file)), faults); };
    auto exports = Exports::open({{"data", playground().base / "data", true}, {"seen", playground().base / "seen", false}});
    FUZZ_CHECK(exports.ok(), "the folders can't be exported");
    service = std::make_unique<Service>(options, std::move(*exports));
  }
  void run() {
    while (!taker.empty()) serve();
    service.reset();
    for (const auto& [name, file] : model.names)
      if (!file->unsure && !model.names_unsure) FUZZ_CHECK(playground().content(name) == file->bytes, "the file is not what was acknowledged: " + name);
    playground().check();
  }
  // A stream from its begin to its end; also while another one is in the middle of its talk.
  void serve() {
    if (clients.size() >= 3) return;
    HeldSocket socket;
    Client client(*this);
    clients.push_back(&client);
    service->serve(std::make_shared<ServedStream>(std::make_shared<Channel>(std::make_unique<ScriptedStream>(socket.take(), client, false), "fuzz")));
    clients.pop_back();
  }
  bool may_fail() const { return faults->fail_at >= 0; }
  // An hour later: sessions without streams have ended.
  void do_periodic_work() {
    (void)service->do_periodic_work(now_ns() + 3'600'000'000'000);
    std::erase_if(model.sessions, [&](const auto& known) {
      return std::none_of(clients.begin(), clients.end(), [&](const Client* client) { return client->is_of(known); });
    });
  }

  Taker taker;
  Model model;
  std::shared_ptr<FaultPlan> faults = std::make_shared<FaultPlan>();
  std::unique_ptr<Service> service;
  std::map<std::pair<u64, u64>, u64> last_ids;
  std::vector<Client*> clients;
  i64 sessions_made = 0;
};

bool Client::say(Buffer& out) {
  FUZZ_CHECK(!ends_, "a stream goes on that had to be given up");
  FUZZ_CHECK(!welcome_due_, "a hello without an answer");
  FUZZ_CHECK(!asked_, "a request without an answer: " + std::string(kind_name(asked_->kind)));
  FUZZ_CHECK(pongs_due_ == 0, "a ping without an answer");
  if (over_ || case_.taker.empty()) return false;
  if (!said_hello_) return say_hello(out), true;
  return step(out);
}

bool Client::step(Buffer& out) {
  const i64 what = case_.taker.byte() % 16;
  constexpr Kind kPlain[] = {Kind::kSize, Kind::kSetSize, Kind::kPreallocate, Kind::kSync, Kind::kChecksum, Kind::kClose, Kind::kLock, Kind::kUnlock, Kind::kRemove};
  if (what < 2) {
    say_open(out);
  } else if (what < 5) {
    say_transfer(out, Kind::kWrite);
  } else if (what < 7) {
    say_transfer(out, Kind::kRead);
  } else if (what == 11) {
    say_name(out);
  } else if (what < 12) {
    say_plain(out, kPlain[static_cast<size_t>(case_.taker.pick(0, std::size(kPlain) - 1))]);
  } else if (what == 12 && before_) {   // as after a cut
    ask(out, before_->id, before_->kind, before_->message, before_->data);
  } else if (what == 13 && case_.taker.pick(0, 3) == 0) {
    return false;
  } else if (what == 14) {
    return let_others_in(out);
  } else {
    return say_odd(out);
  }
  return true;
}

ModelSession& Client::session() {
  return case_.model.sessions.at(id_);
}

u64 Client::next_id() {
  return ++case_.last_ids[id_];
}

u64 Client::some_handle() {
  const auto& known = session().handles;
  const i64 which = case_.taker.byte();
  if (known.empty() || which >= 240) return static_cast<u64>(which - 240);
  return known[known.size() - 1 - static_cast<size_t>(which / 8) % known.size()];
}

void Client::say_hello(Buffer& out) {
  Taker& taker = case_.taker;
  auto& sessions = case_.model.sessions;
  said_hello_ = welcome_due_ = true;
  const auto some_session = [&] { return std::pair<u64, u64>{7, static_cast<u64>(taker.pick(1, 5))}; };
  id_ = some_session();
  Hello hello;
  hello.session_high = id_.first;
  hello.session_low = id_.second;
  const i64 form = taker.byte();
  hello.fresh = (form & 1) != 0 || !sessions.count(id_);
  if ((form & 0xf0) == 0xf0) hello.fresh = !hello.fresh;
  hello.capabilities = (form & 2) != 0 ? ~u64{0} : 0;
  if ((form & 12) == 12) std::tie(hello.replaces_high, hello.replaces_low) = some_session();
  if (form == 77) hello.lowest = static_cast<std::uint32_t>(taker.number());
  if (form == 78) hello.highest = static_cast<std::uint32_t>(taker.number());
  hello.client = taker.text(12);
  welcome_expected_ = false;
  lz4_ = (form & 2) != 0;
  if (hello.lowest <= kProtocolVersion && hello.highest >= kProtocolVersion) {
    sessions.erase({hello.replaces_high, hello.replaces_low});
    welcome_expected_ = sessions.count(id_) != 0 || (hello.fresh && sessions.size() < static_cast<size_t>(kMostSessions));
    if (welcome_expected_ && !sessions.count(id_)) sessions[id_].made = ++case_.sessions_made, case_.last_ids[id_] = 0;
  }
  if (welcome_expected_) made_ = sessions[id_].made;
  else id_ = {};
  const Buffer frame = frame_with(Kind::kHello, 0, hello);
  out.insert(out.end(), frame.begin(), frame.end());
}

void Client::say_open(Buffer& out) {
  Taker& taker = case_.taker;
  OpenRequest request;
  const i64 which = taker.byte(), form = taker.byte();
  if (which < 200) request.path = kServed[static_cast<size_t>(which) % std::size(kServed)];
  else if (which < 225) request.path = kRefused[static_cast<size_t>(which) % std::size(kRefused)];
  else if (which < 240) request.path = kLinks[static_cast<size_t>(which) % std::size(kLinks)];
  else request.path = "data/" + taker.text(100);
  request.write = (form & 1) != 0;
  request.create = (form & 6) == 2 || (form & 6) == 4;
  request.exclusive = (form & 24) == 24;
  request.read = (form & 224) != 224;
  Buffer message;
  put_message(message, request);
  ask(out, next_id(), Kind::kOpen, std::move(message));
}

void Client::say_transfer(Buffer& out, Kind kind) {
  Taker& taker = case_.taker;
  TransferRequest request;
  request.handle = some_handle();
  const i64 tree = taker.pick(0, 9) - 5;
  request.displacement = taker.pick(0, 99);
  request.begin = taker.pick(0, 99);
  request.end = request.begin + taker.pick(0, 255);
  if (tree >= 0) {
    const Definition& definition = definition_of(static_cast<size_t>(tree));
    request.tree = definition.number;
    if (!session().trees.count(request.tree) || taker.pick(0, 7) == 0) request.definition = definition.bytes;
  }
  i64 bytes = kind == Kind::kWrite ? request.end - request.begin : 0;
  switch (taker.pick(0, 31)) {
    case 0: request.displacement = taker.number(); break;
    case 1: request.begin = taker.number(); break;
    case 2: request.end = taker.number(); break;
    case 3: request.tree = static_cast<u64>(taker.word()); break;
    case 4: request.definition.clear(); break;
    case 5: bytes = taker.pick(0, kBlockBytes + 1); break;
    case 6: request.end = request.begin + taker.pick(0, 4) - 2 + kBlockBytes, bytes = kind == Kind::kWrite ? request.end - request.begin : 0; break;
    case 7: {
      const std::string other = taker.text(100);
      for (const char c : other) request.definition.push_back(static_cast<std::byte>(c));
      request.tree = std::max<u64>(1, checksum_of(request.definition));
      break;
    }
    default: break;
  }
  Buffer message, data(static_cast<size_t>(std::clamp<i64>(bytes, 0, kBlockBytes + 8)));
  put_message(message, request);
  const u64 id = next_id();
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(static_cast<u64>('a') + (id * 7 + i) % 26);
  ask(out, id, kind, std::move(message), std::move(data));
}

void Client::say_plain(Buffer& out, Kind kind) {
  Taker& taker = case_.taker;
  PlainRequest request;
  const i64 form = taker.byte();
  request.target = some_handle();
  request.value = form < 224 ? taker.pick(0, 1000) : taker.number();
  request.end = form < 240 && request.value < INT64_MAX - 300 ? request.value + taker.pick(0, 300) : taker.number();
  request.exclusive = (form & 1) != 0;
  if (kind == Kind::kRemove) request.path = form < 160 ? kServed[static_cast<size_t>(form) % std::size(kServed)] : form < 224 ? kRefused[static_cast<size_t>(form) % std::size(kRefused)] : "data/" + taker.text(60);
  Buffer message;
  put_message(message, request);
  ask(out, next_id(), kind, std::move(message));
}

void Client::say_name(Buffer& out) {
  Taker& taker = case_.taker;
  NameRequest request;
  const auto some_name = [&]() -> std::string {
    const auto which = static_cast<size_t>(taker.byte());
    return which < 240 ? known_name(which) : "data/" + taker.text(100);
  };
  const auto one_of = [&](Kind first, Kind last) { return static_cast<Kind>(taker.pick(static_cast<i64>(first), static_cast<i64>(last))); };
  const Kind kind = taker.pick(0, 3) == 0 ? one_of(Kind::kOwnStatus, Kind::kSpace) : one_of(Kind::kStatus, Kind::kGet);
  const i64 form = taker.byte();
  request.path = some_name();
  if (kind == Kind::kRename) request.other = some_name();
  if (kind == Kind::kList && (form & 8) != 0) request.other = taker.text(20);
  if ((form & 48) == 48) request.handle = some_handle();
  request.replace = (form & 1) == 0;
  request.permissions = (form & 2) == 0 ? 0600 : static_cast<std::uint32_t>(taker.number());
  request.modified_ns = (form & 4) == 0 ? -1 : taker.number();
  request.position = (form & 64) == 0 ? 0 : taker.number();
  if (kind == Kind::kPut) request.content.resize(static_cast<size_t>(taker.pick(0, 400)), static_cast<std::byte>(form));
  if (kind == Kind::kMakeLink) request.other = (form & 8) == 0 ? kLinkTargets[static_cast<size_t>(form >> 4) % std::size(kLinkTargets)] : taker.text(60);
  if (kind == Kind::kSetAttributes) request.permissions = (form & 8) == 0 ? kPermissionsStay : request.permissions | 0700;   // others than root go on
  Buffer message;
  put_message(message, request);
  ask(out, next_id(), kind, std::move(message));
}

// Another stream comes and goes meanwhile; it may end this one's session.
bool Client::let_others_in(Buffer& out) {
  case_.serve();
  const auto known = case_.model.sessions.find(id_);
  if (known == case_.model.sessions.end() || known->second.made != made_) return over_ = true, false;
  const Buffer ping = frame_of(Kind::kPing, 0, {});
  out.insert(out.end(), ping.begin(), ping.end());
  ++pongs_due_;
  return true;
}

bool Client::say_odd(Buffer& out) {
  Taker& taker = case_.taker;
  const i64 what = taker.pick(0, 8);
  if (what == 8) {
    say_awaits(out);
  } else if (what == 0) {
    case_.do_periodic_work();
    out = frame_of(Kind::kPing, static_cast<u64>(taker.number()), {});
    ++pongs_due_;
  } else if (what <= 2) {   // any message under any kind of request, under any number
    const std::string text = taker.text(200);
    const auto bytes = std::as_bytes(std::span(text));
    ask(out, taker.flag() ? next_id() : static_cast<u64>(taker.pick(0, 20)), static_cast<Kind>(taker.pick(16, 35)), Buffer(bytes.begin(), bytes.end()));
  } else if (what == 3) {   // damage: the server learns nothing from it
    const ModelSession before = session();
    say_plain(out, Kind::kSize);
    session() = before;
    out[static_cast<size_t>(taker.pick(0, static_cast<i64>(out.size()) - 1))] ^= static_cast<std::byte>(taker.pick(1, 255));
    asked_.reset();
    ends_ = true;
  } else if (what == 4) {   // no kind that a client sends
    Kind kind = static_cast<Kind>(taker.pick(0, 65535));
    if (is_request(kind) || kind == Kind::kPing || kind == Kind::kAwaits) kind = Kind::kWelcome;
    out = frame_of(kind, static_cast<u64>(taker.number()), {});
    ends_ = true;
  } else if (what == 5) {   // cut inside a frame
    const Buffer frame = frame_of(Kind::kPing, 0, Buffer(static_cast<size_t>(taker.pick(0, 40))));
    out.assign(frame.begin(), frame.begin() + taker.pick(1, static_cast<i64>(frame.size()) - 1));
    over_ = true;
  } else if (what == 6) {   // more data than was granted, or a request that is too short
    Buffer frame(static_cast<size_t>(kHeaderBytes)), data(static_cast<size_t>(kBlockBytes + 1 + taker.pick(0, 100)));
    const bool longer = taker.flag();
    frame.resize(frame.size() + static_cast<size_t>(longer ? 8 : taker.pick(0, 7)));
    const FrameMade made{Kind::kWrite, next_id(), static_cast<i64>(frame.size()) - kHeaderBytes};
    if (longer) frame.insert(frame.end(), data.begin(), data.end());
    seal(frame, 0, made);
    out.assign(frame.begin(), frame.end());
    ends_ = true;
  } else {   // any bytes
    const std::string text = taker.text(300);
    const auto bytes = std::as_bytes(std::span(text));
    out.assign(bytes.begin(), bytes.end());
    over_ = true;
  }
  return true;
}

// Some requests, also such as were not sent yet, are waited for; the others below an end are not any more.
void Client::say_awaits(Buffer& out) {
  Taker& taker = case_.taker;
  Buffer ids;
  RemoteEncoder writer(ids);
  const i64 form = taker.pick(0, 15);
  if (form == 0) {   // no list of them
    const i64 words = taker.pick(0, 3), more = words == 0 ? 0 : taker.pick(1, 7);
    out = frame_of(Kind::kAwaits, 0, Buffer(static_cast<size_t>(8 * words + more), std::byte{0}));
    return void(ends_ = true);
  }
  const u64 end = static_cast<u64>(taker.pick(0, 4)) + case_.last_ids[id_];
  writer(end);
  std::set<u64> awaited;
  const i64 count = form == 1 ? kMostUnfinished : taker.pick(0, 5);
  for (i64 i = 0; i < count; ++i) {
    const u64 id = end - std::min(end, static_cast<u64>(taker.pick(0, 11)));
    awaited.insert(id);
    writer(id);
  }
  out = frame_of(Kind::kAwaits, 0, ids);
  ends_ = form == 1;   // too many
  if (!ends_) session().finish(end, awaited);
}

void Client::ask(Buffer& out, u64 id, Kind kind, Buffer message, Buffer data) {
  const i64 form = case_.taker.byte();
  const u64 acknowledged = form < 128 ? id : form < 232 ? session().finished : static_cast<u64>(case_.taker.pick(0, static_cast<i64>(id % 1000) + 1));
  Buffer frame(static_cast<size_t>(kHeaderBytes));
  RemoteEncoder writer(frame);
  writer(acknowledged);
  frame.insert(frame.end(), message.begin(), message.end());
  const FrameMade made{kind, id, static_cast<i64>(frame.size()) - kHeaderBytes, lz4_};
  frame.insert(frame.end(), data.begin(), data.end());
  seal(frame, 0, made);
  out.insert(out.end(), frame.begin(), frame.end());
  Asked asked{kind, id, std::move(message), std::move(data)};
  before_ = asked;
  expect_answer(std::move(asked), acknowledged);
}

void Client::expect_answer(Asked asked, u64 acknowledged) {
  ModelSession& mine = session();
  if (static_cast<i64>(asked.data.size()) > kBlockBytes || acknowledged > asked.id) {
    ends_ = true;
    return;
  }
  mine.finish(acknowledged, {});
  const bool changes = !is_query(asked.kind);
  asked.again = changes && mine.replies.count(asked.id) != 0;
  if (changes && mine.is_finished(asked.id)) return mine.give_up(asked.kind, asked.message);   // its client has the reply, or wants none
  if (changes && !asked.again && mine.replies.size() >= static_cast<size_t>(kMostUnfinished)) {
    ends_ = true;
    return;
  }
  asked.expected = case_.model.expect(mine, asked.kind, asked.message, asked.data);
  if (asked.expected == Expected::kSuccess && case_.may_fail()) asked.expected = Expected::kEither;
  asked_ = std::move(asked);
}

void Client::hear(ConstBytes bytes) {
  const auto text = std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  FUZZ_CHECK(text.find(kSecret) == std::string_view::npos, "what lies outside of the roots was read");
  heard_.add(bytes);
  for (FrameReader::Heard heard; heard_.next(heard, kBlockBytes, lz4_);) {
    if (welcome_due_) {
      take_welcome(heard);
    } else if (heard.header.kind == Kind::kPong) {
      FUZZ_CHECK(--pongs_due_ >= 0, "a pong for no ping");
    } else {
      take_reply(heard);
    }
  }
}

void Client::take_welcome(const FrameReader::Heard& heard) {
  welcome_due_ = false;
  FUZZ_CHECK((heard.header.kind == Kind::kWelcome) == welcome_expected_, "another answer to a hello");
  if (welcome_expected_) {
    const auto welcome = get_message<Welcome>(heard.payload);
    FUZZ_CHECK(welcome.ok() && welcome->block_bytes == kBlockBytes && ((welcome->capabilities & kLz4) != 0) == lz4_, "another welcome");
  } else {
    const auto reply = get_message<Reply>(heard.payload);
    FUZZ_CHECK(heard.header.kind == Kind::kReply && reply.ok() && reply->outcome != 0, "a hello is refused without saying so");
    ends_ = true;
  }
}

void Client::take_reply(const FrameReader::Heard& heard) {
  FUZZ_CHECK(heard.header.kind == Kind::kReply && asked_ && heard.header.id == asked_->id, "an answer to no request");
  const Asked asked = std::move(*asked_);
  asked_.reset();
  ModelSession& mine = session();
  const auto reply = get_message<Reply>(heard.body());
  if (asked.again) {
    const Buffer& known = mine.replies.at(asked.id);
    FUZZ_CHECK(known.empty() || known == heard.payload, "what was done already is answered in another way");
    FUZZ_CHECK(!known.empty() || (reply.ok() && reply->outcome != 0), "what was given up is done");
    return;
  }
  FUZZ_CHECK(reply.ok(), "a reply that can't be read");
  const bool done = reply->outcome == 0;
  const std::string what = "id " + std::to_string(asked.id) + " " + kind_name(asked.kind) + ": " + reply->text;
  FUZZ_CHECK(!done || asked.expected != Expected::kFailure, "done, though it can't be, " + what);
  FUZZ_CHECK(done || asked.expected != Expected::kSuccess, "refused, " + what);
  const i64 got = static_cast<i64>(heard.data().size());
  FUZZ_CHECK(got == (asked.kind == Kind::kRead && done ? reply->value : 0), "another number of bytes than it says");
  if (!is_query(asked.kind)) mine.replies[asked.id] = heard.payload;
  case_.model.apply(mine, asked.kind, asked.message, asked.data, *reply, heard.data());
  if (!done && case_.may_fail()) case_.model.unsure_of_all();
}

}  // namespace

Input example(Random& random) {
  Input out{std::byte{0}};
  const auto put = [&](std::initializer_list<i64> bytes) {
    for (const i64 byte : bytes) out.push_back(static_cast<std::byte>(byte));
  };
  for (i64 streams = pick(random, 1, 3); streams > 0; --streams) {
    put({pick(random, 0, 1), pick(random, 0, 1) * 2, 0});
    put({0, pick(random, 0, 199), 3 + 4 * pick(random, 0, 1), 0});
    for (i64 steps = pick(random, 0, 20); steps > 0; --steps) {
      const i64 what = pick(random, 0, 15);
      if (what < 2) put({what, pick(random, 0, 255), pick(random, 0, 255), pick(random, 0, 255)});
      else if (what < 7) put({what, pick(random, 0, 20), pick(random, 0, 9), pick(random, 0, 255), pick(random, 0, 255), pick(random, 0, 255), 1, 31, pick(random, 0, 255)});
      else if (what == 11) put({what, pick(random, 0, 7), pick(random, 0, 3) * 8, pick(random, 0, 255), pick(random, 0, 255), pick(random, 0, 200), pick(random, 0, 255)});
      else if (what < 12) put({what, pick(random, 0, 8), pick(random, 0, 223), pick(random, 0, 20), pick(random, 0, 255), 0, 0, 0, 0, 0, 0, 0, pick(random, 0, 255), 0, 0, 0, 0, 0, 0, 0, 0});
      else put({what, pick(random, 0, 255), pick(random, 0, 255)});
    }
    put({13, 0});
  }
  return out;
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio::fuzz;
  (void)playground();
  static const mercutio::i64 descriptors = open_descriptors();
  start_measuring_memory();
  Case(std::as_bytes(std::span(data, size))).run();
  FUZZ_CHECK(most_memory_used() <= kMostServerMemory, std::to_string(most_memory_used()) + " bytes of memory");
  FUZZ_CHECK(open_descriptors() == descriptors, "descriptors stay open");
  return 0;
}
