#include "remote/wire.h"

#include <lz4.h>

#include <algorithm>
#include <cerrno>

#include "remote/printable.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mercutio::remote {
namespace {

// Offsets of the fields of a header.
constexpr size_t kBodyAt = 0, kDataAt = 4, kKindAt = 8, kEncodingAt = 10, kCheckAt = 12, kIdAt = 16, kChecksumAt = 24;

constexpr size_t kMostName = 255;
constexpr i64 kMostErrno = 4095;   // Linux's own limit

struct KindName {
  Kind kind;
  const char* name;
};
constexpr KindName kKinds[] = {
    {Kind::kHello, "hello"},     {Kind::kWelcome, "welcome"},         {Kind::kPing, "ping"},
    {Kind::kPong, "pong"},       {Kind::kReply, "reply"}, {Kind::kAwaits, "awaits"},
    {Kind::kOpen, "open"},       {Kind::kClose, "close"},             {Kind::kRemove, "delete"},
    {Kind::kSize, "get size"},   {Kind::kSetSize, "set size"},        {Kind::kPreallocate, "preallocate"},
    {Kind::kSync, "sync"},       {Kind::kRead, "read"},               {Kind::kWrite, "write"},
    {Kind::kLock, "lock"},       {Kind::kUnlock, "unlock"},
    {Kind::kChecksum, "checksum"},
    {Kind::kStatus, "get status"},           {Kind::kList, "list"},
    {Kind::kRename, "rename"},               {Kind::kMakeDirectory, "make directory"},
    {Kind::kRemoveDirectory, "remove directory"}, {Kind::kExtents, "get extents"},
    {Kind::kPut, "put"},                     {Kind::kGet, "get"},
    {Kind::kEnd, "end"},
    {Kind::kClaim, "claim"},
    {Kind::kGrant, "grant"},                 {Kind::kSend, "send"},
    {Kind::kSent, "get what was sent"},      {Kind::kUsers, "count users"},
    {Kind::kLockedRead, "read under a lock"}, {Kind::kLockedWrite, "write under a lock"},
    {Kind::kOwnStatus, "get own status"},    {Kind::kReadLink, "read link"},
    {Kind::kMakeLink, "make link"},          {Kind::kSetAttributes, "set attributes"},
    {Kind::kSpace, "get space"},
};

template <class T>
void store(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof value);
}
template <class T>
T load(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

std::uint32_t header_check(const std::byte* header) {
  std::byte copy[kHeaderBytes];
  std::memcpy(copy, header, sizeof copy);
  store(copy + kCheckAt, std::uint32_t{0});
  return static_cast<std::uint32_t>(XXH3_64bits(copy, sizeof copy));
}

Error not_a_frame(const char* why) {
  return Error{ErrorClass::kIo, std::string("the other end does not speak this protocol: ") + why};
}

Error damaged_frame() {
  return Error{ErrorClass::kIo, "a frame arrived damaged", EBADMSG};
}

constexpr size_t kLengthBytes = 4;           // before a block
constexpr size_t kSmallestCompressed = 512;    // smaller data is not compressed
constexpr size_t kLeastGain = 16;            // data is sent uncompressed if it shrinks by less than this part, because decoding costs time, too

// Replaces the data, in the buffer from `data_at` on or `apart`, by a compressed block. False: nothing has changed.
bool compress(Buffer& buffer, size_t data_at, ConstBytes apart) {
  const size_t end = buffer.size(), bytes = apart.empty() ? end - data_at : apart.size();
  if (bytes < kSmallestCompressed) return false;
  const size_t most = bytes - bytes / kLeastGain - kLengthBytes;
  buffer.resize(end + kLengthBytes + most);
  const std::byte* const data = apart.empty() ? buffer.data() + data_at : apart.data();
  std::byte* const block = buffer.data() + end + kLengthBytes;
  const int squeezed = LZ4_compress_default(reinterpret_cast<const char*>(data), reinterpret_cast<char*>(block), static_cast<int>(bytes),
                                            static_cast<int>(most));
  if (squeezed <= 0) return buffer.resize(end), false;
  store(buffer.data() + end, htole32(static_cast<std::uint32_t>(bytes)));
  buffer.erase(buffer.begin() + static_cast<std::ptrdiff_t>(data_at), buffer.begin() + static_cast<std::ptrdiff_t>(end));
  buffer.resize(data_at + kLengthBytes + static_cast<size_t>(squeezed));
  return true;
}

Status decode(FrameHeader& header, Buffer& payload, i64 most_decoded) {
  const size_t body = static_cast<size_t>(header.body_bytes);
  const ConstBytes data = ConstBytes(payload).subspan(body);
  if (data.size() < kLengthBytes) return damaged_frame();
  const i64 bytes = le32toh(load<std::uint32_t>(data.data()));
  if (bytes > most_decoded)
    return Error{ErrorClass::kIo, "a frame's data would be longer than was granted when it is decoded", EPROTO};
  Buffer plain(body + static_cast<size_t>(bytes));
  std::copy_n(payload.begin(), body, plain.begin());
  const ConstBytes block = data.subspan(kLengthBytes);
  const int decoded = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()), reinterpret_cast<char*>(plain.data() + body),
                                          static_cast<int>(block.size()), static_cast<int>(bytes));
  if (decoded != bytes) return damaged_frame();
  payload.swap(plain);
  header.data_bytes = bytes;
  header.encoding = Encoding::kPlain;
  return ok_status();
}

}  // namespace

