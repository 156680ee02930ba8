// What the driver of PVFS2 writes and reads, with gaps in the file and in memory, and in how many requests.
#include "pvfs2_test.h"

namespace {

// Seen on a real system: 140256 bytes wrong and a wrong size, without an error.
TEST_F(Pvfs2Data, GapsBeyondTheFirstStripOfANewFile) {
  Pattern pattern(6400);
  for (int64_t i = 0; i < 64; ++i) pattern.add(6000 * i + i % 3, 100, 100 * i);
  write_and_read(pattern, "a");
}
TEST_F(Pvfs2Data, GapsInTheFirstStripStayInOneRequest) {
  Pattern pattern(640);
  for (int64_t i = 0; i < 64; ++i) pattern.add(1000 * i + i % 3, 10, 10 * i);
  write_and_read(pattern, "a");
  EXPECT_EQ(asked("write"), 1);
}
TEST_F(Pvfs2Data, GapsBetweenTheFirstStripAndTheLast) {
  Pattern pattern(200);
  pattern.add(10, 100, 0);
  pattern.add(kStrip + 10, 100, 100);
  write_and_read(pattern, "a");
  pattern.add(2 * kStrip, 10, 50);
  write_and_read(pattern, "b");
}
// Another process has left it small.
TEST_F(Pvfs2Data, GapsInAFileThatWasThere) {
  Pattern first(1000);
  first.add(0, 1000, 0);
  write_and_read(first, "a");
  Pattern pattern(6400);
  pattern.add(0, 1000, 0);
  for (int64_t i = 1; i < 64; ++i) pattern.add(20000 * i - i, 50, 100 * i);
  write_and_read(pattern, "a");
}
TEST_F(Pvfs2Data, AVectorIsOneRequest) {
  Pattern pattern(200000);
  for (int64_t i = 0; i < 2000; ++i) pattern.add(77 + 300 * i, 100, 100 * i);
  write_and_read(pattern, "a");
  EXPECT_EQ(asked("write 77+200000 in 2000 of "), 1);
  EXPECT_EQ(asked("write"), 2);   // and a byte
  EXPECT_EQ(asked("read 77+200000 in 2000 of "), 1);
}
TEST_F(Pvfs2Data, OtherPatternsAreRequestsOf64) {
  Pattern pattern(20000);
  for (int64_t i = 0; i < 200; ++i) pattern.add(kStrip * 4 + 301 * i + i % 2, 100, 100 * i);
  write_and_read(pattern, "a");
  EXPECT_EQ(asked("write"), 5);   // and a byte
}
TEST_F(Pvfs2Data, MemoryInPieces) {
  Pattern pattern(60000);
  for (int64_t i = 0; i < 200; ++i) pattern.add(500 * i, 100, 300 * (199 - i));   // descending in memory
  write_and_read(pattern, "a");
  Pattern contiguous(60000);
  for (int64_t i = 0; i < 200; ++i) contiguous.add(100 * i, 100, 300 * i);        // no gaps in the file
  write_and_read(contiguous, "b");
  EXPECT_EQ(asked("write 0+6400 in 1 of 1 at 0"), 1);
  EXPECT_EQ(asked("write 0+6400 in 1 of 1 at 6400"), 1);
}
TEST_F(Pvfs2Data, AnyOrderInTheFile) {
  Pattern pattern(3000);
  for (int64_t i = 0; i < 30; ++i) pattern.add(kStrip / 2 * ((i * 7) % 30), 100, 100 * i);
  write_and_read(pattern, "a");
}
TEST_F(Pvfs2Data, ALongExtentTakesSeveralCalls) {
  const int64_t bytes = (int64_t{64} << 20) + 12345;
  Pattern pattern(static_cast<size_t>(bytes));
  pattern.add(3, bytes, 0);
  write_and_read(pattern, "a");
  EXPECT_EQ(asked("write"), 2);
}
TEST_F(Pvfs2Data, ServersThatMoveLess) {
  ::setenv("MERCUTIO_TEST_PVFS2_MOST", "999", 1);
  Pattern pattern(20000);
  for (int64_t i = 0; i < 200; ++i) pattern.add(3000 * i + i % 2, 100, 100 * i);
  write_and_read(pattern, "a");
}

}  // namespace
