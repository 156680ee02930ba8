// Runs of a memory type as copies of a device, and pages that nobody may touch.
#include "file/device.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "file/buffers.h"

namespace mercutio {
namespace {

// Remembers what it is asked for; fails from copy number `refused` on.
class Recording final : public DeviceMemory {
 public:
  Status copy(CopyTo, std::span<const DeviceCopy> copies) override {
    asked.insert(asked.end(), copies.begin(), copies.end());
    if (static_cast<i64>(asked.size()) > refused) return Error{ErrorClass::kBuffer, "refused"};
    return ok_status();
  }
  std::vector<DeviceCopy> asked;
  i64 refused = INT64_MAX;
};

// `count` pieces of 8 bytes that begin `stride` bytes apart, from address 1 MiB on.
Cursor pieces(i64 count, i64 stride) {
  const auto type = FlatType::of(*make_hvector(count, 8, stride, byte_type()));
  return Cursor(*type, MiB, 0, 8 * count);
}

// 1,000 pieces with gaps in two copies, since a cursor hands out the last piece by itself.
void check_strided(HostPlace host, i64 host_stride) {
  Recording device;
  ASSERT_TRUE(copy_runs(device, CopyTo::kHost, pieces(1000, 24), 8000, host));
  const i64 first = host.spread ? host.address + MiB : host.address;
  ASSERT_EQ(device.asked.size(), 2u);
  EXPECT_EQ(device.asked[0], (DeviceCopy{MiB, 24, first, host_stride, 8, 999}));
  EXPECT_EQ(device.asked[1].device, MiB + 999 * 24);
  EXPECT_EQ(device.asked[1].host, first + 999 * host_stride);
  EXPECT_EQ(device.asked[1].bytes * device.asked[1].count, 8);
}

TEST(Device, PiecesWithGapsAreCopiedTogether) { check_strided({64, false}, 8); }
TEST(Device, SpreadPiecesKeepTheirGaps) { check_strided({-MiB + 64, true}, 24); }

// Runtimes take strides from the width of a piece to 2^31.
TEST(Device, OtherStridesAreCopiedPieceByPiece) {
  for (const i64 stride : {i64{-24}, i64{4}, i64{0}, i64{1} << 31}) {
    Recording device;
    ASSERT_TRUE(copy_runs(device, CopyTo::kHost, pieces(3, stride), 24, {64, false}));
    ASSERT_EQ(device.asked.size(), 3u) << stride;
    for (i64 i = 0; i < 3; ++i) {
      const DeviceCopy& copy = device.asked[static_cast<size_t>(i)];
      EXPECT_EQ(copy.device, MiB + i * stride);
      EXPECT_EQ(copy.host, 64 + 8 * i);
      EXPECT_EQ(copy.bytes * copy.count, 8);
    }
  }
}

TEST(Device, RefusedCopyEndsTheRest) {
  Recording device;
  device.refused = 512;
  EXPECT_FALSE(copy_runs(device, CopyTo::kHost, pieces(100000, -24), 800000, {64, false}));
  EXPECT_LT(device.asked.size(), 2000u);
}

class Pages : public testing::Test {
 protected:
  // Two pages of their own.
  std::byte* map(int protection) {
    void* at = ::mmap(nullptr, 8192, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return static_cast<std::byte*>(at);
  }
  ErrorClass found(std::byte* at, i64 bytes, Direction direction) {
    const Result<DeviceMemoryRef> device = buffers_.find(Memory{at, contiguous_bytes(), bytes}, direction);
    EXPECT_TRUE(!device || !*device);
    return device ? ErrorClass::kNone : device.error().cls;
  }
  Buffers buffers_;
};

TEST_F(Pages, OfOthersAreRefused) {
  std::byte* const closed = map(PROT_NONE);
  std::byte* const constant = map(PROT_READ);
  std::byte* const open = map(PROT_READ | PROT_WRITE);
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    EXPECT_EQ(found(closed, 1, direction), ErrorClass::kBuffer);
    EXPECT_EQ(found(nullptr, 1, direction), ErrorClass::kBuffer);
    EXPECT_EQ(found(open, 8192, direction), ErrorClass::kNone);
  }
  EXPECT_EQ(found(constant, 8192, Direction::kWrite), ErrorClass::kNone);
  EXPECT_EQ(found(constant, 8192, Direction::kRead), ErrorClass::kBuffer);
}

TEST_F(Pages, TheLastOneCounts) {
  std::byte* const at = map(PROT_READ | PROT_WRITE);
  ASSERT_EQ(::mprotect(at + 4096, 4096, PROT_NONE), 0);
  EXPECT_EQ(found(at, 4096, Direction::kWrite), ErrorClass::kNone);
  EXPECT_EQ(found(at, 4097, Direction::kWrite), ErrorClass::kBuffer);
}

// The last bytes of a page, of which a look at 8 would reach into the next one; what is there stays.
TEST_F(Pages, LooksChangeNothing) {
  std::byte* const at = map(PROT_READ | PROT_WRITE);
  at[4095] = std::byte{77};
  ASSERT_EQ(::mprotect(at + 4096, 4096, PROT_NONE), 0);
  EXPECT_EQ(found(at + 4095, 1, Direction::kWrite), ErrorClass::kNone);
  EXPECT_EQ(found(at + 4095, 1, Direction::kRead), ErrorClass::kNone);
  EXPECT_EQ(at[4095], std::byte{77});
}

TEST_F(Pages, LargeBuffersAreAskedEachTime) {
  const i64 bytes = MiB;
  void* const at = ::mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(found(static_cast<std::byte*>(at), bytes, Direction::kRead), ErrorClass::kNone);
  ASSERT_EQ(::mprotect(at, static_cast<size_t>(bytes), PROT_NONE), 0);
  EXPECT_EQ(found(static_cast<std::byte*>(at), bytes, Direction::kRead), ErrorClass::kBuffer);
}

}  // namespace
}  // namespace mercutio
