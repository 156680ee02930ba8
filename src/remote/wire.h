// The frames of the protocol between a client and mercutiod, as docs/engineers/remote.md specifies them: pure functions
// over bytes. Everything is little-endian. Nothing that is read is trusted: lengths are bounded before anything is
// allocated, and each message is complete or refused.
#pragma once

#include <endian.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "model/layout.h"

namespace mercutio::remote {

using u64 = std::uint64_t;

// Bytes that are not cleared before they are written: frames of file data.
template <class T>
struct Uncleared : std::allocator<T> {
  template <class U>
  struct rebind {
    using other = Uncleared<U>;
  };
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};
using Buffer = std::vector<std::byte, Uncleared<std::byte>>;

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr i64 kHeaderBytes = 32;
inline constexpr i64 kMaxBodyBytes = 4 * MiB;
inline constexpr i64 kMaxDataBytes = 16 * MiB;
inline constexpr i64 kMinBlockBytes = 512;           // a server that grants less makes no sense: a transfer would be thousands of requests
inline constexpr u64 kLz4 = 1;   // a capability: file data may be an LZ4 block

enum class Kind : std::uint16_t {
  kHello = 1,
  kWelcome = 2,
  kPing = 3,
  kPong = 4,
  kReply = 5,
  kForget = 6,   // its message: u64s, requests that the client waits for no more
  kOpen = 16,
  kClose = 17,
  kRemove = 18,
  kSize = 19,
  kSetSize = 20,
  kPreallocate = 21,
  kSync = 22,
  kRead = 23,
  kWrite = 24,
  kLock = 25,
  kUnlock = 26,
  kChecksum = 27,
};
bool is_request(Kind kind);
const char* kind_name(Kind kind);

enum class Encoding : std::uint16_t { kPlain = 0, kLz4 = 1 };   // of a frame's file data; LZ4: a u32, its length when decoded, then a block

struct FrameHeader {
  Kind kind = Kind::kPing;
  Encoding encoding = Encoding::kPlain;
  u64 id = 0;             // of the request; 0 outside requests and replies
  i64 body_bytes = 0;     // the message
  i64 data_bytes = 0;     // file data after it, as it is encoded
  u64 checksum = 0;       // of body and data, the data as it is when decoded
  i64 payload_bytes() const { return body_bytes + data_bytes; }
  bool operator==(const FrameHeader&) const = default;
};
void write_header(const FrameHeader& header, std::byte* out);        // kHeaderBytes
Result<FrameHeader> parse_header(ConstBytes bytes);                  // kIo: not a frame of this protocol
u64 checksum_of(ConstBytes bytes);                                   // XXH3, 64 bits, seed 0
// Decodes and checks what came with a header, which afterwards tells of what `payload` holds. kIo: it is damaged, or encoded data
// would be longer than `most_decoded` bytes, which is known before there is memory for it.
Status unseal(FrameHeader& header, Buffer& payload, i64 most_decoded);

// One message's fields in order: the same list writes and reads them.
class RemoteEncoder {
 public:
  explicit RemoteEncoder(Buffer& out) : out_(out) {}
  void operator()(const bool& v) { out_.push_back(static_cast<std::byte>(v ? 1 : 0)); }
  void operator()(const std::uint32_t& v) { append_number(htole32(v)); }
  void operator()(const u64& v) { append_number(htole64(v)); }
  void operator()(const i64& v) { append_number(htole64(static_cast<u64>(v))); }
  void operator()(const std::string& v) { append_sized(v.data(), v.size()); }
  void operator()(const Buffer& v) { append_sized(v.data(), v.size()); }

 private:
  template <class T>
  void append_number(T v) {
    append(&v, sizeof v);
  }
  void append_sized(const void* data, size_t size) {
    (*this)(static_cast<std::uint32_t>(size));
    append(data, size);
  }
  void append(const void* data, size_t size) {
    const size_t end = out_.size();
    out_.resize(end + size);
    if (size > 0) std::memcpy(out_.data() + end, data, size);
  }
  Buffer& out_;
};

// Past the end everything is zero and empty, and failed() says so.
class RemoteDecoder {
 public:
  explicit RemoteDecoder(ConstBytes bytes) : rest_(bytes) {}
  void operator()(bool& v) {
    unsigned char byte = 0;
    take(&byte, 1);
    v = byte != 0;
    failed_ = failed_ || byte > 1;
  }
  void operator()(std::uint32_t& v) { v = le32toh(number<std::uint32_t>()); }
  void operator()(u64& v) { v = le64toh(number<u64>()); }
  void operator()(i64& v) { v = static_cast<i64>(le64toh(number<u64>())); }
  void operator()(std::string& v) {
    const ConstBytes bytes = sized();
    v.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void operator()(Buffer& v) {
    const ConstBytes bytes = sized();
    v.assign(bytes.begin(), bytes.end());
  }
  bool failed() const { return failed_; }
  bool finished() const { return !failed_ && rest_.empty(); }

 private:
  template <class T>
  T number() {
    T v = 0;
    take(&v, sizeof v);
    return v;
  }
  void take(void* out, size_t size) {
    if (size > rest_.size()) return fail();
    std::memcpy(out, rest_.data(), size);
    rest_ = rest_.subspan(size);
  }
  ConstBytes sized() {
    std::uint32_t size = 0;
    (*this)(size);
    if (size > rest_.size()) return fail(), ConstBytes();
    const ConstBytes bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return bytes;
  }
  void fail() {
    failed_ = true;
    rest_ = {};
  }
  ConstBytes rest_;
  bool failed_ = false;
};

struct Hello {
  std::uint32_t lowest = kProtocolVersion, highest = kProtocolVersion;
  u64 capabilities = 0;                  // what it would like: kLz4
  u64 session_high = 0, session_low = 0; // chosen by the client at random
  u64 replaces_high = 0, replaces_low = 0;   // the client's session before this one, which ends now; 0, 0: none
  bool fresh = true;                     // the client was never welcomed in this session
  std::string client;                    // for the log
  bool operator==(const Hello&) const = default;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.lowest), io(m.highest), io(m.capabilities), io(m.session_high), io(m.session_low);
    io(m.replaces_high), io(m.replaces_low), io(m.fresh), io(m.client);
  }
};

