#include "storage/posix/lustre.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>

namespace mercutio::posix {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& bytes, size_t at, T value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  for (size_t i = 0; i < sizeof value; ++i) bytes[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i);   // little endian everywhere
}

std::uint16_t first_server_in(const Bytes& attribute) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(attribute[30]) | static_cast<unsigned>(attribute[31]) << 8);
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
    put<std::uint64_t>(bytes, entry + 8, i << 30);
    put<std::uint64_t>(bytes, entry + 16, i + 1 == components.size() ? ~std::uint64_t{0} : (i + 1) << 30);
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

Bytes bytes_of_hex(const std::string& hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

struct ExpectedRange {
  i64 begin, end, stripe_bytes, stripe_count;
  std::vector<i64> servers;
};

struct Recorded {
  const char* name;
  i64 mirror;
  const char* attribute;
  std::vector<ExpectedRange> ranges;
};

const Recorded kRecorded[] = {
#define RECORDED_LAYOUT(name, mirror, attribute, ...) {#name, mirror, attribute, __VA_ARGS__},
#include "storage/posix/lustre_layouts_test.def"
#undef RECORDED_LAYOUT
};

TEST(Lustre, RecordedLayoutsHaveTheirStripes) {
  EXPECT_GE(std::size(kRecorded), 12U);
  for (const Recorded& recorded : kRecorded) {
    SCOPED_TRACE(recorded.name);
    const auto layout = parse_lov(bytes_of_hex(recorded.attribute));
    ASSERT_TRUE(layout.has_value());
    EXPECT_EQ(layout->mirror, recorded.mirror);
    const auto ranges = stripes_of(*layout, 0, kEndOfFile);
    ASSERT_EQ(ranges.size(), recorded.ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      const ExpectedRange& expected = recorded.ranges[i];
      EXPECT_EQ(ranges[i], (StripeRange{expected.begin, expected.end, expected.stripe_bytes, expected.stripe_count})) << i;
      // The server of a byte, by Lustre's rule: stripes are numbered from the start of the file.
      for (i64 stripe = 0; stripe < 20; ++stripe) {
        const i64 offset = expected.begin + stripe * expected.stripe_bytes + stripe % 7;
        if (offset >= expected.end) break;
        const auto number = static_cast<size_t>(offset / expected.stripe_bytes % expected.stripe_count);
        const LayoutComponent* const component = layout->component_at(offset);
        ASSERT_NE(component, nullptr);
        if (!component->extension) { EXPECT_EQ(layout->server_at(offset), expected.servers.empty() ? -1 : expected.servers[number]) << offset; }
      }
    }
  }
}

const Recorded& recorded(const std::string& name) {
  return *std::find_if(std::begin(kRecorded), std::end(kRecorded), [&](const Recorded& r) { return r.name == name; });
}

TEST(Lustre, LayoutsThatMayChangeAreKnown) {
  for (const char* name : {"plain", "pool", "overstriped", "server_list", "progressive_full"}) EXPECT_FALSE(parse_lov(bytes_of_hex(recorded(name).attribute))->may_change()) << name;
  for (const char* name : {"progressive_new", "progressive_grown", "self_extending", "mirror_preferred", "released"})
    EXPECT_TRUE(parse_lov(bytes_of_hex(recorded(name).attribute))->may_change()) << name;
}

TEST(Lustre, DetailsOfComponents) {
  const Layout progressive = *parse_lov(bytes_of_hex(recorded("progressive_grown").attribute));
  ASSERT_EQ(progressive.components.size(), 4U);
  EXPECT_TRUE(progressive.components[0].on_metadata_server);
  EXPECT_EQ(progressive.components[2].pool, "performance");
  EXPECT_EQ(progressive.components[3].pool, "capacity");
  EXPECT_FALSE(progressive.components[3].instantiated);
  EXPECT_EQ(progressive.stripe_count, 4);   // of the whole: the last one with objects
  EXPECT_EQ(progressive.first_server, 12);
  const Layout mirrored = *parse_lov(bytes_of_hex(recorded("mirror_stale").attribute));
  ASSERT_EQ(mirrored.components.size(), 2U);
  EXPECT_TRUE(mirrored.components[0].stale);
}

// Whatever is cut off or changed must not be read behind its end; a sanitizer would tell.
TEST(Lustre, DamagedAttributesAreRefusedOrHold) {
  for (const Recorded& recorded : kRecorded) {
    const Bytes whole = bytes_of_hex(recorded.attribute);
    for (size_t length = 0; length < whole.size(); ++length) {
      const auto layout = parse_lov(ConstBytes(whole).first(length));
      if (layout && recorded.ranges.size() > 1) ADD_FAILURE() << recorded.name << " cut at " << length;
    }
    for (size_t at = 0; at < whole.size(); ++at) {
      Bytes changed = whole;
      changed[at] = std::byte{0xff};
      if (const auto layout = parse_lov(changed)) (void)stripes_of(*layout, 0, kEndOfFile);
    }
  }
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
  EXPECT_EQ(first_server_in(made), 3);
  expect_layout(parse_lov(made), 2 * MiB, 8, -1);  // no objects yet, so nobody's first
  EXPECT_EQ(first_server_in(make_lov(Layout{2 * MiB, 8, -1})), 0xffff);
}

LayoutComponent wanted(i64 begin, i64 end, i64 stripe_bytes, i64 stripe_count) {
  LayoutComponent component;
  component.begin = begin, component.end = end, component.stripe_bytes = stripe_bytes, component.stripe_count = stripe_count;
  return component;
}

TEST(Lustre, MadeAttributesOfComponentsPoolsAndLists) {
  Layout progressive;
  progressive.components = {wanted(0, MiB, MiB, 1), wanted(MiB, kEndOfFile, 4 * MiB, 12)};
  progressive.components[1].overstriped = true;
  progressive.components[1].pool = "flash";
  const Bytes made = make_lov(progressive);
  EXPECT_EQ(made.size(), 32U + 2 * 48 + 32 + 48);
  const auto read = parse_lov(made);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(stripes_of(*read, 0, kEndOfFile), stripes_of(progressive, 0, kEndOfFile));
  EXPECT_TRUE(read->components[1].overstriped);
  EXPECT_EQ(read->components[1].pool, "flash");
  EXPECT_FALSE(read->components[1].instantiated);
  Layout pool;
  pool.components = {wanted(0, kEndOfFile, MiB, 3)};
  pool.components[0].pool = "a-pool";
  EXPECT_EQ(parse_lov(make_lov(pool))->components[0].pool, "a-pool");
  Layout listed;
  listed.components = {wanted(0, kEndOfFile, MiB, 3)};
  listed.components[0].servers = {9, 2, 5};
  EXPECT_EQ(parse_lov(make_lov(listed))->components[0].servers, (std::vector<i64>{9, 2, 5}));
}

TEST(Lustre, FoldersWithStripesOfTheirOwnAreKnown) {
  EXPECT_FALSE(gives_several_stripes(make_lov(Layout{MiB, 1, -1})));
  EXPECT_FALSE(gives_several_stripes(make_lov(Layout{MiB, 0, -1}))) << "the file system's default";
  EXPECT_TRUE(gives_several_stripes(make_lov(Layout{MiB, 4, -1})));
  Layout progressive;
  progressive.components = {wanted(0, MiB, MiB, 1), wanted(MiB, kEndOfFile, MiB, 4)};
  Bytes made = make_lov(progressive);
  EXPECT_TRUE(gives_several_stripes(made));
  put<std::uint16_t>(made, 14, 1);   // the first component alone
  EXPECT_FALSE(gives_several_stripes(made));
  put<std::uint16_t>(made, 32 + 2 * 48 + 28, 8);   // its stripes
  EXPECT_TRUE(gives_several_stripes(made)) << "with several stripes";
}

TEST(Lustre, StripedCreationElsewhereMakesAnOrdinaryFile) {
  const std::string path = ::testing::TempDir() + "striped." + std::to_string(::getpid());
  const auto open = [&](int flags) { return ::open(path.c_str(), flags, 0600); };
  const int fd = create_striped({open, {}, ""}, O_RDWR | O_CLOEXEC, 0600, Layout{MiB, 2, -1});
  ASSERT_GE(fd, 0);
  EXPECT_EQ(lustre_layout(fd).stripe_bytes, 0);
  EXPECT_EQ(create_striped({open, {}, path}, O_RDWR, 0600, Layout{MiB, 2, -1}), -1);
  EXPECT_EQ(errno, EEXIST);
  ::close(fd);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace mercutio::posix
