// The messages between a client and a router before bytes are forwarded.
#include "remote/route.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/trace.h"
#include "remote/printable.h"
#include "remote/sockets.h"

namespace mercutio::remote {
namespace {

constexpr char kMagic[8] = {'m', 'e', 'r', 'c', 'r', 't', '0', '1'};
constexpr size_t kNonceBytes = 32, kProofBytes = 32, kLengthBytes = 4;
constexpr size_t kMostTextBytes = 512;
constexpr char kOfClient[] = "mercutio route 1 client", kOfRouter[] = "mercutio route 1 router";

enum class Verdict : unsigned char { kConnected = 0, kWrongKey = 1, kNotAllowed = 2, kUnreachable = 3, kRefused = 4, kFull = 5 };

void append(Buffer& out, const void* data, size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(data);
  out.insert(out.end(), from, from + bytes);
}

void append_text(Buffer& out, const std::string& text) {
  const std::uint32_t bytes = htole32(static_cast<std::uint32_t>(text.size()));
  append(out, &bytes, sizeof bytes);
  append(out, text.data(), text.size());
}

Key proof_of(const Key& key, const char* who, ConstBytes signed_text) {
  Buffer all;
  append(all, who, std::strlen(who));
  append(all, signed_text.data(), signed_text.size());
  Key proof{};
  unsigned bytes = kProofBytes;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(all.data()), all.size(), proof.data(), &bytes);
  return proof;
}

// The data that a proof authenticates: both random numbers, then the message.
Buffer transcript(const Key& router, const Key& client, ConstBytes signed_text) {
  Buffer all;
  append(all, router.data(), router.size());
  append(all, client.data(), client.size());
  append(all, signed_text.data(), signed_text.size());
  return all;
}

bool same(const Key& proof, ConstBytes given) {
  return given.size() == proof.size() && CRYPTO_memcmp(proof.data(), given.data(), proof.size()) == 0;
}

size_t length_at(const Buffer& in, size_t at) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, in.data() + at, sizeof bytes);
  return le32toh(bytes);
}

Error not_a_router() {
  return Error{ErrorClass::kIo, "no Mercutio router answers there: see whether 'mercutio route' still runs on the gateway", EPROTO};
}

}  // namespace

RouteRequest::RouteRequest(const Hop& router, const Endpoint& target)
    : router_(router), target_(target.address + " " + std::to_string(target.port)) {}

RouteRequest::RouteRequest(const Hop& router, const Endpoint& target, const Key& nonce) : RouteRequest(router, target) {
  given_ = nonce;
}

