// A client's session (src/remote/session.h) and whatever may answer it, behind TLS: an input chooses what the program asks for and
// what comes back, on up to four streams: right answers in any order, wrong ones, answers to nothing, damaged frames, any bytes,
// the end of a stream in the middle. One thread, no network. What holds: the client says nothing but the protocol, within what was
// granted; it has nothing done twice under two numbers; success is told only of what was answered as done, with the bytes that
// came; and as soon as the answers are honest, everything ends.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "model/flat_type.h"
#include "remote/session.h"
#include "scripted_stream.h"

namespace mercutio::fuzz {
namespace {

using namespace remote;

constexpr i64 kRegion = 64 * KiB;        // of the file, for each job
constexpr i64 kMostJobs = 6;
constexpr i64 kMostSteps = 4'000;        // until everything has ended, with a server that answers honestly
constexpr i64 kMostClientMemory = 48 * MiB;

// What the server has, and what the program has asked it for.
struct World {
  explicit World(ConstBytes input) : taker(input), disk(static_cast<size_t>(kMostJobs * kRegion)) {
    for (size_t i = 0; i < disk.size(); ++i) disk[i] = static_cast<std::byte>(i * 31 + i / 251);
  }
  bool honest() const { return taker.empty(); }

  Taker taker;
  std::vector<std::byte> disk;
  std::set<u64> trees, answered, done;      // answered: ids that a reply was made to; done: of writes that were carried out
  std::pair<u64, u64> session;
  std::set<i64> calls_done;                 // by target
  u64 highest = 0;
  i64 block_bytes = 0;                      // what streams are granted, mostly
  bool welcomed = false, refused = false;
};

class FakeServer final : public Peer {
 public:
  explicit FakeServer(World& world) : world_(world) {}
  bool say(Buffer& out) override;
  void hear(ConstBytes bytes) override;
  size_t takes(size_t bytes) override {
    const bool all = world_.honest() || world_.taker.byte() % 8 != 7;
    return all ? bytes : static_cast<size_t>(world_.taker.pick(0, static_cast<i64>(bytes)));
  }

 private:
  struct Request {
    Kind kind;
    u64 id;
    Buffer message, data;
    i64 cost;
  };
  void take_hello(const FrameReader::Heard& heard);
  void take_request(const FrameReader::Heard& heard);
  void welcome(Buffer& out);
  void answer(Buffer& out);
  void lie(Buffer& out, i64 how);
  void reply(Buffer& out, u64 id, const Reply& reply, ConstBytes data = {});
  void done(Buffer& out, const Request& request);
  void transfer(Buffer& out, const Request& request, const TransferRequest& wanted);

