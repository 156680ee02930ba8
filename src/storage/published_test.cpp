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
  const auto file = make_published(plain(), {.most_own_bytes = 4096});
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
  const auto file = make_published(plain(), {.most_own_bytes = 4096});
  const auto own = file->own_writes();
  for (i64 i = 0; i < 100; ++i) write(*own, 10 * i, "x");
  EXPECT_FALSE(read(*file, 0, 1).ok());
  EXPECT_EQ(file->size().value(), 991);
}

// With a number of the file, as drivers have it.
class Numbered final : public Forwarding {
 public:
  Numbered(std::unique_ptr<Storage> inner, int& syncs, i64 number) : Forwarding(std::move(inner)), syncs_(syncs), traits_(inner_->traits()) { traits_.file_number = number; }
  const Traits& traits() const override { return traits_; }
  Status sync() override {
    ++syncs_;
    return inner_->sync();
  }

 private:
  int& syncs_;
  Traits traits_;
};

// The parts of a driver that publishes are in its own tests.
TEST_F(PublishedTest, OpensOfAProcessShareOwnWrites) {
  PublishedFiles files;
  int syncs = 0;
  const auto open = [&](i64 number) { return make_published(std::make_unique<Numbered>(plain(), syncs, number), {.files = &files}); };
  const auto first = open(7), second = open(7), different = open(8);
  const auto own = first->own_writes();
  write(*own, 2, "abcd");
  EXPECT_EQ(second->size().value(), 6);
  EXPECT_EQ(different->size().value(), 0);
  EXPECT_EQ(read(*second, 0, 100).value(), std::string("\0\0abcd", 6));
  write(*second, 3, "X");
  EXPECT_EQ(read(*first, 0, 100).value(), std::string("\0\0aXcd", 6));
  const IoPiece piece{5, reinterpret_cast<std::byte*>(const_cast<char*>("Y")), 1};
  EXPECT_EQ(second->start(Direction::kWrite, {piece})->wait().value(), 1);
  EXPECT_EQ(read(*first, 5, 1).value(), "Y");
  write(*own, 3, "Z");
  EXPECT_EQ(read(*second, 2, 4).value(), "aZcY");
}

TEST_F(PublishedTest, OpensOfTheProcessAlonePublishFirst) {
  PublishedFiles files;
  int syncs = 0;
  const auto open = [&](bool one_rank) { return make_published(std::make_unique<Numbered>(plain(), syncs, 7), {.one_rank = one_rank, .files = &files}); };
  const auto shared = open(false);
  {
    const auto alone = open(true);
    EXPECT_TRUE(shared->sync().ok());
    EXPECT_EQ(syncs, 1) << "nothing was written through the other";
    write(*alone, 0, "a");
    EXPECT_TRUE(shared->written_alone());
    EXPECT_TRUE(shared->sync().ok());
    EXPECT_EQ(syncs, 3);
    EXPECT_FALSE(shared->written_alone());
    write(*alone, 0, "b");
    EXPECT_TRUE(alone->close().ok());
  }
  EXPECT_FALSE(shared->written_alone()) << "closed";
  EXPECT_TRUE(shared->sync().ok());
  EXPECT_EQ(syncs, 4);
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