// Reads exactly `bytes`. What follows belongs to the target.
Result<bool> RouteRequest::fill(int fd, size_t bytes) {
  while (in_.size() < bytes) {
    std::byte chunk[256];
    const ssize_t got = ::recv(fd, chunk, std::min(sizeof chunk, bytes - in_.size()), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return false;
    if (got < 0) return error_from_errno("router", errno);
    if (got == 0) return Error{ErrorClass::kIo, "the router closed the connection", ECONNRESET};
    append(in_, chunk, static_cast<size_t>(got));
  }
  return true;
}

Status RouteRequest::take_challenge() {
  if (std::memcmp(in_.data(), kMagic, sizeof kMagic) != 0) return not_a_router();
  std::memcpy(theirs_.data(), in_.data() + sizeof kMagic, kNonceBytes);
  in_.clear();
  MERCUTIO_LET(mine_, given_ ? Result<Key>(*given_) : make_key());
  Buffer signed_text;
  append_text(signed_text, target_);
  const Key proof = proof_of(router_.key, kOfClient, transcript(theirs_, mine_, signed_text));
  append(out_, kMagic, sizeof kMagic);
  append(out_, mine_.data(), mine_.size());
  append(out_, signed_text.data(), signed_text.size());
  append(out_, proof.data(), proof.size());
  stage_ = Stage::kAsking;
  return ok_status();
}

Status RouteRequest::take_verdict() {
  const ConstBytes signed_text = ConstBytes(in_).first(in_.size() - kProofBytes);
  const bool proven = same(proof_of(router_.key, kOfRouter, transcript(theirs_, mine_, signed_text)), ConstBytes(in_).last(kProofBytes));
  const auto verdict = static_cast<Verdict>(in_[0]);
  const std::string text(reinterpret_cast<const char*>(in_.data()) + 1 + kLengthBytes, signed_text.size() - 1 - kLengthBytes);
  const std::string name = "the router " + router_.at.address + " port " + std::to_string(router_.at.port);
  if (verdict == Verdict::kWrongKey || !proven)
    return Error{ErrorClass::kAccess, name + " has another key: give 'mercutio connect --router' the key file it was started with"};
  if (verdict == Verdict::kNotAllowed)
    return Error{ErrorClass::kAccess, name + " may not connect to " + target_ + ": start it with --to for that address"};
  if (verdict == Verdict::kFull) return Error{ErrorClass::kIo, name + " has as many connections as it may have (--connections)", EUSERS};
  if (verdict != Verdict::kConnected)
    return Error{ErrorClass::kIo, name + " can't reach " + target_ + ": " + printable(text), verdict == Verdict::kRefused ? ECONNREFUSED : EHOSTUNREACH};
  stage_ = Stage::kDone;
  return ok_status();
}

Result<Wants> RouteRequest::advance(int fd) {
  if (stage_ == Stage::kChallenge) {
    MERCUTIO_LET(const bool there, fill(fd, sizeof kMagic + kNonceBytes));
    if (!there) return Wants::kRead;
    MERCUTIO_TRY(take_challenge());
  }
  while (stage_ == Stage::kAsking) {
    const ssize_t done = ::send(fd, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (done < 0 && errno == EAGAIN) return Wants::kWrite;
    if (done < 0 && errno != EINTR) return error_from_errno("router", errno);
    sent_ += static_cast<size_t>(std::max<ssize_t>(done, 0));
    if (sent_ == out_.size()) stage_ = Stage::kVerdict;
  }
  if (stage_ == Stage::kDone) return Wants::kNothing;
  MERCUTIO_LET(const bool head, fill(fd, 1 + kLengthBytes));
  if (!head) return Wants::kRead;
  const size_t text = length_at(in_, 1);
  if (text > kMostTextBytes) return not_a_router();
  MERCUTIO_LET(const bool whole, fill(fd, 1 + kLengthBytes + text + kProofBytes));
  if (!whole) return Wants::kRead;
  MERCUTIO_TRY(take_verdict());
  return Wants::kNothing;
}

namespace {

Buffer challenge_of(const Key& nonce) {
  Buffer challenge;
  append(challenge, kMagic, sizeof kMagic);
  append(challenge, nonce.data(), nonce.size());
  return challenge;
}

// Blocking calls with a time limit, for the handshake.
bool receive_all(int fd, void* into, size_t bytes, i64 end_ns) {
  for (size_t done = 0; done < bytes;) {
    if (!wait_for_event(fd, POLLIN, end_ns)) return false;
    const ssize_t got = ::recv(fd, static_cast<char*>(into) + done, bytes - done, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return false;
    done += static_cast<size_t>(std::max<ssize_t>(got, 0));
  }
  return true;
}

bool send_all(int fd, const Buffer& bytes, i64 end_ns) {
  for (size_t done = 0; done < bytes.size();) {
    if (!wait_for_event(fd, POLLOUT, end_ns)) return false;
    const ssize_t sent = ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    done += static_cast<size_t>(std::max<ssize_t>(sent, 0));
  }
  return true;
}

bool allowed(const RouterOptions& options, const std::string& target) {
  const size_t space = target.rfind(' ');
  if (space == std::string::npos) return false;
  const std::string address = target.substr(0, space), port = target.substr(space + 1);
  return is_one_of(options.targets, address, port);
}

}  // namespace

bool is_one_of(const std::vector<std::string>& targets, const std::string& address, const std::string& port) {
  const auto names = [&](const std::string& known, const std::string& at) { return known == at + ":" + port || known == at + ":*"; };
  return std::any_of(targets.begin(), targets.end(), [&](const std::string& known) { return names(known, address) || names(known, "[" + address + "]"); });
}

bool challenge(int fd, const Key& nonce) {
  return send_all(fd, challenge_of(nonce), now_ns() + 1'000'000'000);
}

Result<int> admit(int client, const Admission& by, std::string& target) {
  const i64 end_ns = now_ns() + by.options.handshake_ms * 1'000'000;
  const Key& mine = by.nonce;
  Buffer head(sizeof kMagic + kNonceBytes + kLengthBytes);
  if ((!by.challenged && !send_all(client, challenge_of(mine), end_ns)) || !receive_all(client, head.data(), head.size(), end_ns) ||
      std::memcmp(head.data(), kMagic, sizeof kMagic) != 0)
    return Error{ErrorClass::kIo, "it does not ask for a route"};
  const size_t text = length_at(head, sizeof kMagic + kNonceBytes);
  Buffer rest(text > kMostTextBytes ? 0 : text + kProofBytes);
  if (rest.empty() || !receive_all(client, rest.data(), rest.size(), end_ns)) return Error{ErrorClass::kIo, "it does not ask for a route"};
  Key theirs{};
  std::memcpy(theirs.data(), head.data() + sizeof kMagic, kNonceBytes);
  target.assign(reinterpret_cast<const char*>(rest.data()), text);
  Buffer signed_text;
  append_text(signed_text, target);
  Result<int> fd = Error{ErrorClass::kAccess, "not the router's key"};
  Verdict verdict = Verdict::kWrongKey;
  if (same(proof_of(by.options.key, kOfClient, transcript(mine, theirs, signed_text)), ConstBytes(rest).last(kProofBytes))) {
    verdict = allowed(by.options, target) ? Verdict::kUnreachable : Verdict::kNotAllowed;
    if (verdict == Verdict::kNotAllowed) fd = Error{ErrorClass::kAccess, "no --to allows " + target};
    if (verdict == Verdict::kUnreachable) fd = by.connect(target, end_ns);
    if (fd) verdict = Verdict::kConnected;
    if (verdict == Verdict::kUnreachable && fd.error().sys_errno == ECONNREFUSED) verdict = Verdict::kRefused;
    if (verdict == Verdict::kUnreachable && fd.error().sys_errno == EUSERS) verdict = Verdict::kFull;
  }
  Buffer answer{static_cast<std::byte>(verdict)};
  append_text(answer, fd ? "" : fd.error().what.substr(0, kMostTextBytes));
  const Key proof = proof_of(by.options.key, kOfRouter, transcript(mine, theirs, answer));
  append(answer, proof.data(), proof.size());
  if (!send_all(client, answer, end_ns) && fd) {
    ::close(*fd);
    return Error{ErrorClass::kIo, "it left", ECONNRESET};
  }
  return fd;
}

}  // namespace mercutio::remote
