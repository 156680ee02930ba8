// The frames and messages of the protocol between client and mercutiod, specified in docs/engineers/remote.md: pure functions on
// bytes. All numbers are little-endian. Received data is not trusted: lengths are checked before memory is allocated, and
// incomplete messages are rejected.
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

// Uninitialised bytes, for frames of file data.
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

inline constexpr std::uint32_t kProtocolVersion = 2;
inline constexpr i64 kHeaderBytes = 32;
inline constexpr i64 kMaxBodyBytes = 4 * MiB;
inline constexpr i64 kMaxDataBytes = 16 * MiB;
inline constexpr i64 kMinBlockBytes = 512;           // a smaller grant is rejected: a transfer would consist of thousands of requests
// Capabilities: LZ4 compression of file data; requests about names (kStatus to kEnd); kClaim; requests about servers (kGrant to
// kUsers); accesses under a lock (kLockedRead, kLockedWrite).
inline constexpr u64 kLz4 = 1, kNames = 2, kClaims = 4, kServers = 8, kLockedAccesses = 16, kAttributes = 32;
inline constexpr i64 kMostContent = 256 * KiB;       // of a file that is part of a message

enum class Kind : std::uint16_t {
  kHello = 1,
  kWelcome = 2,
  kPing = 3,
  kPong = 4,
  kReply = 5,
  kAwaits = 6,   // u64s: an end, then the only requests below it for which the client still waits
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
  kStatus = 28,            // requests about names, which need kNames
  kList = 29,
  kRename = 30,
  kMakeDirectory = 31,
  kRemoveDirectory = 32,
  kExtents = 33,
  kPut = 34,
  kGet = 35,
  kEnd = 36,               // ends the server
  kClaim = 37,             // claims a file as the target of a copy; needs kClaims
  kGrant = 38,             // requests about servers, for copies between two of them; need kServers
  kSend = 39,
  kSent = 40,
  kUsers = 41,
  kLockedRead = 42,        // these need kLockedAccesses
  kLockedWrite = 43,
  kOwnStatus = 44,         // further requests about names, for mounts; need kAttributes
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
// Whether it may wait as long as others hold a lock.
inline bool may_wait_for_lock(Kind kind) {
  return kind == Kind::kLock || is_locked(kind);
}
bool is_request(Kind kind);
const char* kind_name(Kind kind);

enum class Encoding : std::uint16_t { kPlain = 0, kLz4 = 1 };   // of the file data of a frame. LZ4: its decoded length as a u32, then a block

struct FrameHeader {
  Kind kind = Kind::kPing;
  Encoding encoding = Encoding::kPlain;
  u64 id = 0;             // of the request; 0 for frames that are neither requests nor replies
  i64 body_bytes = 0;     // the message
  i64 data_bytes = 0;     // encoded file data after the message
  u64 checksum = 0;       // of the message and the decoded data
  i64 payload_bytes() const { return body_bytes + data_bytes; }
  bool operator==(const FrameHeader&) const = default;
};
void write_header(const FrameHeader& header, std::byte* out);        // kHeaderBytes
Result<FrameHeader> parse_header(ConstBytes bytes);                  // kIo: not a frame of this protocol
u64 checksum_of(ConstBytes bytes, ConstBytes then = {});             // XXH3, 64 bits, seed 0
// Decodes and checks the payload of a header, which then describes the decoded payload. kIo: corrupt, or longer than `most_decoded`
// bytes when decoded, which is checked before memory is allocated.
Status unseal(FrameHeader& header, Buffer& payload, i64 most_decoded);
// Checks a payload that is not encoded, whose data may be in other memory.
Status check(const FrameHeader& header, ConstBytes payload, ConstBytes apart = {});

// Encodes the fields of a message in order. The same function describes encoding and decoding.
class RemoteEncoder {
 public:
  explicit RemoteEncoder(Buffer& out) : out_(out) {}
  void operator()(const bool& v) { out_.push_back(static_cast<std::byte>(v ? 1 : 0)); }
  void operator()(const std::uint32_t& v) { append_number(htole32(v)); }
  void operator()(const u64& v) { append_number(htole64(v)); }
  void operator()(const i64& v) { append_number(htole64(static_cast<u64>(v))); }
  void operator()(const std::string& v) { append_sized(v.data(), v.size()); }
  void operator()(const Buffer& v) { append_sized(v.data(), v.size()); }
  static bool has_more(const bool& more) { return more; }

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

// After the end of the message all fields are zero or empty, and failed() is true.
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
  bool has_more(bool& more) { return more = !failed_ && !rest_.empty(); }
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
  u64 capabilities = 0;                  // requested: kLz4
  u64 session_high = 0, session_low = 0; // drawn at random by the client
  u64 replaces_high = 0, replaces_low = 0;   // the client's previous session, which ends now; 0, 0: none
  bool fresh = true;                     // the client has never been welcomed in this session
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
  u64 capabilities = 0;   // the client's that both use from now on
  i64 block_bytes = 0;    // maximum decoded data of a frame
  i64 credit_bytes = 0;   // maximum data of the requests of one stream without reply, in both directions together
  std::string host;
  bool operator==(const Welcome&) const = default;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.version), io(m.capabilities), io(m.block_bytes), io(m.credit_bytes), io(m.host);
  }
};

