// Requests that take long, and whoever waits for a lock: everybody else goes on.
#include <future>

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
  // Whether this process, which is also the server, closes the file soon.
  bool is_closed(const std::string& name) const {
    const auto is_open = [&] {
      for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry.path(), gone) == folder + "/" + name) return true;
      }
      return false;
    };
    for (int i = 0; i < 1'000 && is_open(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return !is_open();
  }
  static Buffer named(const std::string& path) {
    NameRequest request;
    request.path = path;
    Buffer message;
    put_message(message, request);
    return message;
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

// An open that its client gives up leaves no open file there: the server learns of it before or after the open ends.
class RemoteAbandonedOpen : public RemoteSlow {
 protected:
  void SetUp() override {
    options.around = [&](std::unique_ptr<Storage> inner) { return gate.pass(), std::move(inner); };
    RemoteSlow::SetUp();
    connection.timeout_ms = 400;
    used = open_in_time(connection, by, "data/used", writing());   // else the session ends soon
    ASSERT_TRUE(used);
    gate.set(false);
    for (int tries = 0; tries < 50 && gate.count() == 0; ++tries) {   // it may not even have arrived
      EXPECT_EQ(open_remote(by, "data/slow", writing()).error().sys_errno, ETIMEDOUT);
    }
    gate.await_somebody();
  }
  void TearDown() override {
    gate.set(true);
    used.reset(), by.reset();
    RemoteSlow::TearDown();
  }
  Gate gate;
  std::shared_ptr<Session> by;
  std::unique_ptr<Storage> used;
};

TEST_F(RemoteAbandonedOpen, IsClosedByTheServerThatKnows) {
  (void)by->call(Kind::kSpace, named("data"));
  gate.set(true);
  EXPECT_TRUE(is_closed("slow"));
}

TEST_F(RemoteAbandonedOpen, IsClosedByItsClient) {
  gate.set(true);
  EXPECT_TRUE(is_closed("slow"));
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

class SlowLock final : public Forwarding {
 public:
  SlowLock(std::unique_ptr<Storage> inner, Gate& gate) : Forwarding(std::move(inner)), gate_(gate) {}
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    gate_.pass();
    return inner_->try_lock(begin, end, exclusive);
  }

 private:
  Gate& gate_;
};

// The file system of one copy's target may not answer.
TEST_F(RemoteSlow, AClaimStopsNoOthers) {
  server.reset();
  Gate gate;
  options.around = [&](std::unique_ptr<Storage> inner) { return std::make_unique<SlowLock>(std::move(inner), gate); };
  start_server();
  const auto by = session(), other = session();
  const auto slow = open(by, "slow"), file = open(other, "file");
  const auto claim = [](Storage& part) { return dynamic_cast<RemoteStorage&>(part).claim(); };
  gate.set(false);
  auto waiting = std::async(std::launch::async, [&] { return claim(*slow); });
  gate.await_somebody();
  gate.hold_the_next(false);
  auto claiming = std::async(std::launch::async, [&] { return claim(*file); });
  EXPECT_EQ(claiming.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  gate.set(true);
  EXPECT_TRUE(claiming.get().ok());
  EXPECT_TRUE(waiting.get().ok());
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

// Requests whose file system does not answer. The stream is the client's only one.
class RemoteHanging : public RemoteSlow {
 protected:
  void SetUp() override {
    options.around = [this](std::unique_ptr<Storage> inner) -> std::unique_ptr<Storage> {
      if (!hangs) return inner;
      return std::make_unique<Gated>(std::move(inner), gate);
    };
    RemoteSlow::SetUp();
    connection.streams = 1;
    connection.silence_ms = 10'000;   // a stream that says nothing is cut
    connection.patience_ms = 60'000;
    open_files();
  }
  // Accesses of `slow` and `second` wait for the gate, which is shut.
  void open_files() {
    by = session();
    gate.set(true);
    hangs = true;
    slow = std::move(*open_remote(by, "data/slow", keeping()));
    second = std::move(*open_remote(by, "data/second", keeping()));
    hangs = false;
    other = open(by, "other");
    gate.set(false);
  }
  // A file whose requests wait for the gate too, in a session whose requests are given up after that time.
  std::unique_ptr<Storage> open_abandoned(i64 timeout_ms) {
    other.reset();
    connection.timeout_ms = timeout_ms;
    hangs = true;
    auto abandoned = open_in_time(connection, by, "data/abandoned", writing());
    hangs = false;
    other = open(by, "other");
    return abandoned;
  }
  void TearDown() override {
    gate.set(true);
    slow.reset(), second.reset(), other.reset(), by.reset();
    RemoteSlow::TearDown();
  }
  static i64 threads() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()); }
  // Within a few seconds.
  void use_other() {
    auto done = std::async(std::launch::async, [&] {
      auto data = filled(1'000, 5);
      EXPECT_TRUE(write(*other, 0, data).ok());
      EXPECT_TRUE(write_locked(*other, 100).ok());
      EXPECT_EQ(*other->size(), 1'000);
      EXPECT_TRUE(open_remote(by, "data/third", writing()).ok());
    });
    const bool in_time = done.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    EXPECT_TRUE(in_time);
    if (!in_time) gate.set(true);
  }
  std::atomic<bool> hangs{false};
  Gate gate;
  std::shared_ptr<Session> by;
  std::unique_ptr<Storage> slow, second, other;
};

TEST_F(RemoteHanging, OneWriteStopsNoOthersAndTakesOneThread) {
  constexpr i64 kBlock = 32 * KiB, kBlocks = 100;
  auto data = filled(kBlock * kBlocks, 3);
  const i64 before = threads();
  for (i64 i = 0; i < kBlocks; ++i) {
    const IoPiece piece{i * kBlock, data.data() + i * kBlock, kBlock};
    ASSERT_TRUE(slow->write(std::span(&piece, 1)).ok());
  }
  gate.await_somebody();
  use_other();
  EXPECT_LE(threads(), before + 3);   // that of the stream, and for a moment those of requests with a thread of their own
  EXPECT_EQ(by->counts().reconnects, 0);
  gate.set(true);
  EXPECT_TRUE(slow->sync().ok());
  EXPECT_EQ(by->counts().reconnects, 0);
  EXPECT_TRUE(same(content("slow"), data));
}

TEST_F(RemoteHanging, AccessesInAtomicModeStopNoOthers) {
  std::vector<std::future<bool>> locked;
  for (int i = 0; i < 8; ++i) locked.push_back(std::async(std::launch::async, [&] { return write_locked(*slow, 1'000).ok(); }));
  gate.await_somebody();
  use_other();
  gate.set(true);
  for (auto& one : locked) EXPECT_TRUE(one.get());
  EXPECT_EQ(content("slow").size(), 1'000U);
}

// The credit is used up by what the file system does not take.
TEST_F(RemoteHanging, ItLeavesOthersCredit) {
  auto data = filled(options.credit_bytes + 2 * MiB, 3);
  const i64 bytes = static_cast<i64>(data.size());
  for (i64 at = 0; at < bytes; at += 256 * KiB) {
    const IoPiece piece{at, data.data() + at, std::min<i64>(256 * KiB, bytes - at)};
    ASSERT_TRUE(slow->write(std::span(&piece, 1)).ok());
  }
  gate.await_somebody();
  use_other();
  gate.set(true);
  EXPECT_TRUE(slow->sync().ok());
  EXPECT_TRUE(same(content("slow"), data));
}

// All streams of the server have as many threads more as requests may have.
TEST_F(RemoteHanging, AStreamWithoutAnotherThreadWaits) {
  slow.reset(), second.reset(), other.reset(), by.reset();
  server.reset();
  options.most_slow = 1;
  start_server();
  connection.silence_ms = 30'000;
  open_files();
  auto data = filled(1'000, 3);
  ASSERT_TRUE(write(*slow, 0, data).ok());
  gate.await_somebody();
  use_other();
  ASSERT_TRUE(write(*second, 0, data).ok());
  while (gate.count() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  auto size = std::async(std::launch::async, [&] { return *other->size(); });
  EXPECT_EQ(size.wait_for(std::chrono::seconds(1)), std::future_status::timeout);
  gate.set(true);
  EXPECT_EQ(size.get(), 1'000);
  EXPECT_TRUE(slow->sync().ok());
  EXPECT_TRUE(second->sync().ok());
  EXPECT_TRUE(same(content("second"), data));
}

// Of such a request the client tells an error when its time is over. What it abandons may still happen there, but only to that file.
TEST_F(RemoteHanging, WhatIsAbandonedStopsNoOthers) {
  auto abandoned = open_abandoned(4'000);
  ASSERT_TRUE(abandoned);
  auto data = filled(1'000, 3);
  EXPECT_EQ(write(*abandoned, 0, data).error().sys_errno, ETIMEDOUT);
  gate.hold_the_next(false);   // those that wait stay
  EXPECT_TRUE(write(*other, 0, data).ok());   // tells the server what is abandoned
  use_other();
  EXPECT_FALSE(write(*abandoned, 0, data).ok());
  const auto again = open_remote(by, "data/abandoned", {});
  EXPECT_FALSE(again.ok());
  gate.set(true);
  EXPECT_TRUE(write(*abandoned, 0, data).ok());
  EXPECT_TRUE(open_remote(by, "data/abandoned", {}).ok());
  abandoned.reset();
}

// The client has closed the file, whatever it was told. Nobody closes it later.
TEST_F(RemoteHanging, AFileWhoseCloseIsAbandonedIsClosed) {
  auto abandoned = open_abandoned(1'000);
  ASSERT_TRUE(abandoned);
  auto data = filled(1'000, 3);
  EXPECT_EQ(write(*abandoned, 0, data).error().sys_errno, ETIMEDOUT);
  EXPECT_EQ(abandoned->close().error().sys_errno, ETIMEDOUT);
  gate.hold_the_next(false);
  EXPECT_TRUE(write(*other, 0, data).ok());   // tells the server what is abandoned
  gate.set(true);
  EXPECT_TRUE(is_closed("abandoned"));
}

// It may not even have arrived when its time is over.
TEST_F(RemoteSlow, AFileWhoseCloseIsLateIsClosed) {
  Relay relay(server->port());
  connection.servers = {{"127.0.0.1", relay.port()}};
  connection.timeout_ms = 2'000;
  connection.patience_ms = 60'000;
  std::shared_ptr<Session> by;
  const auto used = open_in_time(connection, by, "data/used", writing());   // with one file alone the session would end soon
  ASSERT_TRUE(used);
  const auto late = open(by, "late");
  relay.hold_all(true);
  EXPECT_EQ(late->close().error().sys_errno, ETIMEDOUT);
  relay.cut();
  relay.hold_all(false);
  EXPECT_TRUE(is_closed("late"));
  EXPECT_TRUE(used->size().ok());
}

// What waits behind such a request is not executed for a client that is gone.
TEST_F(RemoteHanging, WhatWaitsEndsWithItsSession) {
  auto data = filled(1'000, 3);
  for (i64 i = 0; i < 3; ++i) ASSERT_TRUE(write(*slow, i * 1'000, data).ok());
  gate.await_somebody();
  use_other();
  by->give_up(Error{ErrorClass::kOther, "over"});
  auto next = Session::make(connection, 0, by);   // ends the former session
  ASSERT_TRUE(next.ok());
  auto opened = std::async(std::launch::async, [&] { return open_remote(*next, "data/slow", writing()).ok(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  gate.set(true);
  EXPECT_TRUE(opened.get());
  EXPECT_EQ(content("slow").size(), 1'000U);
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
