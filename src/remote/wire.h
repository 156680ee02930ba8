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
// Capabilities: file data may be an LZ4 block; requests about names (kStatus to kEnd); kClaim; requests about servers (kGrant to kUsers);
// accesses under a lock (kLockedRead, kLockedWrite).
inline constexpr u64 kLz4 = 1, kNames = 2, kClaims = 4, kServers = 8, kLockedAccesses = 16, kAttributes = 32;
inline constexpr i64 kMostContent = 256 * KiB;       // of a file that travels inside a message

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
  kStatus = 28,            // requests about names: they need kNames
  kList = 29,
  kRename = 30,
  kMakeDirectory = 31,
  kRemoveDirectory = 32,
  kExtents = 33,
  kPut = 34,
  kGet = 35,
  kEnd = 36,               // of the server
  kClaim = 37,             // of a file, by who makes a copy in it; needs kClaims
  kGrant = 38,             // requests about servers, for copies between two of them: they need kServers
  kSend = 39,
  kSent = 40,
  kUsers = 41,
  kLockedRead = 42,        // these need kLockedAccesses
  kLockedWrite = 43,
  kOwnStatus = 44,         // more requests about names, for what mounts a root: they need kAttributes
  kReadLink = 45,
  kMakeLink = 46,
  kSetAttributes = 47,
  kSpace = 48,
};
inline bool is_about_attributes(Kind kind) {
  return kind >= Kind::kOwnStatus && kind <= Kind::kSpace;
}
inline bool is_about_names(Kind kind) {
  return (kind >= Kind::kStatus && kind <= Kind::kEnd) || is_about_attributes(kind);
}
inline bool is_about_servers(Kind kind) {
  return kind >= Kind::kGrant && kind <= Kind::kUsers;
}
inline bool is_locked(Kind kind) {
  return kind == Kind::kLockedRead || kind == Kind::kLockedWrite;
}
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

// Remove: `path`. Close, size, sync, unlock, claim, grant, sent: `target`. Set size, preallocate: `target`, `value`. Checksum: `target`, `value`,
// `end`. A lock: all but `path`.
struct PlainRequest {
  u64 target = 0;   // a file's handle; unlock: a lock's; sent: that of what is sent; users: none
  i64 value = 0;    // lock, checksum: where it begins
  i64 end = 0;
  bool exclusive = false;
  std::string path;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.target), io(m.value), io(m.end), io(m.exclusive), io(m.path);
  }
};

// What a name stands for. Symbolic links inside the root are followed, but not the last one of a list.
enum class FileType : std::uint32_t { kFile = 1, kDirectory = 2, kLink = 3, kOther = 4 };
struct FileStatus {
  std::uint32_t type = 0, permissions = 0;
  i64 bytes = 0, allocated = 0, modified_ns = 0;   // since 1970
  u64 device = 0, inode = 0;
  bool operator==(const FileStatus&) const = default;
  FileType kind() const { return static_cast<FileType>(type); }
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.type), io(m.permissions), io(m.bytes), io(m.allocated), io(m.modified_ns), io(m.device), io(m.inode);
  }
};

struct ListEntry {
  std::string name;
  FileStatus status;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.name);
    FileStatus::fields(io, m.status);
  }
};

// A range of a file that is no hole.
struct Extent {
  i64 begin = 0, end = 0;
  bool operator==(const Extent&) const = default;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.begin), io(m.end);
  }
};

// Status, remove directory, get: `path`. List: `path`, and `other`, the name after which it goes on. Make directory: `path`,
// `permissions`. Extents: `path`, and `position`, from where on. Rename: `path` becomes `other`; with a handle only if it is still
// that file, which gets permissions and time before. Own status, read link, space: `path`; a symbolic link is itself. Make link: `path` leads to the
// text `other`. Set attributes: `path`, `permissions` (kPermissionsStay: as they are), `modified_ns`. End: `replace`, also where others use the server. Put: `content` becomes the file `path`, with permissions and time.
inline constexpr std::uint32_t kPermissionsStay = UINT32_MAX;
struct NameRequest {
  std::string path, other;
  u64 handle = 0;
  bool replace = true;               // rename, put: what has that name already
  std::uint32_t permissions = 0;
  i64 modified_ns = -1;              // -1: as it is
  i64 position = 0;
  Buffer content;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.path), io(m.other), io(m.handle), io(m.replace), io(m.permissions), io(m.modified_ns), io(m.position), io(m.content);
  }
};

struct GetReply {
  FileStatus status;
  Buffer content;   // empty if the file is longer than kMostContent
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    FileStatus::fields(io, m.status);
    io(m.content);
  }
};

// Of the file system that a name is on.
struct Space {
  i64 block_bytes = 0, blocks = 0, free = 0, available = 0, files = 0, free_files = 0;   // available: to others than root
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.block_bytes), io(m.blocks), io(m.free), io(m.available), io(m.files), io(m.free_files);
  }
};

// A key that lets one session of another server write to one file, and the name that it has in a handshake.
struct GrantReply {
  std::string identity;
  Buffer key;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.identity), io(m.key);
  }
};

// The file `path` goes into the file `other` of another server, by what that one has granted.
struct SendRequest {
  std::string path, other;
  std::string host, address;         // the other server: what messages call it, and where it listens
  i64 port = 0;
  std::string identity;
  Buffer key;
  i64 streams = 1, parallel = 1;
  bool lz4 = false, resume = false, verify = true;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.path), io(m.other), io(m.host), io(m.address), io(m.port), io(m.identity), io(m.key), io(m.streams), io(m.parallel);
    io(m.lz4), io(m.resume), io(m.verify);
  }
};

enum class SendPhase : std::uint32_t { kUnderWay = 0, kDone = 1, kFailed = 2, kNotReached = 3 };   // not reached: nothing was written there
struct SentReply {
  std::uint32_t phase = 0;
  i64 bytes = 0;                     // of the whole file
  Buffer error;                      // a Reply
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.phase), io(m.bytes), io(m.error);
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

// The same, while [lock_begin, lock_end) of the file is locked; for writing: exclusively.
struct LockedRequest {
  i64 lock_begin = 0, lock_end = 0;
  TransferRequest transfer;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.lock_begin), io(m.lock_end);
    TransferRequest::fields(io, m.transfer);
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

// Messages of one kind up to the end of `bytes`, at least one byte each, or kIo.
template <class Message>
Result<std::vector<Message>> get_messages(ConstBytes bytes) {
  std::vector<Message> messages;
  RemoteDecoder reader(bytes);
  while (!reader.finished()) {
    Message::fields(reader, messages.emplace_back());
    if (reader.failed()) return Error{ErrorClass::kIo, "a message of the remote protocol is damaged"};
  }
  return messages;
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
