#include "comm/comm.h"
#include "engine/progress/progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace mercutio {
namespace {

Task<Result<i64>> waits_for(std::atomic<bool>& flag, i64 value) {
  co_await until([&] { return flag.load(); });
  co_return value;
}
Task<Result<i64>> fails() { co_return Error{ErrorClass::kIo, "broken"}; }

TEST(ProgressThread, DrivesSeveralRequests) {
  std::atomic<bool> first{false}, second{false};
  std::atomic<i64> sum{0};
  auto progress = make_progress_thread();
  auto a = progress->start({waits_for(first, 1), true, [&](const Result<i64>& r) { sum += r.value(); }, nullptr});
  auto b = progress->start({waits_for(second, 2), true, [&](const Result<i64>& r) { sum += r.value(); }, nullptr});
  EXPECT_FALSE(a->done());
  second = true;
  EXPECT_EQ(b->wait().value(), 2);
  EXPECT_EQ(sum, 2);
  EXPECT_FALSE(a->done());
  first = true;
  EXPECT_EQ(a->wait().value(), 1);
  EXPECT_EQ(a->wait().value(), 1);
  EXPECT_TRUE(a->done());
  EXPECT_EQ(sum, 3);
}

// The `number`-th access of a file, which begins when those before it have ended, and ends some steps later. Counts how often its condition is evaluated.
struct Queue {
  std::atomic<bool> begun{false};
  std::atomic<i64> ended{0}, evaluated{0};
  Task<Result<i64>> in_order(i64 number) {
    co_await until([this, number] {
      ++evaluated;
      return begun && ended == number;
    });
    constexpr i64 kEvaluations = 5;   // a step may evaluate a condition twice
    i64 left = kEvaluations;
    co_await until([&left] { return --left <= 0; });
    co_return number;
  }
};

// Accesses that can't go on yet cost next to nothing, and keep no others from going on.
TEST(Progress, DrivesManyRequestsThatFollowEachOther) {
  constexpr i64 kRequests = 1500, kMostEvaluations = 1000;   // of each
  enum Driver { kThread, kWaiters, kPolled };
  for (const Driver driver : {kThread, kWaiters, kPolled}) {
    SCOPED_TRACE(driver);
    Queue queue, other;
    const auto progress = driver == kPolled ? make_polled_progress() : make_progress_thread();
    const auto start = [&](Queue& of, i64 number) { return progress->start({of.in_order(number), driver == kThread, [&](const Result<i64>&) { ++of.ended; }, nullptr, false, {}, &of}); };
    std::vector<RequestRef> requests;
    for (i64 i = 0; i < kRequests; ++i) requests.push_back(start(queue, i));
    other.begun = true;
    EXPECT_EQ(start(other, 0)->wait().value(), 0);
    EXPECT_EQ(queue.ended, 0);
    queue.evaluated = 0;
    queue.begun = true;
    for (i64 i = kRequests - 1; i >= 0; --i) EXPECT_EQ(requests[static_cast<std::size_t>(i)]->wait().value(), i);
    EXPECT_LE(queue.evaluated, kMostEvaluations * kRequests);
  }
}

// The accesses of two ranks to a file. Each waits for those before it, and for the other rank.
struct SharedFile {
  i64 ended[2] = {}, arrived[2] = {};
  Task<Result<i64>> access(std::size_t rank, i64 number) {
    co_await until([this, rank, number] { return ended[rank] == number; });
    arrived[rank] = number + 1;
    co_await until([this, rank, number] { return arrived[1 - rank] > number; });
    co_return number;
  }
};

TEST(Progress, DrivesTheAccessesOfEachFileInWhateverOrderTheFilesAre) {
  for (const i64 count : {2, 40, 400}) {
    constexpr i64 kRequests = 2000, kMostStepsOfOne = 4;
    const i64 of_each = kRequests / count;
    std::vector<SharedFile> files(static_cast<std::size_t>(count));
    const std::unique_ptr<Progress> ranks[] = {make_polled_progress(), make_polled_progress()};
    for (std::size_t rank : {0, 1})
      for (i64 i = 0; i < kRequests; ++i) {
        const i64 place = i / of_each;
        SharedFile& file = files[static_cast<std::size_t>(rank == 0 ? place : count - 1 - place)];
        (void)ranks[rank]->start({file.access(rank, i % of_each), true, [&file, rank](const Result<i64>&) { ++file.ended[rank]; }, nullptr, false, {}, &file});
      }
    i64 steps = 0;
    for (bool more = true; more && steps <= kMostStepsOfOne * of_each; ++steps) {
      const bool first = ranks[0]->progress(true), second = ranks[1]->progress(true);
      more = first || second;
    }
    EXPECT_LE(steps, kMostStepsOfOne * of_each) << count << " files";
  }
}

TEST(ProgressThread, FinishesRequestsBeforeItsDestruction) {
  std::atomic<bool> flag{true};
  RequestRef request;
  {
    auto progress = make_progress_thread();
    request = progress->start({waits_for(flag, 5), true, nullptr, nullptr});
  }
  EXPECT_TRUE(request->done());
  EXPECT_EQ(request->wait().value(), 5);
}

// By the progress thread and by a waiting thread. Nothing of the access exists any more when its result is available.
TEST(ProgressThread, AbandonsRequestsThatWaitForDeadRanks) {
  auto progress = make_progress_thread();
  for (const bool sends : {true, false}) {
    std::atomic<bool> never{false}, dead{false};
    auto memory = std::make_shared<int>(1);
    const auto body = [](std::atomic<bool>& flag, std::shared_ptr<int> kept) -> Task<Result<i64>> {
      co_await until([&] { return flag.load(); });
      co_return *kept;
    };
    i64 told = 0;
    const auto on_done = [&](const Result<i64>& result) { told += result ? 0 : 1; };
    const auto failed = [&](bool) { return dead.load(); };
    auto request = progress->start({body(never, memory), sends, on_done, nullptr, false, failed});
    EXPECT_FALSE(request->wait_for(std::chrono::milliseconds(5)));
    dead = true;
    const Result<i64> ended = request->wait();
    ASSERT_FALSE(ended.ok());
    EXPECT_EQ(ended.error().cls, ErrorClass::kProcFailed);
    EXPECT_EQ(told, 1);
    EXPECT_EQ(memory.use_count(), 1);
  }
}

// Only the progress thread drives accesses that may send messages, whichever thread waits.
TEST(ProgressThread, WaitingThreadsDriveNoRequestThatSendsMessages) {
  auto progress = make_progress_thread();
  std::atomic<bool> flag{true};
  std::thread::id driver;
  auto request = progress->start({waits_for(flag, 3), true, [&](const Result<i64>&) { driver = std::this_thread::get_id(); }, nullptr});
  EXPECT_EQ(request->wait().value(), 3);
  EXPECT_NE(driver, std::this_thread::get_id());
}

// Several threads wait for the accesses that the progress thread drives. Each is driven by one thread at a time and ends once.
TEST(ProgressThread, OneThreadAtATimeDrivesARequest) {
  auto progress = make_progress_thread();
  const auto counts = [](std::atomic<i64>& inside, std::atomic<i64>& left) -> Task<Result<i64>> {
    co_await until([&] {
      EXPECT_EQ(inside++, 0);
      std::this_thread::yield();
      const bool over = --left <= 0;
      --inside;
      return over;
    });
    co_return 7;
  };
  std::atomic<i64> ended{0};
  for (i64 round = 0; round < 50; ++round) {
    std::atomic<i64> inside[4]{}, left[4]{{1}, {30}, {200}, {2}};
    std::vector<RequestRef> requests;
    for (std::size_t i = 0; i < 4; ++i)
      requests.push_back(progress->start({counts(inside[i], left[i]), false, [&](const Result<i64>&) { ++ended; }, nullptr}));
    std::vector<std::thread> waiters;
    for (i64 t = 0; t < 3; ++t) {
      waiters.emplace_back([&, t] {
        for (i64 i = 0; i < 4; ++i) {
          const auto& request = requests[static_cast<std::size_t>((i + t) % 4)];
          while (t == 2 && !request->wait_for(std::chrono::microseconds(5))) progress->progress(/*waits=*/true);
          EXPECT_EQ(request->wait().value(), 7);
        }
      });
    }
    for (std::thread& waiter : waiters) waiter.join();
  }
  EXPECT_EQ(ended, 200);
}

// The one that is waited for follows another. The progress thread leaves both to this thread, because it has waited at once before.
TEST(ProgressThread, WaitingForOneRequestAdvancesTheOthers) {
  auto progress = make_progress_thread();
  std::atomic<bool> yes{true}, over{false};
  EXPECT_EQ(progress->start({waits_for(yes, 1), false, nullptr, nullptr})->wait().value(), 1);
  const auto counts_to = [](std::thread::id thread, i64 steps) -> Task<Result<i64>> {
    co_await until([&] { return std::this_thread::get_id() == thread && --steps < 0; });
    co_return 2;
  };
  auto followed = progress->start({counts_to(std::this_thread::get_id(), 100), false, [&](const Result<i64>&) { over = true; }, nullptr});
  auto follower = progress->start({waits_for(over, 3), false, nullptr, nullptr});
  EXPECT_EQ(follower->wait().value(), 3);
  EXPECT_TRUE(followed->done());
  EXPECT_EQ(followed->wait().value(), 2);
}

// The one that is waited for never ends by itself; the other one is driven by this thread only.
TEST(ProgressThread, AWaitEndsWhenAnotherRequestDoes) {
  for (const bool polled : {false, true}) {
    auto progress = polled ? make_polled_progress() : make_progress_thread();
    std::atomic<bool> yes{true}, never{false};
    auto first = progress->start({waits_for(yes, 1), false, nullptr, nullptr});
    EXPECT_TRUE(first->wait_until([] { return false; }));
    const auto counts_to = [](std::thread::id thread, i64 steps) -> Task<Result<i64>> {
      co_await until([&] { return std::this_thread::get_id() == thread && --steps < 0; });
      co_return 2;
    };
    auto waited = progress->start({waits_for(never, 3), false, nullptr, nullptr});
    auto other = progress->start({counts_to(std::this_thread::get_id(), 100), false, nullptr, nullptr});
    EXPECT_FALSE(waited->wait_until([&] { return other->done(); }));
    EXPECT_EQ(other->wait().value(), 2);
    EXPECT_TRUE(other->wait_until([] { return true; }));
    never = true;
    EXPECT_EQ(waited->wait().value(), 3);
  }
}

// A thread that waits lets MPI progress in the pauses, also where another thread drives the access.
TEST(ProgressThread, ThreadsThatWaitMayCallMpiAndTheProgressThreadMayNot) {
  struct CountedPauses final : Pauses {
    const std::thread::id waiting = std::this_thread::get_id();
    std::atomic<i64> polls{0}, wrong{0};
    void note(bool may_call) {
      if (may_call) ++polls;
      if (may_call != (std::this_thread::get_id() == waiting)) ++wrong;
    }
    void pause(const Wait& wait) override {
      note(wait.may_call);
      std::this_thread::yield();
    }
    void poll_mpi() override { note(/*may_call=*/true); }
  };
  for (const bool sends : {true, false}) {
    auto progress = make_progress_thread();
    auto pauses = std::make_shared<CountedPauses>();
    std::atomic<bool> over{false};
    auto request = progress->start({waits_for(over, 1), sends, nullptr, pauses});
    for (i64 i = 0; i < 1000 && pauses->polls < 5; ++i) (void)request->wait_for(std::chrono::milliseconds(1));
    EXPECT_GE(pauses->polls, 5);
    over = true;
    EXPECT_EQ(request->wait().value(), 1);
    EXPECT_EQ(pauses->wrong, 0);
  }
}

// Where ranks share cores, a rank that waits looks at its requests seldom.
TEST(ProgressThread, AThreadThatIsKnownToWaitDrivesAfterAnyPause) {
  const auto counts_steps_of = [](std::thread::id thread, std::atomic<i64>& steps, std::atomic<bool>& over) -> Task<Result<i64>> {
    co_await until([&] {
      if (std::this_thread::get_id() == thread) ++steps;
      return over.load();
    });
    co_return 1;
  };
  auto progress = make_progress_thread();
  std::atomic<i64> steps{0};
  std::atomic<bool> over{false};
  auto request = progress->start({counts_steps_of(std::this_thread::get_id(), steps, over), false, nullptr, nullptr});
  const auto look = [&](bool waits) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    progress->progress(waits);
  };
  for (i64 i = 0; i < 20; ++i) look(/*waits=*/false);
  EXPECT_EQ(steps, 0);
  for (i64 i = 0; i < 1000 && steps < 5; ++i) look(/*waits=*/true);
  EXPECT_GE(steps, 5);
  over = true;
  EXPECT_EQ(request->wait().value(), 1);
}

