#include "remote/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace mercutio::remote {
namespace {

Buffer regular(size_t bytes) {
  Buffer data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i / 64 % 7);
  return data;
}

Buffer noise(size_t bytes) {
  std::mt19937 random(1);
  Buffer data(bytes);
  for (std::byte& one : data) one = static_cast<std::byte>(random());
  return data;
}

// A frame as it is sent.
Buffer frame_with_data(const Buffer& data, bool lz4) {
  Buffer frame(kHeaderBytes);
  put_message(frame, Reply{});
  FrameMade made{Kind::kReply, 7, static_cast<i64>(frame.size()) - kHeaderBytes};
  made.lz4 = lz4;
  frame.insert(frame.end(), data.begin(), data.end());
  seal(frame, 0, made);
  return frame;
}

struct Opened {
  FrameHeader header;
  Buffer payload;
  Status status = ok_status();
};
Opened open_frame(const Buffer& frame, i64 most_decoded) {
  Opened opened;
  opened.header = *parse_header(frame);
  opened.payload.assign(frame.begin() + kHeaderBytes, frame.end());
  opened.status = unseal(opened.header, opened.payload, most_decoded);
  return opened;
}

bool holds(const Opened& opened, const Buffer& data) {
  return opened.header.encoding == Encoding::kPlain && opened.header.data_bytes == static_cast<i64>(data.size()) &&
         std::equal(data.begin(), data.end(), opened.payload.begin() + static_cast<std::ptrdiff_t>(opened.header.body_bytes));
}

TEST(Frames, CompressibleDataIsSentCompressedAndDecoded) {
  for (const size_t bytes : {512UL, 5'000UL, 100'000UL, 1'048'576UL}) {
    const Buffer data = regular(bytes), frame = frame_with_data(data, true);
    EXPECT_LT(frame.size(), bytes / 2) << bytes;
    EXPECT_EQ(parse_header(frame)->encoding, Encoding::kLz4);
    const Opened opened = open_frame(frame, static_cast<i64>(bytes));
    ASSERT_TRUE(opened.status.ok()) << opened.status.error().what;
    EXPECT_TRUE(holds(opened, data)) << bytes;
    EXPECT_TRUE(get_message<Reply>(ConstBytes(opened.payload).first(static_cast<size_t>(opened.header.body_bytes))).ok());
  }
}

TEST(Frames, IncompressibleDataIsSentUnchanged) {
  for (const Buffer& data : {noise(100'000), regular(100), Buffer()}) {
    const Buffer frame = frame_with_data(data, true);
    EXPECT_EQ(frame, frame_with_data(data, false));
    const Opened opened = open_frame(frame, 0);
    EXPECT_TRUE(opened.status.ok() && holds(opened, data)) << "nothing is decoded";
  }
}

TEST(Frames, OneBufferHoldsSeveral) {
  Buffer out = frame_of(Kind::kPing, 0, {});
  const size_t start = out.size();
  const Buffer data = regular(3'000), alone = frame_with_data(data, true);
  out.resize(start + kHeaderBytes);
  put_message(out, Reply{});
  const FrameMade made{Kind::kReply, 7, static_cast<i64>(out.size() - start) - kHeaderBytes, true};
  out.insert(out.end(), data.begin(), data.end());
  seal(out, start, made);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), out.begin() + static_cast<std::ptrdiff_t>(start), out.end()));
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + kHeaderBytes, frame_of(Kind::kPing, 0, {}).begin()));
}

TEST(Frames, DataElsewhereMakesTheSameFrame) {
  for (const bool lz4 : {false, true}) {
    for (const Buffer& data : {regular(100'000), noise(100'000), regular(10)}) {
      Buffer frame(kHeaderBytes);
      put_message(frame, Reply{});
      const FrameMade made{Kind::kReply, 7, static_cast<i64>(frame.size()) - kHeaderBytes, lz4};
      const bool follows = seal(frame, 0, made, data);
      if (follows) frame.insert(frame.end(), data.begin(), data.end());
      EXPECT_EQ(frame, frame_with_data(data, lz4));
      EXPECT_EQ(follows, parse_header(frame)->encoding == Encoding::kPlain);
      if (!follows) continue;
      const FrameHeader header = *parse_header(frame);
      const ConstBytes message = ConstBytes(frame).subspan(kHeaderBytes, static_cast<size_t>(header.body_bytes));
      EXPECT_TRUE(check(header, message, data).ok());
      Buffer damaged = data;
      damaged.back() ^= std::byte{1};
      EXPECT_FALSE(check(header, message, damaged).ok());
    }
  }
}

// The block states a wrong decoded length.
TEST(Frames, RejectsWrongDecodedLengths) {
  const Buffer data = regular(10'000), frame = frame_with_data(data, true);
  const size_t length_at = static_cast<size_t>(kHeaderBytes + parse_header(frame)->body_bytes);
  EXPECT_TRUE(open_frame(frame, 10'000).status.ok());
  EXPECT_FALSE(open_frame(frame, 9'999).status.ok()) << "more than was granted";
  EXPECT_FALSE(open_frame(frame, 0).status.ok()) << "nothing encoded was agreed on";
  for (const std::uint32_t claim : {0U, 1U, 9'999U, 10'001U, 16U << 20, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    Buffer lying = frame;
    std::memcpy(lying.data() + length_at, &claim, sizeof claim);
    const Opened opened = open_frame(lying, 1 << 20);
    EXPECT_FALSE(opened.status.ok()) << claim;
    EXPECT_LE(opened.payload.size(), 20'000U) << "no memory for what is refused";
  }
}

TEST(Frames, DetectsCorruption) {
  const Buffer data = regular(2'000), frame = frame_with_data(data, true);
  for (size_t at = 0; at < frame.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      Buffer damaged = frame;
      damaged[at] ^= static_cast<std::byte>(1 << bit);
      if (at < static_cast<size_t>(kHeaderBytes)) {
        EXPECT_FALSE(parse_header(damaged).ok()) << at;
        continue;
      }
      const Opened opened = open_frame(damaged, 1 << 20);   // a different block may decode to the same data
      EXPECT_TRUE(!opened.status.ok() || holds(opened, data)) << at;
    }
  }
  for (size_t bytes = static_cast<size_t>(kHeaderBytes); bytes < frame.size(); ++bytes) {
    Opened cut;
    cut.header = *parse_header(frame);
    cut.payload.assign(frame.begin() + kHeaderBytes, frame.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_FALSE(unseal(cut.header, cut.payload, 1 << 20).ok()) << bytes;
    cut.header.data_bytes = static_cast<i64>(cut.payload.size()) - cut.header.body_bytes;
    if (cut.header.data_bytes < 0) continue;
    EXPECT_FALSE(unseal(cut.header, cut.payload, 1 << 20).ok()) << bytes;
  }
}

TEST(Frames, RejectsUnknownEncodings) {
  Buffer frame(kHeaderBytes);
  FrameHeader header;
  header.encoding = static_cast<Encoding>(2);
  write_header(header, frame.data());
  EXPECT_FALSE(parse_header(frame).ok());
}

}  // namespace
}  // namespace mercutio::remote