struct Welcome {
  std::uint32_t version = kProtocolVersion;
  u64 capabilities = 0;   // those of the client's that both use from now on
  i64 block_bytes = 0;    // the most data in one frame, decoded
  i64 credit_bytes = 0;   // the most data in requests of one stream that have no reply yet, both directions together
  std::string host;
  bool operator==(const Welcome&) const = default;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.version), io(m.capabilities), io(m.block_bytes), io(m.credit_bytes), io(m.host);
  }
};

struct OpenRequest {
  std::string path;   // root/name/in/it
  bool read = true, write = false, create = false, exclusive = false;
  std::uint32_t permissions = 0666;
  Layout wanted;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.path), io(m.read), io(m.write), io(m.create), io(m.exclusive), io(m.permissions);
    io(m.wanted.stripe_bytes), io(m.wanted.stripe_count), io(m.wanted.first_server), io(m.wanted.server_mb_per_s);
  }
};

struct OpenReply {
  u64 handle = 0;
  std::string file_system;
  bool can_lock = false, visibility_immediate = false;
  i64 block_bytes = 0;
  Layout layout;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.handle), io(m.file_system), io(m.can_lock), io(m.visibility_immediate), io(m.block_bytes);
    io(m.layout.stripe_bytes), io(m.layout.stripe_count), io(m.layout.first_server), io(m.layout.server_mb_per_s);
  }
};

// Remove: `path`. Close, size, sync, unlock: `target`. Set size, preallocate: `target`, `value`. Checksum: `target`, `value`,
// `end`. A lock: all but `path`.
struct PlainRequest {
  u64 target = 0;   // a file's handle; unlock: a lock's
  i64 value = 0;    // lock, checksum: where it begins
  i64 end = 0;
  bool exclusive = false;
  std::string path;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.target), io(m.value), io(m.end), io(m.exclusive), io(m.path);
  }
};

// Which bytes of a file a read or write means: stream bytes [begin, end) of tiled copies of a type tree, whose origin lies
// at `displacement`. Tree 0: one run from `displacement` on.
struct TransferRequest {
  u64 handle = 0;
  i64 displacement = 0, begin = 0, end = 0;
  u64 tree = 0;                      // checksum_of(definition)
  Buffer definition; // empty if the server has it already
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.handle), io(m.displacement), io(m.begin), io(m.end), io(m.tree), io(m.definition);
  }
};

enum class Outcome : std::uint32_t { kDone = 0, kFailed = 1, kTreeUnknown = 2, kSessionUnknown = 3 };

struct Reply {
  std::uint32_t outcome = 0;
  i64 value = 0;                    // bytes moved, a size, a lock's handle
  Buffer more;      // open: an OpenReply
  std::string error_class, text, host;   // kFailed; the class by its MPI name
  i64 sys_errno = 0, offset = -1, bytes = -1;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.outcome), io(m.value), io(m.more);
    if (m.outcome == 0) return;
    io(m.error_class), io(m.text), io(m.host), io(m.sys_errno), io(m.offset), io(m.bytes);
  }
};

template <class Message>
void put_message(Buffer& out, const Message& message) {
  RemoteEncoder writer(out);
  Message::fields(writer, message);
}
// The message fills `bytes` exactly, or kIo.
template <class Message>
Result<Message> get_message(ConstBytes bytes) {
  Message message;
  RemoteDecoder reader(bytes);
  Message::fields(reader, message);
  if (!reader.finished()) return Error{ErrorClass::kIo, "a message of the remote protocol is damaged"};
  return message;
}

Reply reply_of(const Error& error, const std::string& host);
Error error_of(const Reply& reply);   // of an outcome other than kDone

// A frame with `body` and no data.
Buffer frame_of(Kind kind, u64 id, const Buffer& body);
template <class Message>
Buffer frame_with(Kind kind, u64 id, const Message& message) {
  Buffer body;
  put_message(body, message);
  return frame_of(kind, id, body);
}
// Fills in the header of the frame that begins at `start` of a buffer; its body stands behind kHeaderBytes already, its data
// behind that or, where it isn't copied, elsewhere. What has to follow the buffer from there is returned: nothing, if the other
// end takes LZ4 and the data shrank.
struct FrameMade {
  Kind kind = Kind::kPing;
  u64 id = 0;
  i64 body_bytes = 0;
  ConstBytes elsewhere = {};
  bool lz4 = false;
};
ConstBytes seal(Buffer& buffer, size_t start, const FrameMade& made);

}  // namespace mercutio::remote