inline constexpr std::uint32_t kIdentify = std::uint32_t{1} << 31;   // among the permissions of an open: the reply tells which file it is
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
  bool identified = false;       // the rest is there: the request has kIdentify among its permissions
  u64 device = 0, inode = 0;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.handle), io(m.file_system), io(m.can_lock), io(m.visibility_immediate), io(m.block_bytes);
    io(m.layout.stripe_bytes), io(m.layout.stripe_count), io(m.layout.first_server), io(m.layout.server_mb_per_s);
    if (io.has_more(m.identified)) io(m.device), io(m.inode);
  }
};

// Used fields. Remove: `path`. Close, size, sync, unlock, claim, grant, sent: `target`. Set size, preallocate: `target`, `value`.
// Checksum: `target`, `value`, `end`. Lock: all but `path`.
struct PlainRequest {
  u64 target = 0;   // handle of a file, of a lock (unlock) or of a copy (sent); unused for users
  i64 value = 0;    // lock, checksum: begin of the range; remove: as `position` of a NameRequest
  i64 end = 0;
  bool exclusive = false;
  std::string path;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.target), io(m.value), io(m.end), io(m.exclusive), io(m.path);
  }
};

// Which file of the server it is, whatever its names.
struct FileIdentity {
  u64 device = 0, inode = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

// The object that a name denotes. Symbolic links inside the root are followed, except those that are entries of a list.
enum class FileType : std::uint32_t { kFile = 1, kDirectory = 2, kLink = 3, kOther = 4 };
struct FileStatus {
  std::uint32_t type = 0, permissions = 0;
  i64 bytes = 0, allocated = 0, modified_ns = 0;   // modified_ns: since 1970, negative before
  u64 device = 0, inode = 0;
  bool operator==(const FileStatus&) const = default;
  FileType kind() const { return static_cast<FileType>(type); }
  FileIdentity identity() const { return {device, inode}; }
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

// A range of a file that is not a hole.
struct Extent {
  i64 begin = 0, end = 0;
  bool operator==(const Extent&) const = default;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.begin), io(m.end);
  }
};

