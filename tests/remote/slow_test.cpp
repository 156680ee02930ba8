// Requests that take long, and whoever waits for a lock: everybody else goes on.
#include "fixture.h"
#include "foreign_lock.h"
#include "gate.h"
#include "rogue.h"
#include "storage/forwarding.h"

namespace mercutio::remote {
namespace {

class RemoteSlow : public RemoteTest {
 protected:
  std::unique_ptr<Storage> open(const std::shared_ptr<Session>& by, const std::string& name) {
    auto opened = open_remote(by, "data/" + name, writing());
    EXPECT_TRUE(opened.ok());
    return std::move(*opened);
  }
  static Result<i64> write_locked(Storage& file, i64 bytes) {
    auto data = filled(bytes, 1);
    const IoPiece piece{0, data.data(), bytes};
    return *file.move_locked(Direction::kWrite, std::span(&piece, 1), 0, bytes);
  }
};

// Releases a lock of another program when its time has come, so that a test that fails ends, too.
class ReleaseAfter {
 public:
  ReleaseAfter(ForeignLock& lock, int seconds)
      : thread_([this, &lock, seconds] {
          for (int i = 0; i < seconds * 100 && !over_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
          lock.release();
        }) {}
  ~ReleaseAfter() { now(); }
  void now() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// The server stores at most 8,192 replies that the client may not have.
TEST_F(RemoteSlow, OneThatWaitsForALockStopsNoOthers) {
  ForeignLock foreign(folder + "/locked");
  const auto by = session();
  const auto locked = open(by, "locked"), other = open(by, "other");
  std::atomic<bool> done{false};
  std::thread waiting([&] {
    EXPECT_TRUE(write_locked(*locked, 8).ok());
    done = true;
  });
  ReleaseAfter release(foreign, 30);
  auto data = filled(8, 1);
  for (i64 i = 0; i < 9'000; ++i) ASSERT_TRUE(write(*other, i * 8, data).ok());
  EXPECT_FALSE(done);
  EXPECT_EQ(by->counts().reconnects, 0);
  release.now();
  waiting.join();
}

// An open may wait for a file system over a network, or for one of a library.
TEST_F(RemoteSlow, AnOpenStopsNoOthers) {
  server.reset();
  Gate gate;
  options.around = [&](std::unique_ptr<Storage> inner) { return gate.pass(), std::move(inner); };
  start_server();
  connection.streams = 1;
  const auto by = session();
  const auto file = open(by, "file");
  gate.set(false);
  std::thread opener([&] { EXPECT_TRUE(open_remote(by, "data/slow", writing()).ok()); });
  gate.await_somebody();
  std::atomic<bool> done{false};
  std::thread other([&] {
    EXPECT_TRUE(file->size().ok());
    done = true;
  });
  for (int i = 0; i < 500 && !done; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(done);
  gate.set(true);
  opener.join();
  other.join();
  server.reset();
}

class SlowEnd final : public Forwarding {
 public:
  SlowEnd(std::unique_ptr<Storage> inner, Gate& gate) : Forwarding(std::move(inner)), gate_(gate) {}
  ~SlowEnd() override { gate_.pass(); }

 private:
  Gate& gate_;
};

// The files of a client that is gone are closed while others are let in.
TEST_F(RemoteSlow, TheEndOfASessionKeepsNobodyOut) {
  server.reset();
  Gate gate;
  options.around = [&](std::unique_ptr<Storage> inner) { return std::make_unique<SlowEnd>(std::move(inner), gate); };
  options.grace_ms = 50;
  start_server();
  gate.set(false);
  {
    Rogue gone(server->port(), options.key);
    gone.hello();
    OpenRequest wanted;
    wanted.path = "data/file";
    wanted.write = wanted.create = true;
    gone.ask(Kind::kOpen, 1, wanted);
    EXPECT_EQ(gone.reply_to(1).outcome, 0U);
    gone.channel->cut();
  }
  gate.await_somebody();
  connection.patience_ms = 5'000;
  gate.hold_the_next(false);
  const auto other = open_remote(session(), "data/other", writing());
  EXPECT_TRUE(other.ok()) << other.error().what;
  gate.set(true);
  server.reset();
}

class NoMemory final : public Forwarding {
 public:
  NoMemory(std::unique_ptr<Storage> inner, std::atomic<bool>& now) : Forwarding(std::move(inner)), now_(now) {}
  Result<i64> write(std::span<const IoPiece> pieces) override { return check(), inner_->write(pieces); }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override { return Storage::start(direction, std::move(pieces)); }
  Status sync() override { return check(), inner_->sync(); }

 private:
  void check() const {
    if (now_) throw std::bad_alloc();
  }
  std::atomic<bool>& now_;
};

// Each request has its reply, and the session goes on.
TEST_F(RemoteSlow, NoneIsLeftWhereTheServerHasNoMemory) {
  server.reset();
  std::atomic<bool> none{false};
  options.around = [&](std::unique_ptr<Storage> inner) { return std::make_unique<NoMemory>(std::move(inner), none); };
  start_server();
  connection.timeout_ms = 5'000;
  const auto by = session();
  const auto file = open(by, "file");
  auto data = filled(100, 1);
  none = true;
  const auto written = write(*file, 0, data), under_lock = write_locked(*file, 100);
  const Status synced = file->sync();
  none = false;
  EXPECT_EQ(written ? 0 : written.error().sys_errno, ENOMEM);
  EXPECT_EQ(under_lock ? 0 : under_lock.error().sys_errno, ENOMEM);
  EXPECT_EQ(synced ? 0 : synced.error().sys_errno, ENOMEM);
  EXPECT_TRUE(write_locked(*file, 100).ok());
  EXPECT_TRUE(file->sync().ok());
  EXPECT_EQ(by->counts().reconnects, 0);
  server.reset();
}

// The holder of a lock in the same session: what waits for its lock leaves it credit, and requests in flight.
class RemoteHolder : public RemoteSlow {
 protected:
  void SetUp() override {
    options.credit_bytes = 512 * KiB;
    RemoteSlow::SetUp();
    connection.streams = 1;
    by = session();
    file = open(by, "file");
    lock = std::move(*file->lock(0, 100 * KiB, true));
  }
  // The holder writes and releases its lock, in time.
  void finish() {
    std::atomic<bool> written{false};
    std::thread holder([&] {
      auto data = filled(100 * KiB, 2);
      EXPECT_TRUE(write(*file, 0, data).ok());
      EXPECT_TRUE(file->size().ok());
      lock.reset();
      written = true;
    });
    for (int i = 0; i < 2'000 && !written; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(written) << "whoever waits for the lock keeps its holder from going on";
    if (!written) server->cut_streams(), by->give_up(Error{ErrorClass::kOther, "over"});
    holder.join();
  }
  std::shared_ptr<Session> by;
  std::unique_ptr<Storage> file;
  std::unique_ptr<HeldLock> lock;
};

TEST_F(RemoteHolder, HasCredit) {
  std::vector<std::thread> waiting;
  for (int i = 0; i < 20; ++i) waiting.emplace_back([&] { EXPECT_TRUE(write_locked(*file, 64 * KiB).ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  finish();
  for (std::thread& one : waiting) one.join();
}

TEST_F(RemoteHolder, HasRequests) {
  PlainRequest wanted;
  wanted.target = dynamic_cast<RemoteStorage&>(*file).handle();
  wanted.end = 100;
  wanted.exclusive = true;
  Buffer message;
  put_message(message, wanted);
  const auto first = std::make_shared<CallJob>(Kind::kLock, message);
  by->submit(first);
  for (int i = 0; i < 5'000; ++i) by->submit(std::make_shared<CallJob>(Kind::kLock, message));
  finish();
  EXPECT_TRUE(first->wait().ok());
}

}  // namespace
}  // namespace mercutio::remote
