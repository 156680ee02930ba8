// TLS 1.3 with a key both sides have already (RFC 8446, external PSK with ECDHE): no certificates, and forward secrecy.
// A stream never blocks: a step says what to wait for. Both ends of a connection are the same class.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace mercutio::remote {

using Key = std::array<unsigned char, 32>;
Result<Key> make_key();                                // from the system's random numbers
std::string key_text(const Key& key);                  // 64 hexadecimal digits
Result<Key> parse_key(const std::string& text);

// The name in a handshake of the key that `mercutio connect` made. Other keys have other names.
inline constexpr char kOwnIdentity[] = "mercutio";

enum class Wants { kNothing, kRead, kWrite };

struct TlsStep {
  i64 bytes = 0;                   // moved
  Wants wants = Wants::kNothing;   // with 0 bytes: what the descriptor has to be ready for
  bool closed = false;             // the other end said that it is done
};

class TlsStream {
 public:
  virtual ~TlsStream() = default;   // closes the descriptor
  virtual int fd() const = 0;
  virtual Result<Wants> shake_hands() = 0;      // kNothing: done; kAccess: not the same key
  virtual Result<TlsStep> read(Bytes into) = 0;
  // Several records go to the kernel at once. What is taken may stay here: until has_unsent() is false, write again, nothing if
  // there is nothing more to say. With `more`, what follows at once may go together with it.
  virtual Result<TlsStep> write(ConstBytes from, bool more = false) = 0;
  virtual bool has_unsent() const = 0;
  virtual std::string identity() const = 0;     // of the key that the handshake used
};

class TlsContext {
 public:
  virtual ~TlsContext() = default;
  virtual void* native() = 0;   // an SSL_CTX*, for measuring programs
  // Takes over a connected socket, which becomes nonblocking.
  virtual Result<std::unique_ptr<TlsStream>> wrap(int fd) = 0;
};
enum class TlsSide { kClient, kServer };
struct TlsNames {
  std::string identity = kOwnIdentity;                                        // a client's: that of its key
  std::function<std::optional<Key>(const std::string& identity)> other_keys;   // a server's, beside its own; any thread
};
Result<std::shared_ptr<TlsContext>> make_tls(TlsSide side, const Key& key, const TlsNames& names = {});

}  // namespace mercutio::remote
