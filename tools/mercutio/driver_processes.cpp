// The check of several processes, as a job's ranks are: they begin before the driver is loaded, as launchers fork before a program
// opens a file.
#include "driver_processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/attempt.h"

namespace mercutio::tool {
namespace {

constexpr i64 kPieces = 200, kBytes = 777, kRounds = 50;   // of each process: unaligned pieces; increments under a lock

// Beyond the pieces of all, behind a hole.
i64 counter_at(i64 ranks) {
  return ranks * kPieces * kBytes + MiB;
}

std::byte byte_at(i64 position) {
  return static_cast<std::byte>(1 + (position * 7 + position / 256) % 251);
}

// What the process that checks tells the others. As long as a pipe takes at once.
struct Word {
  static constexpr size_t kMost = 4096 - 3 * sizeof(i64);
  i64 first_mark = 0, ranks = 0, handle_bytes = 0;   // ranks 0: there is nothing to do
  std::byte handle[kMost] = {};
};
static_assert(sizeof(Word) == 4096);

// What a rank does: writes its pieces between those of the others, then counts under a lock.
Result<i64> work(const Resolved& at, i64 rank, i64 ranks, const Word& word) {
  OpenOptions options;
  options.write = options.keeps_writes = true;
  options.group = WriterGroup{word.first_mark, rank + 1, word.ranks};
  options.handle = std::span(word.handle, static_cast<size_t>(word.handle_bytes));
  MERCUTIO_LET(const auto storage, at.driver->open(at.path, options));
  std::vector<std::byte> data(kBytes);
  for (i64 index = rank; index < kPieces * ranks; index += ranks) {
    for (i64 i = 0; i < kBytes; ++i) data[static_cast<size_t>(i)] = byte_at(index * kBytes + i);
    const IoPiece piece{index * kBytes, data.data(), kBytes};
    MERCUTIO_TRY(storage->write({&piece, 1}));
  }
  const bool locks = storage->traits().can_lock;
  for (i64 round = 0; locks && round < kRounds; ++round) {
    i64 counter = 0;
    const IoPiece piece{counter_at(ranks), reinterpret_cast<std::byte*>(&counter), sizeof counter};
    MERCUTIO_LET(auto held, storage->lock(piece.offset, piece.offset + piece.bytes, /*exclusive=*/true));
    MERCUTIO_TRY(storage->read({&piece, 1}));
    ++counter;
    MERCUTIO_TRY(storage->write({&piece, 1}));
    MERCUTIO_TRY(storage->flush());
    MERCUTIO_TRY(release(std::move(held)));
  }
  MERCUTIO_TRY(storage->sync());
  MERCUTIO_TRY(storage->close());
  return i64{0};
}

}  // namespace

void end_with_parent() {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// Processes that wait for a word, then do their work on a file and end.
class DriverWorkers::Processes {
 public:
  // Before any thread is started and the driver is loaded. `work` gets the number of the process, and the word.
  Processes(int processes, const std::function<int(int, const Word&)>& work) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    for (int i = 0; i < processes; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        end_with_parent();
        ::close(ends[1]);
        Word word;
        ::_exit(::read(ends[0], &word, sizeof word) == sizeof word ? work(i, word) : 0);   // the end of the pipe: there is nothing to do
      }
      if (child > 0) children_.push_back(child);
    }
    ::close(ends[0]);
    start_ = ends[1];
  }
  ~Processes() {
    std::string ignored;
    (void)run(Word(), ignored, /*at_all=*/false);
  }
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  size_t count() const { return children_.size(); }
  // Lets them work; how many of them did well, and what became of the last one that did not.
  i64 run(const Word& word, std::string& why, bool at_all = true) {
    if (start_ < 0) return 0;
    for (size_t i = 0; at_all && i < children_.size(); ++i)
      if (::write(start_, &word, sizeof word) != sizeof word) return 0;
    ::close(start_);
    start_ = -1;
    i64 good = 0;
    for (const pid_t child : children_) {
      int status = 0;
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) ++good;
      else if (WIFSIGNALED(status)) why = "; one crashed (signal " + std::to_string(WTERMSIG(status)) + ")";
    }
    return good;
  }

 private:
  std::vector<pid_t> children_;
  int start_ = -1;
};

DriverWorkers::DriverWorkers(const std::string& file, int processes)
    : processes_(std::make_unique<Processes>(processes, [=](int rank, const Word& word) {
        const Result<i64> done = attempt([&] { return work(resolve(file), rank, processes, word); });
        if (!done) std::fprintf(stderr, "process %d: %s\n", rank, done.error().what.c_str());
        return done ? 0 : 1;
      })) {}
DriverWorkers::~DriverWorkers() = default;

void DriverWorkers::check(ContractRun& run) {
  const i64 ranks = static_cast<i64>(processes_->count());
  Word word{draw_first_mark(ranks + 1), ranks + 1};
  const auto storage = run.open(/*create=*/true, WriterGroup{word.first_mark, 0, word.ranks});
  if (!storage) return;
  const auto handle = storage->shared_handle();
  if (!run.expect(handle.ok() && handle->size() <= Word::kMost, "a handle for the other processes")) return;
  word.handle_bytes = static_cast<i64>(handle->size());
  std::copy(handle->begin(), handle->end(), word.handle);
  if (storage->traits().coherence == Coherence::kAfterOpen) return run.skip("others see what was written after they have opened the file again");
  std::string why;
  const i64 good = processes_->run(word, why);
  if (!run.expect(good == ranks, "only " + std::to_string(good) + " of " + std::to_string(ranks) + " processes could write" + why)) return;
  run.expect(storage->sync(), "sync");
  run.expect(storage->publish(/*keep=*/true, /*last=*/false), "publish");
  run.expect(storage->refresh(), "refresh");
  std::vector<std::byte> in(static_cast<size_t>(ranks * kPieces * kBytes));
  const IoPiece all{0, in.data(), static_cast<i64>(in.size())};
  if (!run.equals(storage->read({&all, 1}), static_cast<i64>(in.size()), "bytes read")) return;
  for (i64 i = 0; i < static_cast<i64>(in.size()); ++i) {
    if (in[static_cast<size_t>(i)] == byte_at(i)) continue;
    run.expect(false, "byte " + std::to_string(i) + ", written by process " + std::to_string(i / kBytes % ranks) + " beside others, is wrong");
    break;
  }
  if (!storage->traits().can_lock) return;
  i64 counter = 0;
  const IoPiece piece{counter_at(ranks), reinterpret_cast<std::byte*>(&counter), sizeof counter};
  run.equals(storage->read({&piece, 1}), 8, "bytes of the counter");
  run.equals(counter, ranks * kRounds, "what all processes counted under a lock");
}
}  // namespace mercutio::tool