TEST(PolledProgress, AdvancesOnlyWhenPolled) {
  std::atomic<bool> flag{false};
  std::atomic<i64> sum{0};
  auto progress = make_polled_progress();
  EXPECT_FALSE(progress->progress(/*waits=*/true));
  auto request = progress->start({waits_for(flag, 3), true, [&](const Result<i64>& r) { sum += r.value(); }, nullptr});
  EXPECT_TRUE(progress->progress(/*waits=*/true));
  EXPECT_FALSE(request->wait_for(std::chrono::microseconds(50)));
  flag = true;
  EXPECT_FALSE(request->done());
  EXPECT_FALSE(progress->progress(/*waits=*/true));
  EXPECT_TRUE(request->done());
  EXPECT_EQ(sum, 3);
}

// Two requests that need each other, waited for in the wrong order. Errors are results, too.
TEST(PolledProgress, WaitingForOneRequestAdvancesAll) {
  std::atomic<bool> first{false}, second{false};
  auto progress = make_polled_progress();
  auto a = progress->start({waits_for(second, 1), true, [&](const Result<i64>&) { first = true; }, nullptr});
  auto b = progress->start({waits_for(first, 2), true, nullptr, nullptr});
  auto c = progress->start({fails(), true, [&](const Result<i64>&) { second = true; }, nullptr});
  EXPECT_EQ(b->wait().value(), 2);
  EXPECT_EQ(a->wait().value(), 1);
  EXPECT_EQ(c->wait().error().cls, ErrorClass::kIo);
}

// The message-passing library may call back from within a step.
TEST(PolledProgress, ProgressInsideAStepDoesNothing) {
  auto progress = make_polled_progress();
  i64 steps = 0;
  auto calls_back = [](Progress& p, i64& n) -> Task<Result<i64>> {
    ++n;
    p.progress(/*waits=*/true);
    co_return n;
  };
  auto request = progress->start({calls_back(*progress, steps), true, nullptr, nullptr});
  EXPECT_EQ(request->wait().value(), 1);
}

}  // namespace
}  // namespace mercutio
