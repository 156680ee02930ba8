// The frames between a client and mercutiod (src/remote/wire.h). Arbitrary bytes: a header or a message is refused or whole,
// and costs no more memory than there are bytes. What is written is read back; a changed byte or a missing end is noticed.
#include "remote/printable.h"
#include "remote/wire.h"

#include "fuzz.h"

namespace mercutio::fuzz {
namespace {

using namespace remote;

constexpr Kind kKinds[] = {Kind::kHello, Kind::kWelcome, Kind::kPing,        Kind::kPong, Kind::kReply, Kind::kOpen,
                           Kind::kClose, Kind::kRemove,  Kind::kSize,        Kind::kSetSize, Kind::kPreallocate,
                           Kind::kSync,  Kind::kRead,    Kind::kWrite,       Kind::kLock,    Kind::kUnlock};

constexpr i64 kMostDecoded = 64 * KiB;

template <class Message>
void check_message(ConstBytes bytes) {
  const auto message = get_message<Message>(bytes);
  if (!message) return;
  Buffer again;
  put_message(again, *message);
  FUZZ_CHECK(again.size() == bytes.size() && std::equal(again.begin(), again.end(), bytes.begin()), "other bytes are written than were read");
}

void check_any_bytes(ConstBytes bytes) {
  start_measuring_memory();
  const auto header = parse_header(bytes);
  if (header) {
    FUZZ_CHECK(header->body_bytes <= kMaxBodyBytes && header->data_bytes <= kMaxDataBytes, "a frame without limits");
    const ConstBytes rest = bytes.subspan(static_cast<size_t>(kHeaderBytes));
    FrameHeader opened = *header;
    Buffer payload(rest.begin(), rest.end());
    const bool whole = unseal(opened, payload, kMostDecoded).ok();
    FUZZ_CHECK(!whole || static_cast<i64>(payload.size()) == opened.payload_bytes(), "another length");
    FUZZ_CHECK(!whole || header->encoding == Encoding::kPlain || opened.data_bytes <= kMostDecoded, "more than was granted");
  }
  check_message<Hello>(bytes);
  check_message<Welcome>(bytes);
  check_message<OpenRequest>(bytes);
  check_message<OpenReply>(bytes);
  check_message<PlainRequest>(bytes);
  check_message<TransferRequest>(bytes);
  check_message<Reply>(bytes);
  check_message<NameRequest>(bytes);
  check_message<GrantReply>(bytes);
  check_message<SendRequest>(bytes);
  check_message<SentReply>(bytes);
  const auto size = static_cast<i64>(bytes.size());
  FUZZ_CHECK(most_memory_used() <= kMostDecoded + 16 * KiB + 16 * size, std::to_string(most_memory_used()) + " bytes of memory for " + std::to_string(size));
}

// A server's error comes back as what it was, wherever it came from, but for characters that a terminal acts on.
void check_error(Taker& taker) {
  Error error{static_cast<ErrorClass>(taker.pick(1, static_cast<i64>(ErrorClass::kOther))), taker.text(60),
              static_cast<int>(taker.pick(0, 200)), taker.number(), taker.number()};
  Buffer bytes;
  put_message(bytes, reply_of(error, "far"));
  const auto reply = get_message<Reply>(bytes);
  FUZZ_CHECK(reply.ok(), "a reply is not read back");
  const Error back = error_of(*reply);
  FUZZ_CHECK(back.cls == error.cls && back.sys_errno == error.sys_errno && back.offset == error.offset, "another error came back");
  FUZZ_CHECK(back.what == printable(error.what) + " (on far)", back.what);
}

// Whether what follows a header is taken; `data`, whether it is what it was.
bool opens(FrameHeader header, const Buffer& frame, i64 most_decoded, const Buffer* data = nullptr) {
  Buffer payload(frame.begin() + kHeaderBytes, frame.end());
  if (!unseal(header, payload, most_decoded)) return false;
  return !data || (header.body_bytes == 0 && payload == *data);
}

void check_frame(Taker& taker) {
  TransferRequest request;
  request.handle = static_cast<u64>(taker.word());
  request.displacement = taker.number();
  request.tree = static_cast<u64>(taker.word());
  const std::string definition = taker.text(200);
  for (const char c : definition) request.definition.push_back(static_cast<std::byte>(c));
  const Kind kind = kKinds[static_cast<size_t>(taker.pick(0, std::size(kKinds) - 1))];
  const u64 id = static_cast<u64>(taker.word());
  Buffer frame = frame_with(kind, id, request);
  auto header = parse_header(frame);
  FUZZ_CHECK(header && header->kind == kind && header->id == id, "another header came back");
  FUZZ_CHECK(opens(*header, frame, 0), "a whole frame is refused");
  const size_t at = static_cast<size_t>(taker.pick(0, static_cast<i64>(frame.size()) - 1));
  frame[at] ^= static_cast<std::byte>(1 + taker.pick(0, 254));
  const auto damaged = parse_header(frame);
  FUZZ_CHECK(!damaged || !opens(*damaged, frame, 0), "damage goes unnoticed");
}

// A block made of these bytes, and these bytes as one: nothing but what was sealed comes out, and no more than was granted.
void check_block(Taker& taker) {
  const std::string pattern = taker.text(200);
  const i64 bytes = taker.pick(0, 20'000), at = taker.word(), flip = taker.pick(1, 255);
  Buffer data(static_cast<size_t>(pattern.empty() ? 0 : bytes)), frame(kHeaderBytes);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(pattern[i % pattern.size()] + static_cast<int>(i / 5000));
  frame.insert(frame.end(), data.begin(), data.end());
  seal(frame, 0, {Kind::kWrite, 1, 0, true});
  FUZZ_CHECK(frame.size() <= data.size() + static_cast<size_t>(kHeaderBytes), "it grew");
  const FrameHeader header = *parse_header(frame);
  FUZZ_CHECK(opens(header, frame, bytes, &data), "what was sealed doesn't come back");
  FUZZ_CHECK(header.encoding == Encoding::kPlain || !opens(header, frame, static_cast<i64>(data.size()) - 1), "more than was granted");
  if (frame.size() > static_cast<size_t>(kHeaderBytes)) {
    const size_t place = static_cast<size_t>(kHeaderBytes) + static_cast<u64>(at) % (frame.size() - static_cast<size_t>(kHeaderBytes));
    frame[place] ^= static_cast<std::byte>(flip);   // another block may mean the same
    FUZZ_CHECK(!opens(header, frame, kMostDecoded) || opens(header, frame, kMostDecoded, &data), "damage goes unnoticed");
  }
  FrameHeader any;
  any.encoding = Encoding::kLz4;
  any.data_bytes = static_cast<i64>(taker.rest().size());
  Buffer block(taker.rest().begin(), taker.rest().end());
  start_measuring_memory();
  (void)unseal(any, block, kMostDecoded);
  FUZZ_CHECK(most_memory_used() <= kMostDecoded + KiB, std::to_string(most_memory_used()) + " bytes of memory for a block");
}

}  // namespace

Input example(Random& random) {
  TransferRequest request;
  request.handle = static_cast<u64>(pick(random, 0, 9));
  request.end = pick(random, 0, 1 << 20);
  request.definition.assign(static_cast<size_t>(pick(random, 0, 30)), std::byte{3});
  const Buffer frame = frame_with(kKinds[static_cast<size_t>(pick(random, 0, std::size(kKinds) - 1))], 7, request);
  Input out{static_cast<std::byte>(pick(random, 0, 4))};
  const bool header = pick(random, 0, 1) == 1;
  for (size_t i = header ? 0 : static_cast<size_t>(kHeaderBytes); i < frame.size(); ++i) out.push_back(frame[i]);
  return out;
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio::fuzz;
  Taker taker(std::as_bytes(std::span(data, size)));
  switch (taker.byte() % 5) {
    case 0:
      check_error(taker);
      break;
    case 1:
      check_frame(taker);
      break;
    case 4:
      check_block(taker);
      break;
    default:
      check_any_bytes(taker.rest());
  }
  return 0;
}
