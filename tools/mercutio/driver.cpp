// The checks of storage/contract.h in this process, then one with several processes, as a job's ranks are: they begin before the
// driver is loaded, as launchers fork before a program opens a file.
#include "driver.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/attempt.h"
#include "storage/contract.h"
#include "storage/library/library.h"

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

class CheckReport {
 public:
  void add(const char* sentence, const ContractRun& run) {
    const bool failed = !run.failures().empty(), skipped = !failed && !run.skipped().empty();
    std::printf("%s  %s%s\n", failed ? "FAILED " : skipped ? "skipped" : "ok     ", sentence, skipped ? (": " + run.skipped()).c_str() : "");
    for (const std::string& failure : run.failures()) std::printf("           %s\n", failure.c_str());
    std::fflush(stdout);
    ++checks_;
    failed_ += failed;
  }
  int finish() const {
    std::printf("%d checks, %d failed\n", checks_, failed_);
    return failed_ == 0 ? 0 : 1;
  }

 private:
  int checks_ = 0, failed_ = 0;
};

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

// Processes that wait for a word, then do their work on a file and end.
class Workers {
 public:
  // Before any thread is started and the driver is loaded. `work` gets the number of the process, and the word.
  Workers(int processes, const std::function<int(int, const Word&)>& work) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    for (int i = 0; i < processes; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(ends[1]);
        Word word;
        ::_exit(::read(ends[0], &word, sizeof word) == sizeof word ? work(i, word) : 0);   // the end of the pipe: there is nothing to do
      }
      if (child > 0) children_.push_back(child);
    }
    ::close(ends[0]);
    start_ = ends[1];
  }
  ~Workers() { (void)run(Word(), false); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  size_t count() const { return children_.size(); }
  // Lets them work; how many of them did well.
  i64 run(const Word& word, bool at_all = true) {
    if (start_ < 0) return 0;
    for (size_t i = 0; at_all && i < children_.size(); ++i)
      if (::write(start_, &word, sizeof word) != sizeof word) return 0;
    ::close(start_);
    start_ = -1;
    i64 good = 0;
    for (const pid_t child : children_) {
      int status = 0;
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
      good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    return good;
  }

 private:
  std::vector<pid_t> children_;
  int start_ = -1;
};

void check_processes(ContractRun& run, Workers& workers) {
  const i64 ranks = static_cast<i64>(workers.count());
  Word word{draw_first_mark(ranks + 1), ranks + 1};
  const auto storage = run.open(/*create=*/true, WriterGroup{word.first_mark, 0, word.ranks});
  if (!storage) return;
  const auto handle = storage->shared_handle();
  if (!run.expect(handle.ok() && handle->size() <= Word::kMost, "a handle for the other processes")) return;
  word.handle_bytes = static_cast<i64>(handle->size());
  std::copy(handle->begin(), handle->end(), word.handle);
  if (storage->traits().coherence == Coherence::kAfterOpen) return run.skip("others see what was written after they have opened the file again");
  if (!run.equals(workers.run(word), ranks, "processes that could write")) return;
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

// Errors that programs ask for.
void check_errors(ContractRun& run, const Resolved& at) {
  OpenOptions options;
  const auto missing = at.driver->open(at.path, options);
  run.expect(!missing && missing.error().cls == ErrorClass::kNoSuchFile, "a file that is not there can't be opened (ENOENT)");
  options.write = options.create = options.exclusive = true;
  const auto made = at.driver->open(at.path, options);
  if (!run.expect(made ? ok_status() : Status(made.error()), "make a file")) return;
  run.expect((*made)->close(), "close");
  const auto again = at.driver->open(at.path, options);
  run.expect(!again && again.error().cls == ErrorClass::kFileExists, "one that is there can't be made with MPI_MODE_EXCL (EEXIST)");
  const Status removed = at.driver->remove(at.path);
  if (!removed && removed.error().cls == ErrorClass::kUnsupportedOperation) return;
  run.expect(removed, "delete it");
  run.expect(!at.driver->remove(at.path).ok(), "a file that was deleted can't be deleted");
}

}  // namespace

int check_driver(const DriverOptions& options) {
  int number = 0;
  const auto next_file = [&] { return options.file + ".check" + std::to_string(++number); };
  const std::string shared = next_file();
  Workers workers(options.processes, [&](int rank, const Word& word) {
    const Result<i64> done = attempt([&] { return work(resolve(shared), rank, options.processes, word); });
    if (!done) std::fprintf(stderr, "process %d: %s\n", rank, done.error().what.c_str());
    return done ? 0 : 1;
  });
  const Resolved first = resolve(options.file, "", library_name_of(options.file).driver);   // also where there is no such library: load() says so
  if (const Status loaded = first.driver->load(); !loaded) {
    std::fprintf(stderr, "mercutio driver: %s\n", loaded.error().what.c_str());
    return 1;
  }
  std::printf("driver %s\n", first.driver->name());
  CheckReport report;
  bool left = false;
  const auto check = [&](const char* sentence, const std::string& file, const std::function<void(ContractRun&)>& body) {
    const Resolved at = resolve(file);
    bool made = false;
    ContractRun run(
        [&](OpenOptions wanted) {
          wanted.exclusive = wanted.create && !made;   // never somebody else's file
          auto opened = at.driver->open(at.path, wanted);
          made = made || opened.ok();
          return opened;
        },
        std::string_view(first.driver->name()) != "null");
    if (const Status done = attempt([&] { return body(run), ok_status(); }); !done) run.expect(done, "the check");
    report.add(sentence, run);
    left |= made && !at.driver->remove(at.path).ok();
  };
  const std::string file = next_file();
  check("opening and deleting give the errors that programs ask for", file, [&](ContractRun& run) { check_errors(run, resolve(file)); });
  for (const ContractCheck& one : contract_checks()) check(one.sentence, next_file(), one.run);
  check("processes that write side by side keep each other's bytes", shared, [&](ContractRun& run) { check_processes(run, workers); });
  if (left) std::printf("files called %s.check1 and so on could not be deleted\n", options.file.c_str());
  return report.finish();
}

}  // namespace mercutio::tool
