// The handshakes of remote files, both sides of each: the talk with a router (src/remote/route.h), and TLS with the connection's
// key (src/remote/tls.h), whose bytes pass through the input's hands. What holds: a router connects only for who proved to have its
// key, and only to what it may; a client goes on only behind a proven "connected", and has read no byte too many; TLS is agreed on
// only by two ends with one key, and what comes out of it is what went in.
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "remote/route.h"
#include "scripted_stream.h"

namespace mercutio::fuzz {
namespace {

using namespace remote;

constexpr char kMagic[] = "mercrt01";

Key key_of(i64 from) {
  Key key;
  for (size_t i = 0; i < key.size(); ++i) key[i] = static_cast<unsigned char>(static_cast<size_t>(from) * 37 + i * 11 + 5);
  return key;
}

// As docs/engineers/remote.md has it, written down a second time.
std::string proof(const Key& key, const std::string& who, const Key& router, const Key& client, const std::string& said) {
  const auto text = [](const Key& number) { return std::string(reinterpret_cast<const char*>(number.data()), number.size()); };
  const std::string all = who + text(router) + text(client) + said;
  unsigned char out[32];
  unsigned bytes = sizeof out;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(all.data()), all.size(), out, &bytes);
  return std::string(reinterpret_cast<const char*>(out), bytes);
}

std::string sized(const std::string& text) {
  std::string out(4, '\0');
  for (size_t i = 0; i < 4; ++i) out[i] = static_cast<char>(text.size() >> (8 * i));
  return out + text;
}

std::string text_of(const Key& number) {
  return std::string(reinterpret_cast<const char*>(number.data()), number.size());
}

// Perhaps: a byte changed, the end cut off. Whether anything is another now.
bool damage(Taker& taker, std::string& bytes) {
  const i64 how = taker.byte();
  const std::string before = bytes;
  if (how < 96 || bytes.empty()) return false;
  if (how < 192) bytes[static_cast<size_t>(taker.pick(0, static_cast<i64>(bytes.size()) - 1))] ^= static_cast<char>(taker.pick(1, 255));
  else if (how < 224) bytes.resize(static_cast<size_t>(taker.pick(0, static_cast<i64>(bytes.size()) - 1)));
  else bytes = taker.text(600);
  return bytes != before;
}

void say(int fd, const std::string& bytes) {
  FUZZ_CHECK(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size()), "a socket takes too little");
}

std::string hear(int fd) {
  char bytes[2048];
  const ssize_t got = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  return std::string(bytes, static_cast<size_t>(std::max<ssize_t>(got, 0)));
}

void check_router(Taker& taker) {
  HeldSocket ends;
  const int client = ends.other();
  RouterOptions options;
  options.key = key_of(1);
  options.targets = {"10.0.0.1:7", "10.0.0.2:*"};
  const Key theirs = key_of(2), mine = key_of(3);
  const char* const kTargets[] = {"10.0.0.1 7", "10.0.0.2 99", "10.0.0.1 8", "10.0.0.3 7", "10.0.0.2 ", "10.0.0.1:7", " 7", "10.0.0.1 7 7"};
  const i64 which = taker.pick(0, 11);
  const std::string target = which < 8 ? kTargets[which] : taker.text(600);
  const bool allowed = target == "10.0.0.1 7" || (target.starts_with("10.0.0.2 ") && target.find(' ') == target.rfind(' '));
  const bool own_key = taker.pick(0, 3) != 0;
  const std::string said = sized(target);
  std::string asked = kMagic + text_of(mine) + said + proof(own_key ? options.key : key_of(9), "mercutio route 1 client", theirs, mine, said);
  const bool other = damage(taker, asked) || target.size() > 512;
  say(client, asked);
  (void)::shutdown(client, SHUT_WR);
  int connects = 0;
  std::string told;
  const bool reachable = taker.flag();
  const auto connect = [&](const std::string& to, i64) -> Result<int> {
    ++connects;
    FUZZ_CHECK(to == target, "another target");
    if (!reachable) return error_from_errno("connect", ECONNREFUSED);
    return ::dup(client);
  };
  const int fd = ends.take();
  const Result<int> got = admit(fd, {options, theirs, connect}, told);
  const bool granted = !other && own_key && allowed;
  FUZZ_CHECK(connects == (granted ? 1 : 0), granted ? "a client is kept from its target" : "a target is connected to for a stranger");
  FUZZ_CHECK(got.ok() == (granted && reachable), "another outcome");
  if (got) ::close(*got);
  std::string answer = hear(client);
  FUZZ_CHECK(answer.substr(0, 40) == kMagic + text_of(theirs), "no challenge");
  answer.erase(0, 40);
  if (!other) {
    FUZZ_CHECK(answer.size() >= 37 && answer.size() <= 37 + 512, "no answer");
    const std::string verdict = answer.substr(0, answer.size() - 32);
    FUZZ_CHECK(answer.substr(verdict.size()) == proof(options.key, "mercutio route 1 router", theirs, mine, verdict), "an answer without its proof");
    FUZZ_CHECK(verdict[0] == (!own_key ? 1 : !allowed ? 2 : reachable ? 0 : 4), "another verdict");
  }
  ::close(fd);
}

