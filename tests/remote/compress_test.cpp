// Compressed file data: what goes over the wire, and that the files are what they are without.
#include <random>

#include "fixture.h"

namespace mercutio::remote {
namespace {

std::vector<std::byte> noise(i64 bytes) {
  std::mt19937_64 random(7);
  std::vector<std::byte> data(static_cast<size_t>(bytes));
  for (size_t i = 0; i < data.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(data.data() + i, &word, std::min<size_t>(8, data.size() - i));
  }
  return data;
}

// A field as models write it: a mask of one value, and steps in between.
std::vector<std::byte> floats(i64 bytes) {
  std::vector<float> values(static_cast<size_t>(bytes) / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) values[i] = i / 300 % 3 == 0 ? 1e20F : 270.0F + static_cast<float>(i / 40 % 64) * 0.25F;
  std::vector<std::byte> data(static_cast<size_t>(bytes));
  std::memcpy(data.data(), values.data(), values.size() * sizeof(float));
  return data;
}

class RemoteCompression : public RemoteTest {
 protected:
  void SetUp() override {
    RemoteTest::SetUp();
    relay = std::make_unique<Relay>(server->port());
    connection.servers = {{"127.0.0.1", relay->port()}};
    connection.lz4 = true;
  }
  void TearDown() override {
    relay.reset();
    RemoteTest::TearDown();
  }
  struct Wire {
    i64 written = 0, read = 0;   // bytes, of everything that passed
  };
  // Writes and reads back one run and one list, each a copy of `data`.
  Wire moves(const std::vector<std::byte>& data, const OpenOptions& options) {
    auto out = data;
    const i64 bytes = static_cast<i64>(data.size());
    auto file = std::move(*open_remote(session(), "data/moved", options));
    Wire wire{relay->bytes(0), 0};
    EXPECT_EQ(write(*file, 0, out).value(), bytes);
    std::vector<IoPiece> list;
    for (i64 at = 0; at < bytes; at += 1000) list.push_back({bytes + 2 * at, out.data() + at, std::min<i64>(1000, bytes - at)});
    EXPECT_EQ(file->write(list).value(), bytes);
    EXPECT_TRUE(file->sync().ok());
    wire.written = relay->bytes(0) - wire.written;
    wire.read = relay->bytes(1);
    std::vector<std::byte> in(data.size());
    const IoPiece run{0, in.data(), bytes};
    EXPECT_EQ(file->read(std::span(&run, 1)).value(), bytes);
    EXPECT_EQ(in, data);
    std::fill(in.begin(), in.end(), std::byte{0});
    for (IoPiece& piece : list) piece.data = in.data() + (piece.data - out.data());
    EXPECT_EQ(file->read(list).value(), bytes);
    EXPECT_EQ(in, data);
    wire.read = relay->bytes(1) - wire.read;
    EXPECT_TRUE(file->close().ok());
    const std::string there = content("moved");
    EXPECT_TRUE(same(there.substr(0, data.size()), data));
    return wire;
  }
  std::unique_ptr<Relay> relay;
};

TEST_F(RemoteCompression, WhatShrinksIsShorterBothWays) {
  const auto data = floats(5 * MiB + 12);
  for (const OpenOptions& options : {writing(), keeping()}) {
    const Wire wire = moves(data, options);
    EXPECT_LT(wire.written, 2 * 5 * MiB / 3);
    EXPECT_LT(wire.read, 2 * 5 * MiB / 3);
  }
}

TEST_F(RemoteCompression, WhatDoesNotShrinkCostsNothingMore) {
  const auto data = noise(5 * MiB + 12);
  const Wire squeezed = moves(data, writing());
  connection.lz4 = false;
  const Wire plain = moves(data, writing());
  EXPECT_LT(squeezed.written, plain.written + plain.written / 50);
  EXPECT_LT(squeezed.read, plain.read + plain.read / 50);
}

TEST_F(RemoteCompression, NotUnlessItIsAskedFor) {
  connection.lz4 = false;
  const Wire wire = moves(floats(1 * MiB), writing());
  EXPECT_GT(wire.written, 2 * MiB);
  EXPECT_GT(wire.read, 2 * MiB);
}

TEST_F(RemoteCompression, AllArrivesThroughALinkThatBreaks) {
  connection.silence_ms = 5'000;
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/broken", keeping()));
  ASSERT_TRUE(file->sync().ok());   // a client that was welcomed once takes a damaged handshake for what it is
  auto out = floats(12 * MiB);
  const auto random = noise(12 * MiB);
  for (i64 block = 0; block < 12; block += 2) std::copy_n(random.begin() + block * MiB, MiB, out.begin() + block * MiB);
  for (i64 block = 0; block < 12; ++block) {
    if (block % 3 == 0) relay->cut();
    if (block % 4 == 1) relay->damage();
    const IoPiece piece{block * MiB, out.data() + block * MiB, MiB};
    const auto written = file->write(std::span(&piece, 1));
    ASSERT_TRUE(written.ok()) << written.error().what;
  }
  const Status synced = file->sync();
  ASSERT_TRUE(synced.ok()) << synced.error().what;
  EXPECT_TRUE(same(content("broken"), out));
  std::vector<std::byte> in(out.size());
  relay->cut();
  const IoPiece all{0, in.data(), 12 * MiB};
  EXPECT_EQ(file->read(std::span(&all, 1)).value(), 12 * MiB);
  EXPECT_EQ(in, out);
  EXPECT_GT(at->counts().reconnects, 0);
}

}  // namespace
}  // namespace mercutio::remote
