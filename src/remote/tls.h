// TLS 1.3 with a pre-shared key (RFC 8446, external PSK with ECDHE): no certificates, forward secrecy. A stream never blocks: each
// step returns what to wait for. Client and server use the same class.
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

// The name, in a handshake, of the key that `mercutio connect` made. Other keys have other names.
inline constexpr char kOwnIdentity[] = "mercutio";

enum class Wants { kNothing, kRead, kWrite };

struct TlsStep {
  i64 bytes = 0;                   // moved
  Wants wants = Wants::kNothing;   // if 0 bytes were moved: what to wait for
  bool closed = false;             // the peer has ended the stream
};

class TlsStream {
 public:
  virtual ~TlsStream() = default;   // closes the descriptor
  virtual int fd() const = 0;
  virtual Result<Wants> shake_hands() = 0;      // kNothing: done; kAccess: different keys
  virtual Result<TlsStep> read(Bytes into) = 0;
  // Passes several records to the kernel at once. Accepted data may be buffered: until has_unsent() is false, call write() again,
  // with no data if there is none. The bytes moved are those of `from`, and after its end those of `then`.
  virtual Result<TlsStep> write(ConstBytes from, ConstBytes then = {}) = 0;
  virtual bool has_unsent() const = 0;
  virtual void end() {}   // tells the peer that nothing follows, if that can be sent at once
  virtual std::string identity() const = 0;     // of the key used in the handshake
};

class TlsContext {
 public:
  virtual ~TlsContext() = default;
  virtual void* native() = 0;   // an SSL_CTX*, for benchmarks
  // Takes ownership of a connected socket and makes it nonblocking.
  virtual Result<std::unique_ptr<TlsStream>> wrap(int fd) = 0;
};
enum class TlsSide { kClient, kServer };
struct TlsNames {
  std::string identity = kOwnIdentity;                                        // client: name of its key
  std::function<std::optional<Key>(const std::string& identity)> other_keys;   // server: keys besides its own; thread-safe
};
// A key of AES-GCM may encrypt 2^24.5 records (RFC 8446, 5.5). Each side takes a new one (5.2's KeyUpdate) long before.
inline constexpr i64 kRecordsPerKey = i64{1} << 23;
Result<std::shared_ptr<TlsContext>> make_tls(TlsSide side, const Key& key, const TlsNames& names = {}, i64 records_per_key = kRecordsPerKey);

}  // namespace mercutio::remote