void check_route_request(Taker& taker) {
  HeldSocket ends;
  const int router = ends.other();
  const int fd = ends.take();
  const Hop hop{{"gateway", 4000}, key_of(1)};
  const Key theirs = key_of(2), mine = key_of(3);
  RouteRequest request(hop, {"10.0.0.1", 7}, mine);
  (void)::fcntl(fd, F_SETFL, O_NONBLOCK);
  std::string challenge = kMagic + text_of(theirs);
  const std::string rest = "what the target says";
  std::string verdict(1, static_cast<char>(taker.pick(0, 5) % 5));
  verdict += sized(taker.text(600));
  const bool own_key = taker.pick(0, 3) != 0;
  verdict += proof(own_key ? hop.key : key_of(9), "mercutio route 1 router", theirs, mine, verdict);
  const bool too_long = verdict.size() > 37 + 512;
  std::string said = challenge + verdict;
  const bool other = damage(taker, said) || too_long;
  const bool granted = !other && own_key && verdict[0] == 0;
  std::string left = said + (other ? "" : rest);
  Result<Wants> step = Wants::kRead;
  for (bool ended = false; step.ok() && *step != Wants::kNothing && !ended;) {   // piece by piece
    const size_t bytes = std::min(left.size(), static_cast<size_t>(1 + taker.pick(0, 200)));
    ended = left.empty();
    if (ended) (void)::shutdown(router, SHUT_WR);
    if (bytes > 0) say(router, left.substr(0, bytes));
    left.erase(0, bytes);
    step = request.advance(fd);
    FUZZ_CHECK(!step || *step != Wants::kWrite, "it waits for an empty socket");
  }
  const bool done = step.ok() && *step == Wants::kNothing;
  FUZZ_CHECK(done == granted, granted ? "a proven answer is refused" : "an answer is believed that nobody proved");
  const std::string heard = hear(router);
  const std::string target = sized("10.0.0.1 7");
  const std::string asked = kMagic + text_of(mine) + target + proof(hop.key, "mercutio route 1 client", theirs, mine, target);
  FUZZ_CHECK(other || heard == asked, "it asks for something else");
  if (done) {
    say(router, left);
    FUZZ_CHECK(hear(fd) == rest, "it has read what the target says");
  }
  ::close(fd);
}

// One direction of a link through the input's hands.
struct Wire {
  int from, to;
  i64 damaged_at = -1;
  std::string instead = {};
  i64 passed = 0;
  bool hurt = false;
  bool pass() {
    std::string bytes = hear(from);
    if (bytes.empty()) return false;
    const i64 at = damaged_at - passed;
    passed += static_cast<i64>(bytes.size());
    if (at >= 0 && at < static_cast<i64>(bytes.size())) {
      bytes.replace(static_cast<size_t>(at), instead.size(), instead);
      hurt = true;
    }
    (void)!::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return true;
  }
};

