// Random fault schedules: clients work through links, routers and servers that break, and on a disk that fills. Every operation
// ends in bounded time, nothing is told done that isn't, and a file holds what was acknowledged.
//   remote_schedules [--schedules 40] [--seed 1] [--at-once 4] [--hang 30] [--slow 0] [--print]
// --slow prints those in which an operation took longer. A schedule that fails prints its seed and what happened; threads and sockets have their own timing, so it may take several
// runs of `--seed N --schedules 1` to see it again.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <thread>

#include "base/trace.h"
#include "schedule_client.h"

namespace mercutio::remote {
namespace {

struct Options {
  i64 schedules = 40, seed = 1, at_once = 4, hang_s = 30, slow_s = 0;
  bool print = false;
};

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}
  bool all();

 private:
  struct Active {
    i64 seed;
    World* world;
    std::vector<std::unique_ptr<Client>>* clients;
  };
  void worker();
  void watch();
  void schedule(i64 seed);
  void check_counter(Shared& shared);
  void print(i64 seed, const std::string& why, World& world);

  const Options options_;
  Totals totals_;
  std::atomic<i64> next_{0}, faults_{0}, failed_{0};
  std::atomic<bool> finished_{false};
  std::mutex mutex_;
  std::list<Active> active_;
};

void Run::print(i64 seed, const std::string& why, World& world) {
  std::printf("schedule %lld: %s\n%s\n", static_cast<long long>(seed), why.c_str(), world.notes().c_str());
  std::fflush(stdout);
}

void Run::check_counter(Shared& shared) {
  i64 value = 0;
  std::ifstream(shared.world.folder() + "/counter", std::ios::binary).read(reinterpret_cast<char*>(&value), 8);
  if (value >= shared.counted && value <= shared.tried_to_count) return;
  shared.fail("the counter is " + std::to_string(value) + " after " + std::to_string(shared.counted) + " of " +
              std::to_string(shared.tried_to_count) + " increments");
}

void Run::schedule(i64 seed) {
  Dice dice(static_cast<std::uint64_t>(seed) * 1'000'003);
  World world(static_cast<std::uint64_t>(seed));
  Shared shared{world, totals_};
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0, count = static_cast<int>(dice.from_to(1, 3)); i < count; ++i)
    clients.push_back(std::make_unique<Client>(shared, i, static_cast<std::uint64_t>(seed * 64 + i)));
  std::list<Active>::iterator entry;
  {
    std::lock_guard guard(mutex_);
    entry = active_.insert(active_.end(), {seed, &world, &clients});
  }
  std::atomic<bool> over{false};
  std::list<std::thread> threads;
  for (auto& client : clients) threads.emplace_back([&] { client->work(over); });
  const i64 end = now_ns() + dice.from_to(200, 1'000) * 1'000'000;
  while (now_ns() < end) {
    wait_ms(dice.from_to(0, 60));
    world.one_fault(dice);
  }
  world.calm();
  over = true;
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  for (auto& client : clients) threads.emplace_back([&] { client->check(); });
  for (std::thread& thread : threads) thread.join();
  check_counter(shared);
  {
    std::lock_guard guard(mutex_);
    active_.erase(entry);
  }
  faults_ += world.faults();
  clients.clear();
  if (shared.failed()) ++failed_;
  const bool slow = options_.slow_s > 0 && shared.slowest_ns > options_.slow_s * 1'000'000'000;
  if (shared.failed() || slow || options_.print) print(seed, shared.failed() ? shared.wrong : slow ? "right, but slow" : "right", world);
}

void Run::worker() {
  for (i64 i = next_++; i < options_.schedules && failed_ < 10; i = next_++) schedule(options_.seed + i);
}

// Whoever waits for so long would wait for ever.
void Run::watch() {
  while (!finished_) {
    wait_ms(100);
    std::lock_guard guard(mutex_);
    for (const Active& one : active_) {
      for (const auto& client : *one.clients) {
        const i64 since = client->waits_since_ns();
        if (since == 0 || now_ns() - since < options_.hang_s * 1'000'000'000) continue;
        print(one.seed, std::string("hangs in ") + client->waits_for(), *one.world);
        ::_exit(3);
      }
    }
  }
}

bool Run::all() {
  std::thread watching([this] { watch(); });
  std::list<std::thread> workers;
  for (i64 i = 0; i < options_.at_once; ++i) workers.emplace_back([this] { worker(); });
  for (std::thread& thread : workers) thread.join();
  finished_ = true;
  watching.join();
  std::printf("%lld schedules, %lld faults, %lld operations: %lld errors told, %lld writes confirmed, %lld may have come late; "
              "%lld sessions, %lld streams made anew; the longest operation took %.1f s; %lld schedules failed\n",
              static_cast<long long>(next_ - options_.at_once), static_cast<long long>(faults_), static_cast<long long>(totals_.operations),
              static_cast<long long>(totals_.errors), static_cast<long long>(totals_.confirmed), static_cast<long long>(totals_.late),
              static_cast<long long>(totals_.sessions), static_cast<long long>(totals_.reconnects),
              static_cast<double>(totals_.longest_ns) / 1e9, static_cast<long long>(failed_));
  return failed_ == 0;
}

}  // namespace
}  // namespace mercutio::remote

int main(int count, char** words) {
  mercutio::remote::Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto number = [&] { return i + 1 < count ? std::atoll(words[++i]) : 0; };
    if (word == "--schedules") {
      options.schedules = number();
    } else if (word == "--seed") {
      options.seed = number();
    } else if (word == "--at-once") {
      options.at_once = number();
    } else if (word == "--hang") {
      options.hang_s = number();
    } else if (word == "--slow") {
      options.slow_s = number();
    } else if (word == "--print") {
      options.print = true;
    } else {
      std::fprintf(stderr, "remote_schedules: what is %s? --schedules N --seed N --at-once N --hang SECONDS --slow SECONDS --print\n", words[i]);
      return 2;
    }
  }
  return mercutio::remote::Run(options).all() ? 0 : 1;
}
