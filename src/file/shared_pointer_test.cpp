// The shared file pointer, and files that have no other.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "file/test_support.h"

namespace mercutio {
namespace {

TEST(SharedPointer, SequentialFilesHaveTheSharedPointerOnly) {
  const std::string name = unique_name();
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const i64 me = comm->rank();
    const Amode amode = mode({&Amode::write_only, &Amode::create, &Amode::sequential, &Amode::delete_on_close});
    auto file = std::move(*open(rank, std::move(comm), name, amode));
    std::vector<std::byte> data(static_cast<size_t>(4 * (me + 1)));
    EXPECT_EQ(class_of(file->access(call_of(Direction::kWrite, data))), ErrorClass::kUnsupportedOperation);
    EXPECT_EQ(class_of(file->seek(0, Whence::kSet)), ErrorClass::kUnsupportedOperation);
    EXPECT_EQ(class_of(file->set_view({0, byte_type(), byte_type(), "native", {}})), ErrorClass::kArg);
    AccessCall ordered = call_of(Direction::kWrite, data);
    ordered.positioning = Positioning::kShared;
    ordered.collective = true;
    EXPECT_TRUE(file->access(ordered));
    const TypeSpecRef word = make_contiguous(4, byte_type());
    EXPECT_TRUE(file->set_view({File::kDisplacementCurrent, word, word, "native", {}}));
    EXPECT_EQ(file->view()->displacement, 4 + 8 + 12);
    EXPECT_EQ(class_of(file->position_shared()), ErrorClass::kUnsupportedOperation);
    EXPECT_TRUE(file->access(ordered));
    EXPECT_EQ(*file->size(), 48);
    EXPECT_TRUE(file->close());
  });
}

TEST(SharedPointer, TheCurrentDisplacementIsBehindWhatALateRankWrites) {
  const std::string name = unique_name();
  on_ranks(3, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    const bool late = comm->rank() == 2;
    auto file = std::move(*open(rank, std::move(comm), name, mode({&Amode::write_only, &Amode::create, &Amode::sequential, &Amode::delete_on_close})));
    std::vector<std::byte> data(4);
    AccessCall shared = call_of(Direction::kWrite, data);
    shared.positioning = Positioning::kShared;
    if (late) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_TRUE(file->access(shared));
    EXPECT_TRUE(file->set_view({File::kDisplacementCurrent, byte_type(), byte_type(), "native", {}}));
    EXPECT_EQ(file->view()->displacement, 12);
    EXPECT_TRUE(file->close());
  });
}

TEST(SharedPointer, AnOrderedSplitAccessHasItsPlaceWhenItBegins) {
  for (const i64 late : {-1, 0, 1}) {
    const std::string name = unique_name();
    on_ranks(2, [&](Rank& rank, std::unique_ptr<Comm> comm) {
      const i64 me = comm->rank();
      auto file = std::move(*open(rank, std::move(comm), name, kReadWrite));
      std::vector<std::byte> data(8, std::byte(me)), more(8, std::byte{7});
      AccessCall ordered = call_of(Direction::kWrite, data), shared = call_of(Direction::kWrite, more);
      ordered.positioning = shared.positioning = Positioning::kShared;
      ordered.collective = true;
      if (me == late) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      EXPECT_TRUE(file->begin(ordered));
      EXPECT_GE(*file->position_shared(), 16);
      EXPECT_TRUE(file->access(shared));
      EXPECT_TRUE(file->end("end", Direction::kWrite, Positioning::kShared, data.data()));
      EXPECT_TRUE(file->sync());
      for (const i64 other : {0, 1}) {
        EXPECT_TRUE(file->access(call_of(Direction::kRead, data, 8 * other)));
        EXPECT_EQ(data[0], std::byte(other));
      }
      EXPECT_TRUE(file->close());
    });
  }
}

}  // namespace
}  // namespace mercutio
