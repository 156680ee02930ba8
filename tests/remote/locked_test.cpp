// Accesses under a lock, each in one request.
#include <fcntl.h>
#include <unistd.h>

#include "fixture.h"
#include "foreign_lock.h"
#include "gate.h"
#include "rogue.h"
#include "storage/forwarding.h"

namespace mercutio::remote {
namespace {

class RemoteLocked : public RemoteTest {
 protected:
  std::unique_ptr<Storage> open(const std::shared_ptr<Session>& by, const std::string& name = "file") {
    auto opened = open_remote(by, "data/" + name, writing());
    EXPECT_TRUE(opened.ok());
    return std::move(*opened);
  }
  static std::optional<Result<i64>> move(Storage& file, Direction direction, std::vector<std::byte>& data, i64 offset = 0) {
    const IoPiece piece{offset, data.data(), static_cast<i64>(data.size())};
    return file.move_locked(direction, std::span(&piece, 1), offset, offset + piece.bytes);
  }
  // A client that asks for a write of 1,000 bytes under a lock, when it has opened the file.
  std::unique_ptr<Rogue> writer(u64 number, bool may_write = true) {
    auto rogue = std::make_unique<Rogue>(server->port(), options.key);
    Hello hello;
    hello.session_low = number;
    rogue->hello(hello);
    OpenRequest wanted;
    wanted.path = "data/file";
    wanted.write = wanted.create = may_write;
    rogue->ask(Kind::kOpen, 1, wanted);
    LockedRequest request;
    request.transfer.handle = get_message<OpenReply>(rogue->reply_to(1).more)->handle;
    request.transfer.end = request.lock_end = 1'000;
    rogue->ask(Kind::kLockedWrite, 2, request, filled(1'000, 5));
    return rogue;
  }
};

TEST_F(RemoteLocked, AreOneRequest) {
  const auto by = session();
  const auto file = open(by);
  auto data = filled(64 * KiB, 1);
  std::vector<std::byte> back(data.size());
  const i64 before = by->counts().requests;
  EXPECT_EQ(move(*file, Direction::kWrite, data)->value(), 64 * KiB);
  EXPECT_EQ(move(*file, Direction::kRead, back)->value(), 64 * KiB);
  EXPECT_EQ(by->counts().requests - before, 2);
  EXPECT_EQ(back, data);
  EXPECT_EQ(move(*file, Direction::kRead, back, 1'000)->value(), 64 * KiB - 1'000) << "up to the end of the file";
  std::byte regular[4]{};
  const IoPiece pieces[] = {{100, &regular[0], 1}, {200, &regular[1], 1}, {300, &regular[2], 1}, {5, &regular[3], 1}};
  EXPECT_EQ(file->move_locked(Direction::kRead, pieces, 5, 301)->value(), 4);
  EXPECT_EQ(regular[1], data[200]);
  EXPECT_EQ(regular[3], data[5]);
}

TEST_F(RemoteLocked, LongOnesNeedALockOfTheirOwn) {
  const auto file = open(session());
  auto data = filled(64 * KiB + 1, 1);
  EXPECT_FALSE(move(*file, Direction::kWrite, data));
  data.clear();
  EXPECT_FALSE(move(*file, Direction::kWrite, data));
}

TEST_F(RemoteLocked, WaitForTheLockAndKeepNobodyElseWaiting) {
  ForeignLock foreign(folder + "/file");
  const auto by = session();
  const auto file = open(by);
  auto data = filled(100, 1);
  std::atomic<bool> done{false};
  std::thread waiting([&] {
    EXPECT_TRUE(move(*file, Direction::kWrite, data)->ok());
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(file->size().ok());
  EXPECT_FALSE(done);
  EXPECT_EQ(content("file"), "");
  foreign.release();
  waiting.join();
  EXPECT_TRUE(same(content("file"), data));
}

TEST_F(RemoteLocked, AreDoneOnceWhenTheirStreamIsCut) {
  Relay relay(server->port());
  connection.servers = {{"127.0.0.1", relay.port()}};
  ForeignLock foreign(folder + "/file");
  const auto by = session();
  const auto file = open(by);
  auto data = filled(100, 1);
  std::thread waiting([&] { EXPECT_TRUE(move(*file, Direction::kWrite, data)->ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  relay.cut();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  foreign.release();
  waiting.join();
  EXPECT_TRUE(same(content("file"), data));
}

TEST_F(RemoteLocked, ExcludeEachOther) {
  constexpr i64 kBytes = 60'000;
  std::vector<std::thread> clients;
  for (int c = 0; c < 6; ++c) {
    clients.emplace_back([&, c] {
      const auto file = open(session());
      std::vector<std::byte> data(kBytes);
      for (int i = 0; i < 20; ++i) {
        std::fill(data.begin(), data.end(), static_cast<std::byte>(c));
        EXPECT_EQ(move(*file, Direction::kWrite, data)->value(), kBytes);
        EXPECT_EQ(move(*file, Direction::kRead, data)->value(), kBytes);
        EXPECT_EQ(std::count(data.begin(), data.end(), data[0]), kBytes) << "parts of two writes";
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

// What a client asked for that is gone comes no more when the lock is free.
TEST_F(RemoteLocked, EndWithTheirSession) {
  ForeignLock foreign(folder + "/file");
  const auto gone = writer(7);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  Rogue next(server->port(), options.key);
  Hello hello;
  hello.session_low = 8;
  hello.replaces_low = 7;
  next.hello(hello);
  next.ask(Kind::kSize, 1, PlainRequest{});
  EXPECT_EQ(next.reply_to(1).sys_errno, EBADF);
  foreign.release();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(content("file"), "");
}

// The server stores no data for a client that may ask for it again.
TEST_F(RemoteLocked, ReadsAreExecutedAgainWhenTheirReplyIsLost) {
  const auto rogue = writer(7);
  EXPECT_EQ(rogue->reply_to(2).outcome, 0U);
  LockedRequest request;
  request.transfer.handle = 1;
  request.transfer.end = request.lock_end = 2'000;
  rogue->ask(Kind::kLockedRead, 3, request);
  EXPECT_EQ(rogue->reply_to(3).value, 1'000);
  std::filesystem::resize_file(folder + "/file", 1'500);
  rogue->ask(Kind::kLockedRead, 3, request);
  EXPECT_EQ(rogue->reply_to(3).value, 1'500);
}

TEST_F(RemoteLocked, ToWriteNeedAFileThatIsOpenForIt) {
  std::ofstream(folder + "/file") << "read only";
  EXPECT_EQ(writer(7, false)->reply_to(2).sys_errno, EBADF);
  EXPECT_EQ(content("file"), "read only");
}

// Locks of a storage that must be released before it is closed, which may be waited for.
class Ordered final : public Forwarding {
 public:
  struct Seen {
    Gate gate;
    std::atomic<bool> closed{false}, late{false};
  };
  Ordered(std::unique_ptr<Storage> inner, Seen& seen) : Forwarding(std::move(inner)), seen_(seen) {}
  Result<std::unique_ptr<HeldLock>> try_lock(i64, i64, bool) override { return std::unique_ptr<HeldLock>(std::make_unique<Held>(seen_)); }
  Status close() override {
    seen_.closed = true;
    return inner_->close();
  }

 private:
  class Held final : public HeldLock {
   public:
    explicit Held(Seen& seen) : seen_(seen) {}
    ~Held() override { (void)release(); }
    Status release() override {
      if (std::exchange(released_, true)) return ok_status();
      seen_.gate.pass();
      if (seen_.closed) seen_.late = true;
      return ok_status();
    }

   private:
    Seen& seen_;
    bool released_ = false;
  };
  Seen& seen_;
};

// A client does not wait for the reply to an unlock. On another stream its close may come first.
class RemoteUnlock : public RemoteLocked {
 protected:
  void SetUp() override {
    options.around = [this](std::unique_ptr<Storage> inner) { return std::make_unique<Ordered>(std::move(inner), seen); };
    RemoteLocked::SetUp();
    hello.session_low = 7;
    first = std::make_unique<Rogue>(server->port(), options.key);
    second = std::make_unique<Rogue>(server->port(), options.key);
    first->hello(hello);
    OpenRequest open;
    open.path = "data/file";
    open.write = open.create = true;
    first->ask(Kind::kOpen, 1, open);
    file.target = get_message<OpenReply>(first->reply_to(1).more)->handle;
    second->hello(hello);
    PlainRequest range = file;
    range.end = 100;
    range.exclusive = true;
    first->ask(Kind::kLock, 2, range);
    lock.target = static_cast<u64>(first->reply_to(2).value);
  }
  void TearDown() override {
    seen.gate.set(true);
    RemoteLocked::TearDown();
  }
  Ordered::Seen seen;
  Hello hello;
  std::unique_ptr<Rogue> first, second;
  PlainRequest file, lock;
};

TEST_F(RemoteUnlock, PrecedesACloseThatComesFirst) {
  second->ask(Kind::kClose, 4, file);
  EXPECT_EQ(second->reply_to(4).outcome, 0U);
  first->ask(Kind::kUnlock, 3, lock);
  EXPECT_EQ(first->reply_to(3).outcome, 0U);
  EXPECT_TRUE(seen.closed);
  EXPECT_FALSE(seen.late);
}

TEST_F(RemoteUnlock, IsWaitedForByAClose) {
  seen.gate.set(false);
  first->ask(Kind::kUnlock, 3, lock);
  seen.gate.await_somebody();
  second->ask(Kind::kClose, 4, file);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(seen.closed);
  seen.gate.set(true);
  EXPECT_EQ(first->reply_to(3).outcome, 0U);
  EXPECT_EQ(second->reply_to(4).outcome, 0U);
  EXPECT_FALSE(seen.late);
}

}  // namespace
}  // namespace mercutio::remote
