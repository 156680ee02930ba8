#include "storage/posix/lustre.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace mercutio::posix {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& bytes, size_t at, T value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// A plain attribute; `servers` are the objects' indices.
Bytes plain(std::uint32_t magic, std::uint32_t stripe_bytes, const std::vector<std::uint32_t>& servers) {
  const size_t header = magic == 0x0BD10BD0 ? 32 : 48;
  Bytes bytes(header + 24 * servers.size());
  put<std::uint32_t>(bytes, 0, magic);
  put<std::uint32_t>(bytes, 4, 1);
  put<std::uint32_t>(bytes, 24, stripe_bytes);
  put<std::uint16_t>(bytes, 28, static_cast<std::uint16_t>(servers.size()));
  for (size_t i = 0; i < servers.size(); ++i) {
    put<std::uint64_t>(bytes, header + 24 * i, 0x65 + i);
    put<std::uint32_t>(bytes, header + 24 * i + 20, servers[i]);
  }
  return bytes;
}

struct Component {
  Bytes plain;
  bool has_objects;
};

Bytes composite(const std::vector<Component>& components) {
  Bytes bytes(32 + 48 * components.size());
  put<std::uint32_t>(bytes, 0, 0x0BD60BD0);
  put<std::uint16_t>(bytes, 14, static_cast<std::uint16_t>(components.size()));
  for (size_t i = 0; i < components.size(); ++i) {
    const size_t entry = 32 + 48 * i;
    put<std::uint32_t>(bytes, entry, static_cast<std::uint32_t>(i + 1));
    put<std::uint32_t>(bytes, entry + 4, components[i].has_objects ? 0x10 : 0);
    put<std::uint32_t>(bytes, entry + 24, static_cast<std::uint32_t>(bytes.size()));
    put<std::uint32_t>(bytes, entry + 28, static_cast<std::uint32_t>(components[i].plain.size()));
    bytes.insert(bytes.end(), components[i].plain.begin(), components[i].plain.end());
  }
  put<std::uint32_t>(bytes, 4, static_cast<std::uint32_t>(bytes.size()));
  return bytes;
}

void expect_layout(const std::optional<Layout>& layout, i64 stripe_bytes, i64 stripe_count, i64 first_server) {
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->stripe_bytes, stripe_bytes);
  EXPECT_EQ(layout->stripe_count, stripe_count);
  EXPECT_EQ(layout->first_server, first_server);
}

// As the client library wrote it: 4 MiB on servers 1, 2 and 3.
TEST(Lustre, RecordedAttribute) {
  const unsigned char recorded[104] = {
      0xd0, 0x0b, 0xd1, 0x0b, 1,    0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      0x40, 0,    3,    0,    0,    0, 0x65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      1,    0,    0,    0,    0x66, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0,
      0,    0,    0x67, 0,    0,    0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0};
  expect_layout(parse_lov(std::as_bytes(std::span(recorded))), 4 * MiB, 3, 1);
}

TEST(Lustre, PlainVersions) {
  expect_layout(parse_lov(plain(0x0BD10BD0, 65536, {7})), 65536, 1, 7);
  expect_layout(parse_lov(plain(0x0BD30BD0, 1 << 20, {4, 5})), MiB, 2, 4);
  expect_layout(parse_lov(plain(0x0BD50BD0, 1 << 20, {9, 2, 3})), MiB, 3, 9);
}

TEST(Lustre, CompositeGivesTheLastComponentWithObjects) {
  const Bytes small = plain(0x0BD10BD0, 1 << 20, {6});
  const Bytes big = plain(0x0BD30BD0, 4 << 20, {1, 2, 3, 4});
  Bytes later = plain(0x0BD10BD0, 8 << 20, {1, 2});
  expect_layout(parse_lov(composite({{small, true}, {big, true}, {later, false}})), 4 * MiB, 4, 1);
  expect_layout(parse_lov(composite({{small, true}, {big, false}})), MiB, 1, 6);
}

TEST(Lustre, WhatIsNotUnderstoodIsNothing) {
  EXPECT_FALSE(parse_lov({}));
  Bytes foreign = plain(0x0BD10BD0, 65536, {7});
  put<std::uint32_t>(foreign, 0, 0x0BD70BD0);
  EXPECT_FALSE(parse_lov(foreign));
  EXPECT_FALSE(parse_lov(plain(0x0BD10BD0, 0, {7})));
  EXPECT_FALSE(parse_lov(plain(0x0BD10BD0, 65536, {})));
  // Whatever is cut off must not be read behind its end; a sanitizer would tell.
  const Bytes whole = composite({{plain(0x0BD30BD0, 1 << 20, {4, 5}), true}});
  for (size_t bytes = 0; bytes < 80 + 48; ++bytes) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_FALSE(parse_lov(cut)) << bytes;
  }
  Bytes wild = whole;
  put<std::uint32_t>(wild, 32 + 24, 0xfffffff0);
  EXPECT_FALSE(parse_lov(wild));
}

TEST(Lustre, MadeAttributeAsksForTheLayout) {
  const Bytes made = make_lov(Layout{2 * MiB, 8, 3});
  ASSERT_EQ(made.size(), 32U);
  std::uint16_t first = 0;
  std::memcpy(&first, made.data() + 30, 2);
  EXPECT_EQ(first, 3);
  expect_layout(parse_lov(made), 2 * MiB, 8, -1);  // no objects yet, so nobody's first
  const Bytes any = make_lov(Layout{2 * MiB, 8, -1});
  std::memcpy(&first, any.data() + 30, 2);
  EXPECT_EQ(first, 0xffff);
}

TEST(Lustre, StripedCreationElsewhereMakesAnOrdinaryFile) {
  const std::string path = ::testing::TempDir() + "striped." + std::to_string(::getpid());
  const auto open = [&](int flags) { return ::open(path.c_str(), flags, 0600); };
  const int fd = create_striped(open, O_RDWR | O_CLOEXEC, Layout{MiB, 2, -1});
  ASSERT_GE(fd, 0);
  EXPECT_EQ(lustre_layout(fd).stripe_bytes, 0);
  EXPECT_EQ(create_striped(open, O_RDWR, Layout{MiB, 2, -1}), -1);
  EXPECT_EQ(errno, EEXIST);
  ::close(fd);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace mercutio::posix