struct End {
  std::unique_ptr<TlsStream> stream;
  bool agreed = false, failed = false;
  std::string got = {};
  void step() {
    if (failed) return;
    if (!agreed) {
      const auto wants = stream->shake_hands();
      failed = !wants;
      agreed = wants && *wants == Wants::kNothing;
      return;
    }
    std::byte bytes[300];
    const auto read = stream->read(bytes);
    failed = !read || read->closed;
    if (read) got.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(read->bytes));
    if (!failed && stream->has_unsent()) failed = !stream->write({}).ok();
  }
};

void check_tls(Taker& taker) {
  static const auto client_side = *make_tls(TlsSide::kClient, key_of(1)), server_side = *make_tls(TlsSide::kServer, key_of(1)),
                    stranger = *make_tls(TlsSide::kServer, key_of(2));
  const bool same_key = taker.pick(0, 3) != 0;
  HeldSocket near, far;
  End client{*client_side->wrap(near.take())}, server{*(same_key ? server_side : stranger)->wrap(far.take())};
  Wire there{near.other(), far.other()}, back{far.other(), near.other()};
  for (Wire* wire : {&there, &back}) {
    if (taker.pick(0, 2) != 0) continue;
    wire->damaged_at = taker.pick(0, 255) * (1 + taker.pick(0, 3));
    wire->instead = taker.text(40);
  }
  const std::string told = taker.text(200), answered = taker.text(200);
  bool asked = false, replied = false;
  for (int turns = 0; turns < 60; ++turns) {
    client.step();
    if (client.agreed && !std::exchange(asked, true)) (void)client.stream->write(std::as_bytes(std::span(told)));
    const bool moved = there.pass();
    server.step();
    if (server.agreed && !std::exchange(replied, true)) (void)server.stream->write(std::as_bytes(std::span(answered)));
    if (!back.pass() && !moved && turns > 6) break;
  }
  const bool whole = !there.hurt && !back.hurt;
  FUZZ_CHECK(same_key || !server.agreed, "a server agrees with a stranger");
  FUZZ_CHECK(same_key || !client.agreed, "a client agrees with a stranger");
  FUZZ_CHECK(!whole || !same_key || (client.agreed && server.agreed && server.got == told && client.got == answered), "two ends with one key don't agree");
  FUZZ_CHECK(told.starts_with(server.got) && answered.starts_with(client.got), "other bytes come out than went in");
}

// Any bytes to one end alone.
void check_tls_alone(Taker& taker) {
  static const auto client_side = *make_tls(TlsSide::kClient, key_of(1)), server_side = *make_tls(TlsSide::kServer, key_of(1));
  HeldSocket ends;
  End end{*(taker.flag() ? client_side : server_side)->wrap(ends.take())};
  end.step();
  const std::string bytes(reinterpret_cast<const char*>(taker.rest().data()), taker.rest().size());
  say(ends.other(), bytes);
  (void)::shutdown(ends.other(), SHUT_WR);
  for (int turns = 0; turns < 8; ++turns) end.step();
  FUZZ_CHECK(!end.agreed && end.got.empty(), "a handshake with nobody");
}

}  // namespace

Input example(Random& random) {
  Input out;
  for (i64 bytes = pick(random, 2, 60); bytes > 0; --bytes) out.push_back(static_cast<std::byte>(pick(random, 0, pick(random, 0, 3) == 0 ? 255 : 40)));
  return out;
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio::fuzz;
  Taker taker(std::as_bytes(std::span(data, size)));
  const auto which = taker.byte() % 8;
  start_measuring_memory();
  if (which < 2) check_router(taker);
  else if (which < 4) check_route_request(taker);
  else if (which < 7) check_tls(taker);
  else check_tls_alone(taker);
  FUZZ_CHECK(most_memory_used() <= 4 * mercutio::MiB, std::to_string(most_memory_used()) + " bytes of memory");
  return 0;
}
