// The checks of storage/contract.h and those of this folder in a process of their own: a driver may crash, hang, or end the process.
// What it is doing stands in memory that both processes have. Where the process ends, another one goes on behind the check that it was in.
#include "driver.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "driver_checks.h"
#include "driver_processes.h"
#include "storage/library/library.h"

namespace mercutio::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostBroken = 3;     // checks that end the process, until the rest is left out
constexpr int kCleanSeconds = 20;  // for removing what such a check has left

// What the process that checks says to the one that watches it.
struct Board {
  enum Step { kLoading = -1, kEnding = -2 };
  std::atomic<int> step{kLoading};   // the number of a check, or another Step
  std::atomic<i64> begun{0};         // its time
  std::atomic<int> checks{0}, failed{0};
  std::atomic<bool> refused{false};   // there is no such driver, or it says why it can't be used
  std::atomic<bool> left{false};      // files that could not be deleted

  void begin(int next) {
    begun = Clock::now().time_since_epoch().count();
    step = next;
  }
};

struct Check {
  const char* sentence;
  std::function<void(ContractRun&, const Resolved&)> run;
};

// The last one is that of several processes.
std::vector<Check> all_checks() {
  std::vector<Check> checks{{"opening and deleting give the errors that programs ask for", check_errors}};
  for (const ContractCheck& one : contract_checks()) checks.push_back({one.sentence, [&one](ContractRun& run, const Resolved&) { one.run(run); }});
  checks.push_back({"a new file has the permissions that were asked for", check_permissions});
  checks.push_back({"ranks are told the same of a file, and of another one another number", check_numbers});
  checks.push_back({"a lock without an end holds however far the file goes", check_endless_locks});
  checks.push_back({"folders have the names that are in them", check_names});
  checks.push_back({"renaming keeps the file, and replaces another one only where that is asked", check_renames});
  checks.push_back({"processes that write side by side keep each other's bytes", nullptr});
  return checks;
}

void print_line(const char* verdict, const char* sentence, const std::string& why) {
  std::printf("%s  %s%s\n", verdict, sentence, why.empty() ? "" : (": " + why).c_str());
  std::fflush(stdout);
}

class Checking {
 public:
  Checking(const DriverOptions& options, Board& board) : options_(options), board_(board), checks_(all_checks()) {
    char tag[16];
    std::snprintf(tag, sizeof tag, "%08x", std::random_device()());
    base_ = options.file + ".check-" + tag + "-";   // free also where an earlier run was killed
  }

  const std::vector<Check>& checks() const { return checks_; }
  std::string names() const { return base_ + "1"; }
  std::string file_of(int number) const { return base_ + std::to_string(number + 1); }
  // In a process of its own: the checks from that one on.
  void run_from(int first) {
    board_.begin(Board::kLoading);
    DriverWorkers workers(file_of(static_cast<int>(checks_.size()) - 1), options_.processes);
    const Resolved named = resolve(options_.file, "", library_name_of(options_.file).driver);   // also where there is no such library: load() says so
    if (const Status loaded = named.driver->load(); !loaded) {
      std::fprintf(stderr, "mercutio driver: %s\n", loaded.error().what.c_str());
      board_.refused = true;
      return;
    }
    if (first == 0) std::printf("driver %s\n", named.driver->name());
    std::fflush(stdout);
    for (int number = first; number < static_cast<int>(checks_.size()); ++number) {
      board_.begin(number);
      run_one(number, resolve(file_of(number), "", library_name_of(options_.file).driver), workers);
    }
    board_.begin(Board::kEnding);
  }
  // The same for what a check has left that ended the process.
  void clean(int number) {
    const Resolved at = resolve(file_of(number), "", library_name_of(options_.file).driver);
    if (!remove_made(at)) board_.left = true;
  }

 private:
  void run_one(int number, const Resolved& at, DriverWorkers& workers) {
    const Check& check = checks_[static_cast<size_t>(number)];
    bool made = false;
    ContractRun run(
        [&](OpenOptions wanted) {
          wanted.exclusive = wanted.create && !made;   // never somebody else's file
          auto opened = at.driver->open(at.path, wanted);
          made = made || opened.ok();
          return opened;
        },
        std::string_view(at.driver->name()) != "null");
    const auto body = [&] {
      if (check.run) check.run(run, at);
      else workers.check(run);
      return ok_status();
    };
    if (const Status done = attempt(body); !done) run.expect(done, "the check");
    const bool failed = !run.failures().empty(), skipped = !failed && !run.skipped().empty();
    if (!remove_made(at)) board_.left = true;
    print_line(failed ? "FAILED " : skipped ? "skipped" : "ok     ", check.sentence, skipped ? run.skipped() : "");
    for (const std::string& failure : run.failures()) std::printf("           %s\n", failure.c_str());
    std::fflush(stdout);
    ++board_.checks;
    board_.failed += failed;
  }

  const DriverOptions options_;
  Board& board_;
  const std::vector<Check> checks_;
  std::string base_;
};

// Runs that in a process of its own, of which no step may take longer; why it did not end as it should, or "".
std::string run_apart(Board& board, int seconds, const std::function<void()>& body) {
  std::fflush(stdout);
  board.begin(Board::kLoading);
  const pid_t child = ::fork();
  if (child < 0) return "there is no other process for it";
  if (child == 0) {
    end_with_parent();
    body();
    std::exit(0);   // libraries end as in a program
  }
  int status = 0;
  for (pid_t ended = 0; ended == 0; ended = ::waitpid(child, &status, WNOHANG)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto taken = Clock::now().time_since_epoch() - Clock::duration(board.begun.load());
    if (taken < std::chrono::seconds(seconds)) continue;
    (void)::kill(child, SIGKILL);
    (void)::waitpid(child, nullptr, 0);
    return "the driver did not return within " + std::to_string(seconds) + " seconds";
  }
  if (WIFSIGNALED(status)) return "crashed (signal " + std::to_string(WTERMSIG(status)) + ")";
  const bool whole = board.step == Board::kEnding || board.refused;
  return whole ? "" : "ended the process (exit code " + std::to_string(WEXITSTATUS(status)) + ")";
}

}  // namespace

int check_driver(const DriverOptions& options) {
  void* const shared = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  Board& board = *new (shared) Board;
  Checking checking(options, board);
  const int count = static_cast<int>(checking.checks().size());
  for (int first = 0, broken = 0; first < count;) {
    const std::string why = run_apart(board, options.seconds, [&] { checking.run_from(first); });
    if (board.refused) return 1;
    if (why.empty()) break;
    const int step = board.step;
    const char* const sentence = step == Board::kLoading  ? "the library is loaded and initialised"
                                 : step == Board::kEnding ? "the process ends when all is done"
                                                          : checking.checks()[static_cast<size_t>(step)].sentence;
    print_line("FAILED ", sentence, why);
    ++board.checks;
    ++board.failed;
    if (step < 0) break;
    const auto clean = [&] {
      checking.clean(step);
      board.begin(Board::kEnding);
    };
    if (!run_apart(board, kCleanSeconds, clean).empty()) board.left = true;
    first = step + 1;
    if (++broken < kMostBroken || first == count) continue;
    std::printf("the other checks are left out\n");
    break;
  }
  if (board.left) std::printf("files called %s and so on could not be deleted\n", checking.names().c_str());
  std::printf("%d checks, %d failed\n", board.checks.load(), board.failed.load());
  return board.failed == 0 ? 0 : 1;
}

}  // namespace mercutio::tool