const char* kind_name(Kind kind) {
  for (const KindName& known : kKinds)
    if (known.kind == kind) return known.name;
  return "unknown";
}

bool is_request(Kind kind) {
  return kind >= Kind::kOpen && kind <= Kind::kSpace;
}

u64 checksum_of(ConstBytes bytes, ConstBytes then) {
  if (then.empty()) return XXH3_64bits(bytes.data(), bytes.size());
  XXH3_state_t state;
  (void)XXH3_64bits_reset(&state);
  (void)XXH3_64bits_update(&state, bytes.data(), bytes.size());
  (void)XXH3_64bits_update(&state, then.data(), then.size());
  return XXH3_64bits_digest(&state);
}

void write_header(const FrameHeader& header, std::byte* out) {
  store(out + kBodyAt, htole32(static_cast<std::uint32_t>(header.body_bytes)));
  store(out + kDataAt, htole32(static_cast<std::uint32_t>(header.data_bytes)));
  store(out + kKindAt, htole16(static_cast<std::uint16_t>(header.kind)));
  store(out + kEncodingAt, htole16(static_cast<std::uint16_t>(header.encoding)));
  store(out + kIdAt, htole64(header.id));
  store(out + kChecksumAt, htole64(header.checksum));
  store(out + kCheckAt, htole32(header_check(out)));
}

Result<FrameHeader> parse_header(ConstBytes bytes) {
  if (bytes.size() < static_cast<size_t>(kHeaderBytes)) return not_a_frame("a header was cut short");
  const std::byte* in = bytes.data();
  if (le32toh(load<std::uint32_t>(in + kCheckAt)) != header_check(in)) return not_a_frame("a header is damaged");
  const std::uint16_t encoding = le16toh(load<std::uint16_t>(in + kEncodingAt));
  if (encoding > static_cast<std::uint16_t>(Encoding::kLz4)) return not_a_frame("an unknown encoding");
  FrameHeader header;
  header.encoding = static_cast<Encoding>(encoding);
  header.kind = static_cast<Kind>(le16toh(load<std::uint16_t>(in + kKindAt)));
  header.body_bytes = le32toh(load<std::uint32_t>(in + kBodyAt));
  header.data_bytes = le32toh(load<std::uint32_t>(in + kDataAt));
  header.id = le64toh(load<u64>(in + kIdAt));
  header.checksum = le64toh(load<u64>(in + kChecksumAt));
  if (std::strcmp(kind_name(header.kind), "unknown") == 0) return not_a_frame("an unknown kind of frame");
  if (header.body_bytes > kMaxBodyBytes || header.data_bytes > kMaxDataBytes) return not_a_frame("a frame is too long");
  return header;
}

Status unseal(FrameHeader& header, Buffer& payload, i64 most_decoded) {
  if (static_cast<i64>(payload.size()) != header.payload_bytes()) return damaged_frame();
  if (header.encoding == Encoding::kLz4) MERCUTIO_TRY(decode(header, payload, most_decoded));
  return check(header, payload);
}

Status check(const FrameHeader& header, ConstBytes payload, ConstBytes apart) {
  return checksum_of(payload, apart) == header.checksum ? ok_status() : Status(damaged_frame());
}

bool seal(Buffer& buffer, size_t start, const FrameMade& made, ConstBytes apart) {
  const ConstBytes here = ConstBytes(buffer).subspan(start + kHeaderBytes);
  FrameHeader header;
  header.kind = made.kind;
  header.id = made.id;
  header.body_bytes = made.body_bytes;
  header.checksum = checksum_of(here, apart);
  const size_t data_at = start + static_cast<size_t>(kHeaderBytes + made.body_bytes);
  const bool squeezed = made.lz4 && compress(buffer, data_at, apart), follows = !squeezed && !apart.empty();
  header.encoding = squeezed ? Encoding::kLz4 : Encoding::kPlain;
  header.data_bytes = static_cast<i64>(buffer.size() - data_at + (follows ? apart.size() : 0));
  write_header(header, buffer.data() + start);
  return follows;
}

Buffer frame_of(Kind kind, u64 id, const Buffer& body) {
  Buffer frame(kHeaderBytes);
  frame.insert(frame.end(), body.begin(), body.end());
  seal(frame, 0, {kind, id, static_cast<i64>(body.size())});
  return frame;
}

Reply reply_of(const Error& error, const std::string& host) {
  Reply reply;
  reply.outcome = static_cast<std::uint32_t>(Outcome::kFailed);
  reply.error_class = error_class_name(error.cls);
  reply.text = error.what;
  reply.host = host;
  reply.sys_errno = error.sys_errno;
  reply.offset = error.offset;
  reply.bytes = error.bytes;
  return reply;
}

Error error_of(const Reply& reply) {
  Error error;
  for (int cls = 1; cls <= static_cast<int>(ErrorClass::kOther); ++cls)
    if (reply.error_class == error_class_name(static_cast<ErrorClass>(cls))) error.cls = static_cast<ErrorClass>(cls);
  error.what = printable(reply.text) + " (on " + printable(reply.host, kMostName) + ")";
  error.sys_errno = static_cast<int>(std::clamp<i64>(reply.sys_errno, 0, kMostErrno));
  error.offset = reply.offset;
  error.bytes = reply.bytes;
  return error;
}

}  // namespace mercutio::remote
