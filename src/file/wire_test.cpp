#include "file/wire.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

std::vector<std::byte> message() {
  WireWriter writer;
  writer.put(i64{-7});
  writer.put(InfoItems{{"key", "value"}, {"", ""}});
  writer.put(std::string("end"));
  return writer.take();
}

TEST(Wire, WhatWasWrittenComesBack) {
  const auto bytes = message();
  WireReader reader(bytes);
  EXPECT_EQ(reader.number(), -7);
  EXPECT_EQ(reader.items(), (InfoItems{{"key", "value"}, {"", ""}}));
  EXPECT_EQ(reader.text(), "end");
  EXPECT_FALSE(reader.failed());
  EXPECT_EQ(reader.number(), 0);
  EXPECT_TRUE(reader.failed()) << "past the end";
}

TEST(Wire, HintsKeepWhereTheyCameFrom) {
  const std::vector<AskedHint> asked = {{"cb_nodes", "4", {HintSource::kSiteFile, "site.toml:3", true, true}},
                                        {"x", "", {HintSource::kEnvironment, "ROMIO_HINTS", false, false}}};
  WireWriter writer;
  writer.put(asked);
  const auto bytes = writer.take();
  WireReader reader(bytes);
  EXPECT_EQ(reader.asked(), asked);
  EXPECT_FALSE(reader.failed());
  for (size_t size = 0; size < bytes.size(); ++size) {
    WireReader partial(ConstBytes(bytes).first(size));
    partial.asked();
    EXPECT_TRUE(partial.failed()) << size;
  }
}

TEST(Wire, AMessageCutShortIsNoticed) {
  const auto bytes = message();
  for (size_t size = 0; size < bytes.size(); ++size) {
    WireReader reader(ConstBytes(bytes).first(size));
    reader.number();
    reader.items();
    reader.text();
    EXPECT_TRUE(reader.failed()) << size;
  }
}

TEST(Wire, LengthsThatCannotBe) {
  for (const i64 length : {i64{-1}, i64{1} << 40, INT64_MAX, INT64_MIN}) {
    WireWriter writer;
    writer.put(length);
    writer.put(i64{0});
    const auto bytes = writer.take();
    WireReader text(bytes), items(bytes);
    EXPECT_EQ(text.text(), "");
    EXPECT_TRUE(text.failed()) << length;
    items.items();
    EXPECT_TRUE(items.failed()) << length;
  }
}

}  // namespace
}  // namespace mercutio