  World& world_;
  FrameReader heard_;
  bool greeted_ = false, welcome_due_ = false, over_ = false;
  bool lz4_ = false, lz4_asked_ = false;
  i64 block_ = 0, credit_ = 0, in_flight_ = 0, pongs_due_ = 0;
  std::deque<Request> waiting_;
};

void FakeServer::hear(ConstBytes bytes) {
  if (over_) return;
  heard_.add(bytes);
  for (FrameReader::Heard heard; heard_.next(heard, kMaxDataBytes, lz4_);) {
    if (!greeted_) {
      take_hello(heard);
    } else if (heard.header.kind == Kind::kPing) {
      ++pongs_due_;
    } else {
      take_request(heard);
    }
  }
}

void FakeServer::take_hello(const FrameReader::Heard& heard) {
  greeted_ = welcome_due_ = true;
  const auto hello = get_message<Hello>(heard.payload);
  FUZZ_CHECK(heard.header.kind == Kind::kHello && hello.ok(), "a stream does not begin with hello");
  const std::pair<u64, u64> id{hello->session_high, hello->session_low};
  FUZZ_CHECK((world_.session.first | world_.session.second) == 0 || world_.session == id, "a client changes its session");
  world_.session = id;
  FUZZ_CHECK(!hello->fresh || !world_.welcomed || world_.refused, "a session that was welcomed says that it is fresh");
  lz4_asked_ = (hello->capabilities & kLz4) != 0;
}

void FakeServer::take_request(const FrameReader::Heard& heard) {
  FUZZ_CHECK(block_ > 0, "a request before the welcome");
  FUZZ_CHECK(is_request(heard.header.kind) && heard.body().size() >= 8, "no request");
  u64 acknowledged = 0;
  RemoteDecoder(heard.body().first(8))(acknowledged);
  FUZZ_CHECK(acknowledged <= heard.header.id, "it acknowledges itself");
  for (u64 id = 1; id < acknowledged; ++id) FUZZ_CHECK(world_.answered.count(id), "a request is acknowledged that has no answer");
  world_.highest = std::max(world_.highest, heard.header.id);
  Request request{heard.header.kind, heard.header.id, {}, {}, 0};
  const ConstBytes message = heard.body().subspan(8);
  request.message.assign(message.begin(), message.end());
  request.data.assign(heard.data().begin(), heard.data().end());
  if (request.kind == Kind::kRead || request.kind == Kind::kWrite) {
    const auto wanted = get_message<TransferRequest>(message);
    FUZZ_CHECK(wanted.ok() && wanted->end > wanted->begin && wanted->end - wanted->begin <= block_, "a transfer beyond what was granted");
    request.cost = wanted->end - wanted->begin;
    FUZZ_CHECK(static_cast<i64>(request.data.size()) == (request.kind == Kind::kWrite ? request.cost : 0), "another number of bytes than it says");
    FUZZ_CHECK(in_flight_ == 0 || in_flight_ + request.cost <= credit_, "more under way than was granted");
  }
  in_flight_ += request.cost;
  waiting_.push_back(std::move(request));
}

void FakeServer::welcome(Buffer& out) {
  welcome_due_ = false;
  Taker& taker = world_.taker;
  Welcome message;
  const i64 form = world_.honest() ? 0 : taker.byte();
  if (world_.block_bytes == 0) world_.block_bytes = 512 << (form % 8);
  message.block_bytes = world_.block_bytes;
  message.credit_bytes = message.block_bytes * (1 + form % 5);
  message.host = "far";
  message.capabilities = form % 2 ? ~u64{0} : 0;
  if (form >= 250) message.block_bytes = taker.number();
  if (form == 249) message.credit_bytes = taker.number();
  if (form == 248) message.version = static_cast<std::uint32_t>(taker.number());
  if (form == 247 || form == 246) {
    Reply refusal = reply_of(Error{ErrorClass::kIo, taker.text(20), static_cast<int>(taker.pick(0, 140))}, "far");
    refusal.outcome = static_cast<std::uint32_t>(taker.pick(1, 4));
    world_.refused = true;
    return reply(out, 0, refusal);
  }
  const bool sensible = message.version == kProtocolVersion && message.block_bytes >= kMinBlockBytes && message.block_bytes <= kMaxDataBytes && message.credit_bytes >= 1;
  const Buffer frame = frame_with(Kind::kWelcome, static_cast<u64>(form == 245), message);
  out.insert(out.end(), frame.begin(), frame.end());
  if (!sensible) return;
  world_.welcomed = true;
  block_ = message.block_bytes;
  credit_ = message.credit_bytes;
  lz4_ = lz4_asked_ && (message.capabilities & kLz4) != 0;
}

bool FakeServer::say(Buffer& out) {
  if (over_) return false;
  if (!greeted_) return true;
  Taker& taker = world_.taker;
  const i64 how = world_.honest() ? 0 : taker.byte();
  if (how >= 200) lie(out, how);
  if (over_) return !out.empty();
  if (welcome_due_) {
    welcome(out);
  } else if (pongs_due_ > 0) {
    --pongs_due_;
    out = frame_of(Kind::kPong, 0, {});
  } else if (!waiting_.empty() && how < 160) {
    answer(out);
  }
  return true;
}

void FakeServer::reply(Buffer& out, u64 id, const Reply& message, ConstBytes data) {
  Buffer frame(static_cast<size_t>(kHeaderBytes));
  put_message(frame, message);
  const FrameMade made{Kind::kReply, id, static_cast<i64>(frame.size()) - kHeaderBytes, lz4_};
  frame.insert(frame.end(), data.begin(), data.end());
  seal(frame, 0, made);
  out.insert(out.end(), frame.begin(), frame.end());
  world_.answered.insert(id);
}

void FakeServer::answer(Buffer& out) {
  Taker& taker = world_.taker;
  const i64 which = world_.honest() ? 0 : taker.byte();
  const auto at = waiting_.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(which) % waiting_.size());
  const Request request = std::move(*at);
  waiting_.erase(at);
  in_flight_ -= request.cost;
  const i64 how = world_.honest() ? 0 : taker.byte();
  if (how < 200) return done(out, request);
  if (how < 230) {   // it failed
    const Error error{static_cast<ErrorClass>(taker.pick(1, static_cast<i64>(ErrorClass::kOther))), "no", static_cast<int>(taker.pick(0, 140))};
    Reply failed = reply_of(error, "far");
    failed.outcome = static_cast<std::uint32_t>(taker.pick(1, 5));
    if (how < 205) failed.error_class = taker.text(20);
    return reply(out, request.id, failed);
  }
  Reply wrong;   // done, it says, with another number of bytes or other data
  wrong.value = request.cost + (how % 2 ? 1 + taker.pick(0, 9) : -1 - taker.pick(0, 9));
  if (how >= 250) wrong.value = taker.number();
  const std::string data = taker.text(250);
  if (request.kind != Kind::kRead && request.kind != Kind::kWrite) world_.calls_done.insert(static_cast<i64>(get_message<PlainRequest>(request.message)->target));
  if (request.kind == Kind::kRead && wrong.value == static_cast<i64>(data.size()) && wrong.value <= request.cost) return done(out, request);
  if (request.kind == Kind::kWrite && wrong.value == request.cost) return done(out, request);
  reply(out, request.id, wrong, std::as_bytes(std::span(data)));
}

void FakeServer::done(Buffer& out, const Request& request) {
  if (request.kind == Kind::kRead || request.kind == Kind::kWrite) return transfer(out, request, *get_message<TransferRequest>(request.message));
  const auto plain = get_message<PlainRequest>(request.message);
  FUZZ_CHECK(plain.ok(), "a message that can't be read");
  world_.calls_done.insert(static_cast<i64>(plain->target));
  Reply made;
  made.value = static_cast<i64>(plain->target) + 1000;
  reply(out, request.id, made);
}

void FakeServer::transfer(Buffer& out, const Request& request, const TransferRequest& wanted) {
  FlatTypeRef type = contiguous_bytes();
  static std::map<u64, FlatTypeRef> types;   // of this process: a number means the same always
  if (!wanted.definition.empty()) {
    FUZZ_CHECK(std::max<u64>(1, checksum_of(wanted.definition)) == wanted.tree, "a definition under another number");
    const auto read = FlatType::deserialize(wanted.definition);
    FUZZ_CHECK(read.ok(), "a definition that can't be read");
    if (types.size() > 1000) types.clear(), world_.trees.clear();
    types[wanted.tree] = *read;
    world_.trees.insert(wanted.tree);
  }
  if (wanted.tree != 0) {
    if (!world_.honest() && world_.taker.byte() >= 240) world_.trees.erase(wanted.tree);
    if (!world_.trees.count(wanted.tree)) {
      Reply unknown;
      unknown.outcome = static_cast<std::uint32_t>(Outcome::kTreeUnknown);
      return reply(out, request.id, unknown);
    }
    type = types.at(wanted.tree);
  }
  Buffer data(request.kind == Kind::kRead ? static_cast<size_t>(request.cost) : 0);
  i64 at = 0;
  for (Cursor cursor(type, wanted.displacement, wanted.begin, wanted.end); !cursor.done();) {
    const StridedRun run = cursor.next(INT64_MAX, 1);
    FUZZ_CHECK(run.offset >= 0 && run.offset + run.bytes <= static_cast<i64>(world_.disk.size()), "bytes that nobody asked for");
    const auto there = world_.disk.begin() + run.offset;
    if (request.kind == Kind::kRead) std::copy_n(there, run.bytes, data.begin() + at);
    else std::copy_n(request.data.begin() + at, run.bytes, there);
    at += run.bytes;
  }
  Reply moved;
  moved.value = request.cost;
  reply(out, request.id, moved, data);
}

void FakeServer::lie(Buffer& out, i64 how) {
  Taker& taker = world_.taker;
  const auto put_text = [&](i64 most) {
    const std::string text = taker.text(most);
    const auto bytes = std::as_bytes(std::span(text));
    out.insert(out.end(), bytes.begin(), bytes.end());
  };
  const bool in_talk = !welcome_due_;
  switch (how % 8) {
    case 0: {   // any bytes
      put_text(300);
      over_ = true;
      break;
    }
    case 1: {   // a frame of any kind, of any content
      const std::string text = taker.text(100);
      const auto bytes = std::as_bytes(std::span(text));
      const auto kind = static_cast<Kind>(taker.pick(0, 30));
      out = frame_of(kind, static_cast<u64>(taker.pick(0, 3)) + world_.highest + 1, Buffer(bytes.begin(), bytes.end()));
      over_ = !in_talk || !(kind == Kind::kPong || (kind == Kind::kReply && get_message<Reply>(bytes).ok()));
      world_.refused = world_.refused || !in_talk;
      break;
    }
    case 2: {   // an answer to nothing that was asked
      Reply nothing;
      nothing.value = taker.number();
      if (in_talk) reply(out, world_.highest + 1 + static_cast<u64>(taker.pick(1'000'000, 2'000'000)), nothing);
      break;
    }
    case 3: {   // a damaged frame
      Buffer frame = frame_of(Kind::kPong, 0, Buffer(static_cast<size_t>(taker.pick(0, 20))));
      frame[static_cast<size_t>(taker.pick(0, static_cast<i64>(frame.size()) - 1))] ^= static_cast<std::byte>(taker.pick(1, 255));
      out = frame;
      over_ = true;
      break;
    }
    case 4: {   // cut in the middle
      const Buffer frame = frame_of(Kind::kReply, 1, Buffer(static_cast<size_t>(taker.pick(0, 200))));
      out.assign(frame.begin(), frame.begin() + taker.pick(1, static_cast<i64>(frame.size()) - 1));
      over_ = true;
      break;
    }
    case 5:
      over_ = true;
      break;
    case 6: {   // frames of the largest lengths that headers may tell
      FrameHeader header;
      header.kind = Kind::kReply;
      header.body_bytes = kMaxBodyBytes;
      header.data_bytes = kMaxDataBytes;
      out.resize(static_cast<size_t>(kHeaderBytes));
      write_header(header, out.data());
      over_ = true;
      break;
    }
    default:
      break;   // silence
  }
}

// Streams to the fake server; the end of one is seen by the client, then there is another one.
class FakeNetwork final : public TlsContext {
 public:
  explicit FakeNetwork(World& world) : world_(world) {}
  void* native() override { return nullptr; }
  Result<int> connect() {
    if (!world_.honest() && world_.taker.byte() >= 250) return error_from_errno("connect", ECONNREFUSED);
    sockets_.emplace_back();
    return sockets_.back().take();
  }
  Result<std::unique_ptr<TlsStream>> wrap(int fd) override {
    servers_.emplace_back(world_);
    return std::unique_ptr<TlsStream>(std::make_unique<ScriptedStream>(fd, servers_.back(), true));
  }

