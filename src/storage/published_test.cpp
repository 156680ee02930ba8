#include "storage/published.h"

#include <gtest/gtest.h>

#include <string>

#include "storage/drivers.h"

namespace mercutio {
namespace {

class PublishedTest : public ::testing::Test {
 protected:
  std::unique_ptr<Storage> plain() {
    OpenOptions options;
    options.write = options.create = true;
    return std::move(driver_->open("file", options)).value();
  }
  static void write(Storage& storage, i64 offset, std::string text) {
    const IoPiece piece{offset, reinterpret_cast<std::byte*>(text.data()), static_cast<i64>(text.size())};
    EXPECT_EQ(storage.write(std::span(&piece, 1)).value(), piece.bytes);
  }
  static Result<std::string> read(Storage& storage, i64 offset, i64 bytes) {
    std::string text(static_cast<size_t>(bytes), '?');
    const IoPiece piece{offset, reinterpret_cast<std::byte*>(text.data()), bytes};
    MERCUTIO_LET(const i64 moved, storage.read(std::span(&piece, 1)));
    text.resize(static_cast<size_t>(moved));
    return text;
  }
  std::unique_ptr<Driver> driver_ = make_memory_driver();
};

TEST_F(PublishedTest, OwnWritesAreReadUntilTheyArePublished) {
  const auto file = make_published(plain());
  write(*file, 0, "0123456789");
  const auto own = file->own_writes();
  write(*own, 4, "abc");
  write(*own, 13, "end");
  EXPECT_EQ(file->size().value(), 16);
  EXPECT_EQ(read(*file, 0, 100).value(), std::string("0123abc789\0\0\0end", 16));
  EXPECT_EQ(read(*file, 5, 3).value(), "bc7");
  write(*file, 5, "X");   // later, and not by a collective call
  EXPECT_EQ(read(*file, 4, 3).value(), "aXc");
  EXPECT_TRUE(file->refresh().ok());
  EXPECT_EQ(file->size().value(), 10);
  EXPECT_EQ(read(*file, 0, 100).value(), "01234X6789");
}

TEST_F(PublishedTest, ShortReadsOfSeveralPieces) {
  const auto file = make_published(plain());
  write(*file->own_writes(), 2, "ab");
  std::string first(3, '?'), second(5, '?');
  const IoPiece pieces[] = {{0, reinterpret_cast<std::byte*>(first.data()), 3}, {3, reinterpret_cast<std::byte*>(second.data()), 5}};
  EXPECT_EQ(file->read(pieces).value(), 4);
  EXPECT_EQ(first, std::string("\0\0a", 3));
  EXPECT_EQ(second, "b????");
}

TEST_F(PublishedTest, MoreThanIsKeptIsAnError) {
  const auto file = make_published(plain(), 4096);
  write(*file, 0, std::string(100000, '.'));
  const auto own = file->own_writes();
  write(*own, 1000, std::string(1000, 'a'));
  EXPECT_EQ(read(*file, 1999, 2).value(), "a.");
  write(*own, 5000, std::string(4000, 'b'));
  const auto refused = read(*file, 1999, 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().cls, ErrorClass::kUnsupportedOperation);
  EXPECT_NE(refused.error().what.find("MPI_File_sync"), std::string::npos);
  EXPECT_EQ(read(*file, 500, 2).value(), "..");
  EXPECT_EQ(read(*file, 9000, 2).value(), "..");
  EXPECT_TRUE(file->refresh().ok());
  EXPECT_EQ(read(*file, 1999, 2).value(), "..");
}

// Small ranges cost more than their bytes.
TEST_F(PublishedTest, RecordsCount) {
  const auto file = make_published(plain(), 4096);
  const auto own = file->own_writes();
  for (i64 i = 0; i < 100; ++i) write(*own, 10 * i, "x");
  EXPECT_FALSE(read(*file, 0, 1).ok());
  EXPECT_EQ(file->size().value(), 991);
}

class Counted final : public HeldLock {
 public:
  explicit Counted(int& held) : held_(held) { ++held_; }
  ~Counted() override { (void)release(); }
  Status release() override {
    if (!ended_) --held_;
    ended_ = true;
    return ok_status();
  }

 private:
  int& held_;
  bool ended_ = false;
};

TEST_F(PublishedTest, AtomicAccessesGoThroughTheOtherOpenInTheirTurn) {
  const auto file = make_published(plain());
  EXPECT_FALSE(file->traits().coherence == Coherence::kAfterPublish) << "this driver's own locks serve outside of atomic mode";
  auto other = plain();
  Storage* const alone = other.get();
  int held = 0;
  file->begin_atomic(std::move(other), [&]() -> Result<std::unique_ptr<HeldLock>> { return std::unique_ptr<HeldLock>(std::make_unique<Counted>(held)); });
  auto lock = file->lock(0, 4, true);
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(held, 1);
  write(*file, 0, "here");
  EXPECT_EQ(read(*alone, 0, 4).value(), "here");
  EXPECT_TRUE((*lock)->release().ok());
  EXPECT_EQ(held, 0);
  lock->reset();
  EXPECT_EQ(held, 0);
  EXPECT_TRUE(file->end_atomic().ok());
  EXPECT_EQ(read(*file, 0, 4).value(), "here");
  EXPECT_TRUE(file->close().ok());
}

}  // namespace
}  // namespace mercutio
