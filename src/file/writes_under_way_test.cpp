#include "file/writes_under_way.h"

#include <gtest/gtest.h>

#include "file/test_support.h"
#include "storage/storage.h"

using namespace mercutio;

TEST(WritesUnderWay, AChangeWaitsForWritesBeforeItAndLaterOnesAreCautious) {
  WritesUnderWay writes;
  auto before = std::make_unique<WritesUnderWay::Entry>(&writes);
  EXPECT_FALSE(before->cautious());
  {
    const WritesUnderWay::Change change(writes);
    const WritesUnderWay::Entry meanwhile(&writes);
    EXPECT_TRUE(meanwhile.cautious());
    EXPECT_FALSE(change.may_go_on());
    before = nullptr;
    EXPECT_TRUE(change.may_go_on()) << "a cautious write is right beside any other";
  }
  EXPECT_FALSE(WritesUnderWay::Entry(&writes).cautious());
  EXPECT_FALSE(WritesUnderWay::Entry(nullptr).cautious());
}

namespace {

constexpr i64 kLocked = 100 * KiB;

// A file of one rank whose view has holes, and a lock of its first bytes, for which writes by this view wait.
struct LockedFile {
  explicit LockedFile(Rank& rank, std::unique_ptr<Comm> comm) {
    const std::string name = unique_name();
    OpenCall call;
    call.file_name = name;
    call.amode = kReadWrite;
    file = std::move(*open_file(std::move(comm), call, Context{.progress = rank.progress.get(), .datareps = &rank.datareps, .threads_call = true}));
    EXPECT_TRUE(file->set_view({0, byte_type(), make_resized(0, 2, byte_type()), "native", {}}));
    const Resolved resolved = resolve(name);
    other = std::move(*resolved.driver->open(resolved.path, OpenOptions{.write = true}));
    lock = std::move(*other->lock(0, kLocked, /*exclusive=*/true));
  }
  Status set_dense_view() { return file->set_view({0, byte_type(), byte_type(), "native", {}}); }

  std::unique_ptr<File> file;
  std::unique_ptr<Storage> other;
  std::unique_ptr<HeldLock> lock;
};

struct InThread {
  explicit InThread(const std::function<bool()>& body) : thread([this, body] {
    right = body();
    over = true;
  }) {}
  bool goes_on() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return !over;
  }
  bool join() {
    thread.join();
    return right;
  }
  bool right = false;
  std::atomic<bool> over{false};
  std::thread thread;   // last: it uses the others
};

}  // namespace

TEST(WritesUnderWay, AViewIsSetOnceTheWritesOfOtherThreadsByTheOldOneAreOver) {
  on_ranks(1, [](Rank& rank, std::unique_ptr<Comm> comm) {
    LockedFile locked(rank, std::move(comm));
    std::vector<std::byte> data(kLocked), byte(1);
    InThread writing([&] { return bool(locked.file->access(call_of(Direction::kWrite, data))); });
    EXPECT_TRUE(writing.goes_on());
    InThread setting([&] { return bool(locked.set_dense_view()); });
    EXPECT_TRUE(setting.goes_on());
    EXPECT_TRUE(locked.file->access(call_of(Direction::kWrite, byte, 2 * kLocked))) << "a write of other bytes does not wait";
    InThread cautious([&] { return bool(locked.file->access(call_of(Direction::kWrite, data))); });
    EXPECT_TRUE(cautious.goes_on());
    locked.lock = nullptr;
    EXPECT_TRUE(writing.join() && setting.join() && cautious.join());
    locked.lock = std::move(*locked.other->lock(0, kLocked, /*exclusive=*/true));
    EXPECT_TRUE(locked.file->access(call_of(Direction::kWrite, data))) << "no view has holes now";
    locked.lock = nullptr;
    EXPECT_TRUE(locked.file->close());
  });
}