 private:
  World& world_;
  std::deque<HeldSocket> sockets_;
  std::deque<FakeServer> servers_;
};

// What the program asks for: a transfer between its memory and its part of the file, or a call.
struct Ask {
  std::shared_ptr<TransferJob> transfer;
  std::shared_ptr<CallJob> call;
  Direction direction = Direction::kWrite;
  std::vector<std::byte> memory;
  std::vector<IoPiece> pieces;
  i64 target = 0, bytes = 0;
};

Ask make_ask(World& world, i64 index) {
  Taker& taker = world.taker;
  Ask ask;
  const i64 form = taker.byte();
  if (form < 64) {
    PlainRequest request;
    ask.target = index;
    request.target = static_cast<u64>(index);
    Buffer message;
    put_message(message, request);
    ask.call = std::make_shared<CallJob>(form % 2 ? Kind::kSize : Kind::kSync, std::move(message));
    return ask;
  }
  ask.direction = form % 2 ? Direction::kWrite : Direction::kRead;
  const i64 bytes = 1 + taker.pick(0, 1023), gap = taker.pick(0, 255), count = 1 + taker.pick(0, 30);
  ask.memory.assign(static_cast<size_t>(bytes * count), std::byte{0x5a});
  if (ask.direction == Direction::kWrite)
    for (size_t i = 0; i < ask.memory.size(); ++i) ask.memory[i] = static_cast<std::byte>(i * 7 + static_cast<size_t>(index) * 13 + 1);
  for (i64 i = 0; i < count; ++i) ask.pieces.push_back({index * kRegion + i * (bytes + gap), ask.memory.data() + i * bytes, bytes});
  if (form % 8 >= 6) std::reverse(ask.pieces.begin(), ask.pieces.end());
  ask.bytes = bytes * count;
  auto shape = Shape::of(ask.pieces);
  FUZZ_CHECK(shape.ok(), "a list is refused");
  ask.transfer = std::make_shared<TransferJob>(ask.direction, 9, std::move(*shape));
  return ask;
}

void check(const World& world, const Ask& ask) {
  if (ask.call) {
    const Result<Reply> got = ask.call->wait();
    FUZZ_CHECK(!got || world.calls_done.count(ask.target), "a call has succeeded that was never answered");
    return;
  }
  const Result<i64> moved = ask.transfer->wait();
  if (!moved) return;
  FUZZ_CHECK(*moved >= 0 && *moved <= ask.bytes, "more has moved than was asked");
  FUZZ_CHECK(*moved == ask.bytes || ask.direction == Direction::kRead, "a write has succeeded in part");
  i64 left = *moved;
  for (const IoPiece& piece : ask.pieces) {
    const i64 bytes = std::min(left, piece.bytes);
    left -= bytes;
    const bool same = std::equal(piece.data, piece.data + bytes, world.disk.begin() + piece.offset);
    FUZZ_CHECK(same, ask.direction == Direction::kRead ? "other bytes came than are there" : "a write has succeeded that was not carried out");
  }
}

bool all_done(const std::vector<Ask>& asks) {
  return std::all_of(asks.begin(), asks.end(), [](const Ask& ask) { return ask.call ? ask.call->done() : ask.transfer->done(); });
}

void run(ConstBytes input) {
  World world(input);
  const auto network = std::make_shared<FakeNetwork>(world);
  Connection connection;
  connection.host = "far";
  connection.servers = {{"nowhere", 1}};
  const i64 form = world.taker.byte();
  connection.streams = 1 + form % 4;
  connection.lz4 = form % 3 == 0;
  const auto made = Session::make_undriven(connection, {network, [&](const Endpoint&, std::optional<Addresses>&, size_t&) { return network->connect(); }});
  FUZZ_CHECK(made.ok(), "no session");
  const std::shared_ptr<Session> session = *made;
  std::vector<Ask> asks;
  asks.reserve(static_cast<size_t>(kMostJobs));
  for (i64 steps = 0; steps < kMostSteps; steps += world.honest() ? 1 : 0) {
    const bool full = static_cast<i64>(asks.size()) == kMostJobs;
    if (!full && !world.honest() && (asks.empty() || world.taker.byte() % 8 == 0)) {
      asks.push_back(make_ask(world, static_cast<i64>(asks.size())));
      const Ask& ask = asks.back();
      session->submit(ask.call ? std::static_pointer_cast<Job>(ask.call) : std::static_pointer_cast<Job>(ask.transfer));
    }
    session->step();
    if ((world.honest() || full || !session->alive()) && all_done(asks)) break;
  }
  FUZZ_CHECK(all_done(asks), "it does not end, though the server answers");
  for (const Ask& ask : asks) check(world, ask);
}

}  // namespace

Input example(Random& random) {
  Input out{static_cast<std::byte>(pick(random, 0, 11))};
  for (i64 bytes = pick(random, 4, 120); bytes > 0; --bytes) out.push_back(static_cast<std::byte>(pick(random, 0, pick(random, 0, 9) == 0 ? 255 : 199)));
  return out;
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio::fuzz;
  start_measuring_memory();
  run(std::as_bytes(std::span(data, size)));
  FUZZ_CHECK(most_memory_used() <= kMostClientMemory, std::to_string(most_memory_used()) + " bytes of memory");
  return 0;
}
