#include "remote/tls.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include "base/attempt.h"
#include "remote/sockets.h"

namespace mercutio::remote {
namespace {

constexpr unsigned char kCipher[] = {0x13, 0x01};   // TLS_AES_128_GCM_SHA256
constexpr size_t kSendBytes = 128 * KiB, kReceiveBytes = 64 * KiB;   // per system call; OpenSSL would make one or two for each record of 16 KiB

std::string reason() {
  const unsigned long code = ERR_get_error();
  const char* text = code ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return text ? text : "no reason given";
}

// A session that never existed, which provides an external key for a TLS 1.3 handshake.
SSL_SESSION* session_with(SSL* ssl, const Key& key) {
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kCipher);
  SSL_SESSION* session = SSL_SESSION_new();
  if (cipher && session && SSL_SESSION_set1_master_key(session, key.data(), key.size()) &&
      SSL_SESSION_set_cipher(session, cipher) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
    return session;
  SSL_SESSION_free(session);
  return nullptr;
}

// The data of the handshake callbacks: of the context and of the stream.
struct Keys {
  Key own{};
  TlsNames names;
};

const Keys& keys_of(SSL* ssl) {
  return *static_cast<const Keys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

std::string& used_identity(SSL* ssl) {
  return *static_cast<std::string*>(SSL_get_app_data(ssl));
}

int offer_key(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, size_t* identity_bytes,
              SSL_SESSION** session) {
  *session = nullptr;
  if (digest && EVP_MD_get_type(digest) != NID_sha256) return 1;
  const Keys& keys = keys_of(ssl);
  *session = session_with(ssl, keys.own);
  *identity = reinterpret_cast<const unsigned char*>(keys.names.identity.data());
  *identity_bytes = keys.names.identity.size();
  used_identity(ssl) = keys.names.identity;
  return *session != nullptr;
}

int find_key(SSL* ssl, const unsigned char* identity, size_t identity_bytes, SSL_SESSION** session) {
  *session = nullptr;
  (void)attempt([&] {
    const Keys& keys = keys_of(ssl);
    const std::string name(reinterpret_cast<const char*>(identity), identity_bytes);
    std::optional<Key> key;
    if (name == kOwnIdentity)
      key = keys.own;
    else if (keys.names.other_keys)
      key = keys.names.other_keys(name);
    if (key) *session = session_with(ssl, *key);
    used_identity(ssl) = name;
    return ok_status();
  });
  return 1;   // the handshake fails without a session, because there are no certificates
}

// Records in transit to and from a socket.
struct Records {
  int fd = -1;
  std::string identity;   // of the key
  std::vector<char> out;
  size_t sent = 0;
  // Received records. Each is copied once more into OpenSSL's memory while it is in a core's cache, which costs less than a system
  // call for each. (OpenSSL's own read-ahead moves all that it has for every record.)
  std::unique_ptr<char[]> in = std::make_unique_for_overwrite<char[]>(kReceiveBytes);
  size_t in_begin = 0, in_end = 0;
  bool ended = false;

  bool empty() const { return sent == out.size(); }
  // False: the socket accepts no more data (EAGAIN), or is broken; see errno.
  bool send() {
    while (!empty()) {
      const ssize_t done = ::send(fd, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return false;
      sent += static_cast<size_t>(done);
    }
    out.clear();
    sent = 0;
    return true;
  }
  // The result of read(2).
  ssize_t receive(char* into, size_t bytes) {
    if (in_begin == in_end) {
      ssize_t done = 0;
      do done = ::recv(fd, in.get(), kReceiveBytes, 0);
      while (done < 0 && errno == EINTR);
      if (done <= 0) return done;
      in_begin = 0;
      in_end = static_cast<size_t>(done);
    }
    const size_t here = std::min(bytes, in_end - in_begin);
    std::memcpy(into, in.get() + in_begin, here);
    in_begin += here;
    return static_cast<ssize_t>(here);
  }
};

Records& records_of(BIO* bio) {
  return *static_cast<Records*>(BIO_get_data(bio));
}

// OpenSSL's output is passed to the kernel when there is enough of it, or at a flush.
int put_records(BIO* bio, const char* data, int size) {
  Records& records = records_of(bio);
  BIO_clear_retry_flags(bio);
  if (records.out.size() >= kSendBytes && !records.send()) {
    if (errno == EAGAIN) BIO_set_retry_write(bio);
    return -1;
  }
  records.out.insert(records.out.end(), data, data + size);
  return size;
}

int get_records(BIO* bio, char* into, int size) {
  Records& records = records_of(bio);
  BIO_clear_retry_flags(bio);
  const ssize_t done = records.receive(into, static_cast<size_t>(size));
  records.ended = done == 0;
  if (done < 0 && errno == EAGAIN) BIO_set_retry_read(bio);
  return static_cast<int>(done);
}

long control_records(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return records_of(bio).ended ? 1 : 0;
  if (command != BIO_CTRL_FLUSH) return 0;
  return records_of(bio).send() || errno == EAGAIN ? 1 : -1;   // what is left goes later: a BIO of OpenSSL's above this one hides the reason
}

int create_records(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

struct RecordsMethod {
  BIO_METHOD* method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "records");
  RecordsMethod() {
    if (!method) return;
    BIO_meth_set_write(method, put_records);
    BIO_meth_set_read(method, get_records);
    BIO_meth_set_ctrl(method, control_records);
    BIO_meth_set_create(method, create_records);
  }
  ~RecordsMethod() { BIO_meth_free(method); }
  RecordsMethod(const RecordsMethod&) = delete;
  RecordsMethod& operator=(const RecordsMethod&) = delete;
};

class Stream final : public TlsStream {
 public:
  Stream(SSL* ssl, std::unique_ptr<Records> records, std::shared_ptr<RecordsMethod> method, i64 records_per_key)
      : ssl_(ssl), records_(std::move(records)), method_(std::move(method)), records_per_key_(records_per_key) {}
  ~Stream() override {
    SSL_free(ssl_);
    ::close(records_->fd);
  }
  int fd() const override { return records_->fd; }
  bool has_unsent() const override { return !records_->empty(); }
  std::string identity() const override { return records_->identity; }

  Result<Wants> shake_hands() override {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_);
    if (done == 1) {
      if (SSL_session_reused(ssl_) != 1) return wrong_key("the other end did not use the key");
      return Wants::kNothing;
    }
    const int saved = errno;
    switch (SSL_get_error(ssl_, done)) {
      case SSL_ERROR_WANT_READ:
        if (records_->send()) return Wants::kRead;
        if (errno != EAGAIN) return error_from_errno("TLS handshake", errno);
        return Wants::kWrite;
      case SSL_ERROR_WANT_WRITE:
        return Wants::kWrite;
      case SSL_ERROR_SYSCALL:
        return error_from_errno("TLS handshake", saved ? saved : ECONNRESET);
      default:
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
          return error_from_errno("TLS handshake", ECONNRESET);
        return wrong_key(reason());
    }
  }

  void end() override {
    ERR_clear_error();
    (void)SSL_shutdown(ssl_);
  }
  Result<TlsStep> read(Bytes into) override {
    ERR_clear_error();
    size_t bytes = 0;
    const int done = SSL_read_ex(ssl_, into.data(), into.size(), &bytes);
    return step(done, bytes);
  }
  Result<TlsStep> write(ConstBytes from, ConstBytes then) override {
    MERCUTIO_LET(TlsStep taken, encrypt(from));
    if (taken.wants == Wants::kNothing) {
      MERCUTIO_LET(const TlsStep more, encrypt(then));
      taken.bytes += more.bytes;
      taken.wants = more.wants;
    }
    if (taken.wants != Wants::kNothing || records_->send()) return taken;
    if (errno != EAGAIN) return error_from_errno("TLS", errno);
    taken.wants = Wants::kWrite;
    return taken;
  }

 private:
  static Error wrong_key(const std::string& why) {
    return Error{ErrorClass::kAccess, "the TLS handshake failed (" + why +
                                          "): the key of this connection is not that of the server, which was started "
                                          "anew or belongs to somebody else"};
  }
  Result<TlsStep> encrypt(ConstBytes from) {
    TlsStep taken;
    while (!from.empty()) {
      ERR_clear_error();
      size_t bytes = 0;
      const int done = SSL_write_ex(ssl_, from.data(), from.size(), &bytes);
      if (done != 1) {
        MERCUTIO_LET(const TlsStep stopped, step(done, 0));
        if (stopped.closed) return Error{ErrorClass::kIo, "TLS: the other end is done", ECONNRESET};
        taken.wants = stopped.wants;
        return taken;
      }
      taken.bytes += static_cast<i64>(bytes);
      from = from.subspan(bytes);
      if (++records_of_key_ < records_per_key_) continue;
      records_of_key_ = 0;   // the next write sends the change first
      if (SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return Error{ErrorClass::kIo, "TLS: no new key: " + reason(), ECONNRESET};
    }
    return taken;
  }
  Result<TlsStep> step(int done, size_t bytes) {
    const int saved = errno;
    if (done == 1) return TlsStep{static_cast<i64>(bytes)};
    switch (SSL_get_error(ssl_, done)) {
      case SSL_ERROR_WANT_READ:
        return TlsStep{0, Wants::kRead};
      case SSL_ERROR_WANT_WRITE:
        return TlsStep{0, Wants::kWrite};
      case SSL_ERROR_ZERO_RETURN:
        return TlsStep{0, Wants::kNothing, true};
      case SSL_ERROR_SYSCALL:
        return error_from_errno("TLS", saved ? saved : ECONNRESET);
      default:
        return Error{ErrorClass::kIo, "TLS: " + reason(), ECONNRESET};
    }
  }

  SSL* ssl_;
  const std::unique_ptr<Records> records_;
  const std::shared_ptr<RecordsMethod> method_;   // must outlive the objects it creates
  const i64 records_per_key_;
  i64 records_of_key_ = 0;   // encrypted
};

class Context final : public TlsContext {
 public:
  Context(SSL_CTX* context, TlsSide side, Keys keys, i64 records_per_key)
      : context_(context), side_(side), keys_(std::move(keys)), records_per_key_(records_per_key) {
    SSL_CTX_set_app_data(context_, &keys_);
  }
  ~Context() override {
    SSL_CTX_free(context_);
    OPENSSL_cleanse(keys_.own.data(), keys_.own.size());
  }
  void* native() override { return context_; }
  Result<std::unique_ptr<TlsStream>> wrap(int fd) override {
    set_up(fd);
    const int flags = ::fcntl(fd, F_GETFL);
    SSL* ssl = flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? SSL_new(context_) : nullptr;
    BIO* const bio = ssl && method_->method ? BIO_new(method_->method) : nullptr;
    if (!bio) {
      SSL_free(ssl);
      ::close(fd);
      return Error{ErrorClass::kIo, "TLS can't use the connection: " + reason()};
    }
    auto records = std::make_unique<Records>();
    records->fd = fd;
    records->out.reserve(kSendBytes + 32 * KiB);
    BIO_set_data(bio, records.get());
    SSL_set_app_data(ssl, &records->identity);
    SSL_set_bio(ssl, bio, bio);
    if (side_ == TlsSide::kClient)
      SSL_set_connect_state(ssl);
    else
      SSL_set_accept_state(ssl);
    return std::unique_ptr<TlsStream>(std::make_unique<Stream>(ssl, std::move(records), method_, records_per_key_));
  }

 private:
  SSL_CTX* context_;
  const TlsSide side_;
  Keys keys_;
  const i64 records_per_key_;
  const std::shared_ptr<RecordsMethod> method_ = std::make_shared<RecordsMethod>();
};

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Result<Key> make_key() {
  Key key;
  if (RAND_priv_bytes(key.data(), static_cast<int>(key.size())) != 1)
    return Error{ErrorClass::kOther, "no random numbers for a key: " + reason()};
  return key;
}

std::string key_text(const Key& key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : key) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

Result<Key> parse_key(const std::string& text) {
  Key key;
  bool good = text.size() == 2 * key.size();
  for (size_t i = 0; good && i < key.size(); ++i) {
    const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    key[i] = static_cast<unsigned char>(high * 16 + low);
  }
  if (!good) return Error{ErrorClass::kArg, "a key has 64 digits out of 0-9 and a-f"};
  return key;
}

Result<std::shared_ptr<TlsContext>> make_tls(TlsSide side, const Key& key, const TlsNames& names, i64 records_per_key) {
  // Threads may still be in OpenSSL when the exit handlers run. A statically linked OpenSSL is of another version than the
  // machine's openssl.cnf and has none of the modules that it may name. A shared one is also used by the program, whose TLS needs
  // that file.
#ifdef MERCUTIO_OWN_OPENSSL
  constexpr uint64_t kConfiguration = OPENSSL_INIT_NO_LOAD_CONFIG;
#else
  constexpr uint64_t kConfiguration = 0;
#endif
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | kConfiguration, nullptr);
  SSL_CTX* context = SSL_CTX_new(side == TlsSide::kClient ? TLS_client_method() : TLS_server_method());
  if (!context || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1) {
    SSL_CTX_free(context);
    return Error{ErrorClass::kOther, "OpenSSL has no TLS 1.3 with AES-128-GCM: " + reason()};
  }
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_AUTO_RETRY);
  if (side == TlsSide::kClient) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);   // no certificate is ever accepted
    SSL_CTX_set_psk_use_session_callback(context, offer_key);
  } else {
    SSL_CTX_set_psk_find_session_callback(context, find_key);
  }
  return std::shared_ptr<TlsContext>(std::make_shared<Context>(context, side, Keys{key, names}, records_per_key));
}

}  // namespace mercutio::remote