// Used fields. Status, remove directory, get: `path`. List: `path`, and `other`, the name after which it continues. Make directory:
// `path`, `permissions`. Extents: `path`, and `position`, where it begins. Rename: `path` becomes `other`; with a handle only if it
// is still that file, whose permissions and time are set first. Own status, read link, space: `path`, without following a symbolic
// link. Make link: `path` gets the target `other`. Set attributes: `path`, `permissions` (kPermissionsStay: unchanged),
// `modified_ns`. End: `replace`, true to end the server although others use it. Put: `content` becomes the file `path`, with
// permissions and time. With kAsWrites among the permissions, put and rename do what a program does that opens the name that they replace
// and writes: the file that it leads to by symbolic links keeps its permissions. A put file that is new gets the given ones, but for those in
// the server's umask. With kExactly among them, a directory gets its set-group-ID and sticky bits as they are given, otherwise it keeps those that it
// has.
inline constexpr std::uint32_t kPermissionsStay = UINT32_MAX, kAsWrites = std::uint32_t{1} << 31, kExactly = std::uint32_t{1} << 30;
inline constexpr i64 kTimeStays = -1;
struct NameRequest {
  std::string path, other;
  u64 handle = 0;
  bool replace = true;               // rename, put: replace an existing file
  std::uint32_t permissions = 0;
  i64 modified_ns = kTimeStays;      // unchanged
  i64 position = 0;                  // extents: begin; list, remove directory: links are followed in that many bytes of the path, 0: in all
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

// The space of a file system.
struct Space {
  i64 block_bytes = 0, blocks = 0, free = 0, available = 0, files = 0, free_files = 0;   // available: to users other than root
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.block_bytes), io(m.blocks), io(m.free), io(m.available), io(m.files), io(m.free_files);
  }
};

// A one-time key for one session of another server, and the key's name in a handshake.
struct GrantReply {
  std::string identity;
  Buffer key;
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.identity), io(m.key);
  }
};

// Copies the file `path` to the file `other` of another server, with that server's grant.
struct SendRequest {
  std::string path, other;
  std::string host, address;         // the other server: its name in messages, and its address
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

enum class SendPhase : std::uint32_t { kUnderWay = 0, kDone = 1, kFailed = 2, kNotReached = 3 };   // kNotReached: nothing was written
struct SentReply {
  std::uint32_t phase = 0;
  i64 bytes = 0;                     // of the whole file
  Buffer error;                      // a Reply
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.phase), io(m.bytes), io(m.error);
  }
};

// The bytes of a read or write: stream bytes [begin, end) of tiled copies of a type tree with origin `displacement`. Tree 0: one
// run from `displacement` on.
struct TransferRequest {
  u64 handle = 0;
  i64 displacement = 0, begin = 0, end = 0;
  u64 tree = 0;                      // checksum_of(definition)
  Buffer definition; // empty if the server has it
  template <class Io, class Self>
  static void fields(Io& io, Self& m) {
    io(m.handle), io(m.displacement), io(m.begin), io(m.end), io(m.tree), io(m.definition);
  }
};

// The same under a lock of [lock_begin, lock_end), exclusive for writing.
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
  i64 value = 0;                    // bytes moved, a size, or the handle of a lock
  Buffer more;      // open: an OpenReply
  std::string error_class, text, host;   // for kFailed; the class by its MPI name
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
// Decodes a message that fills `bytes` exactly. kIo otherwise.
template <class Message>
Result<Message> get_message(ConstBytes bytes) {
  Message message;
  RemoteDecoder reader(bytes);
  Message::fields(reader, message);
  if (!reader.finished()) return Error{ErrorClass::kIo, "a message of the remote protocol is damaged"};
  return message;
}

// Decodes messages of one kind up to the end of `bytes`, each at least one byte long. kIo if malformed.
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
Error error_of(const Reply& reply);   // for outcomes other than kDone

// A frame with `body` and no data.
Buffer frame_of(Kind kind, u64 id, const Buffer& body);
template <class Message>
Buffer frame_with(Kind kind, u64 id, const Message& message) {
  Buffer body;
  put_message(body, message);
  return frame_of(kind, id, body);
}
// Completes the header of the frame that begins at `start` of a buffer, whose body follows at kHeaderBytes, and after
// the body its data, which may be compressed. Its data may also be in other memory, `apart`. True: it must be sent after the buffer,
// else the buffer has it compressed.
struct FrameMade {
  Kind kind = Kind::kPing;
  u64 id = 0;
  i64 body_bytes = 0;
  bool lz4 = false;
};
bool seal(Buffer& buffer, size_t start, const FrameMade& made, ConstBytes apart = {});

}  // namespace mercutio::remote
