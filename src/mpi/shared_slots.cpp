#include "mpi/shared_slots.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/errno_text.h"
#include "base/file_limit.h"
#include "base/random.h"
#include "base/thread_annotations.h"
#include "base/threads.h"
#include "mpi/abi_numbers.h"
#include "mpi/calls.h"
#include "mpi/environment.h"
#include "mpi/failures.h"
#include "mpi/finalize.h"
#include "mpi/mpi_comm.h"
#include "mpi/node_memory.h"
#include "mpi/real.h"
#include "storage/posix/file_system.h"

namespace mercutio {
namespace {

class MemorySlots final : public SharedSlots {
 public:
  MemorySlots(std::shared_ptr<NodeMemory> memory, i64 at) : memory_(std::move(memory)), slots_(reinterpret_cast<i64*>(memory_->data() + at)) {}
  Result<i64> fetch_add(i64 slot, i64 delta) override { return std::atomic_ref<i64>(slots_[slot]).fetch_add(delta); }
  Status store(i64 slot, i64 value) override {
    std::atomic_ref<i64>(slots_[slot]).store(value);
    return ok_status();
  }

 private:
  std::shared_ptr<NodeMemory> memory_;
  i64* slots_;
};

// A thread of rank 0 that lets MPICH answer the others' operations on a window while the program computes: MPICH does so only in calls of the
// target. While files are open, it looks now and then, and often while their counters change. It makes no call of MPI when all are closed, as in
// MPI_Finalize MPICH takes no lock.
class TargetProgress {
 public:
  TargetProgress(MPI_Comm comm, i64* counters) : comm_(comm), counters_(counters) {
    for (std::atomic<i64>& slot : recent_) slot.store(0);
    if (auto started = start_thread([this] { run(); })) thread_ = std::move(*started);
  }
  ~TargetProgress() { end(); }
  // No call of MPI is made afterwards.
  void end() {
    ask_to_end();
    if (thread_.joinable()) thread_.join();
  }
  // For exit(), which may be called while MPICH holds the lock that the thread waits for: it is left behind then.
  void end_or_leave() {
    if (!thread_.joinable()) return;
    ask_to_end();
    std::unique_lock lock(mutex_);
    const bool ended = changed_.wait_for(lock, kLongestCall, [this] { return ended_; });
    lock.unlock();
    if (ended) thread_.join();
    else thread_.detach();
  }
  TargetProgress(const TargetProgress&) = delete;
  TargetProgress& operator=(const TargetProgress&) = delete;
  void begin_use() {
    std::lock_guard lock(mutex_);
    if (uses_++ == 0) changed_.notify_all();
  }
  // The call that closes the file may hold the lock that the thread waits for: it is not waited for without an end.
  void end_use() {
    std::unique_lock lock(mutex_);
    if (--uses_ == 0) changed_.wait_for(lock, kLongestCall, [this] { return !calls_; });
  }
  void watch(i64 slot) { recent_[next_.fetch_add(1) % recent_.size()].store(slot); }

 private:
  static constexpr std::chrono::milliseconds kLongestCall{100};

  void ask_to_end() {
    {
      std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
  }

  void run() {
    using namespace std::chrono_literals;
    constexpr std::chrono::microseconds kShortest = 50us, kLongest = 10ms;
    std::chrono::microseconds pause = kLongest;
    i64 seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || uses_ > 0; });
      if (changed_.wait_for(lock, pause, [this] { return ends_; })) break;
      if (uses_ == 0) continue;
      calls_ = true;
      lock.unlock();
      int arrived = 0;
      PMPI_Iprobe(MPI_ANY_SOURCE, 0, comm_, &arrived, MPI_STATUS_IGNORE);
      lock.lock();
      calls_ = false;
      if (uses_ == 0) changed_.notify_all();
      i64 sum = 0;
      for (const std::atomic<i64>& slot : recent_) sum += std::atomic_ref<i64>(counters_[slot.load()]).load(std::memory_order_relaxed);
      pause = sum != std::exchange(seen, sum) ? kShortest : std::min(2 * pause, kLongest);
    }
    ended_ = true;
    changed_.notify_all();
  }

  const MPI_Comm comm_;
  i64* const counters_;
  std::array<std::atomic<i64>, 16> recent_;   // of the files opened last
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  i64 uses_ = 0;   // of counters
  bool calls_ = false, ends_ = false, ended_ = false;
  std::thread thread_;
};

// The windows of this process. Freeing a window is collective. In MPI_Finalize the remaining ones are freed in the order of their
// numbers, which is the same on all ranks, even if threads created them in a different order.
class Windows {
 public:
  struct Window {
    std::int64_t number;
    MPI_Comm comm;
    MPI_Win handle;
    std::shared_ptr<TargetProgress> progress;   // null: none is needed
  };
  void add(const Window& window) {
    std::lock_guard lock(mutex_);
    open_.emplace(window.number, window);
  }
  void free(std::int64_t number) {
    Window window{};
    {
      std::lock_guard lock(mutex_);
      auto found = open_.extract(number);
      if (!found) return;
      window = std::move(found.mapped());
    }
    if (window.progress) window.progress->end();
    if (is_revoked(window.comm)) return;   // a rank has died
    PMPI_Win_unlock_all(window.handle);
    PMPI_Win_free(&window.handle);
  }
  // For a process that ends without MPI_Finalize.
  void leave_progress() {
    std::lock_guard lock(mutex_);
    for (const auto& [number, window] : open_)
      if (window.progress) window.progress->end_or_leave();
  }
  void free_all() {
    for (;;) {
      std::int64_t lowest = 0;
      {
        std::lock_guard lock(mutex_);
        if (open_.empty()) return;
        lowest = open_.begin()->first;
      }
      free(lowest);
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, Window> open_ MERCUTIO_GUARDED_BY(mutex_);
};

// A window must be freed before MPI_Finalize ends RMA. A program that uses only sessions must close its files.
Windows& windows() {
  static Windows* const all = [] {
    static const pid_t owner = ::getpid();
    std::atexit([] {
      if (::getpid() == owner) windows().leave_progress();   // a forked child has no such thread
    });
    at_finalize(AtFinalize::kWindows, [] { windows().free_all(); });
    return new Windows;
  }();
  return *all;
}

class WindowSlots final : public SharedSlots {
 public:
  // `number`: drawn at random, the same on all ranks.
  WindowSlots(MPI_Comm comm, MPI_Win window, std::int64_t number, std::shared_ptr<TargetProgress> progress)
      : window_(window), number_(number), progress_(std::move(progress)) {
    windows().add({number, comm, window, progress_});
  }
  ~WindowSlots() override { windows().free(number_); }
  Result<i64> fetch_add(i64 slot, i64 delta) override { return exchange(slot, delta, MPI_SUM); }
  Status store(i64 slot, i64 value) override {
    MERCUTIO_TRY(exchange(slot, value, MPI_REPLACE));
    if (progress_) progress_->watch(slot);
    return ok_status();
  }
  bool calls_mpi() const override { return true; }
  void begin_use() override {
    if (progress_) progress_->begin_use();
  }
  void end_use() override {
    if (progress_) progress_->end_use();
  }

 private:
  Result<i64> exchange(i64 slot, i64 value, MPI_Op op) {
    std::int64_t before = 0, operand = value;
    int code = PMPI_Fetch_and_op(&operand, &before, MPI_INT64_T, 0, static_cast<MPI_Aint>(slot), op, window_);
    if (code == MPI_SUCCESS) code = PMPI_Win_flush(0, window_);
    if (code != MPI_SUCCESS) return Error{ErrorClass::kOther, "shared file pointer: MPI_Fetch_and_op failed"};
    return before;
  }
  const MPI_Win window_;
  const std::int64_t number_;
  const std::shared_ptr<TargetProgress> progress_;
};

// If neither memory nor a window can be shared: a small file that all ranks open. Each update holds a lock of the counter's bytes.
// With locks of an open file description (or of the process, if the system has no others), NFS clients revalidate their cache. On
// other file systems it is accessed without the node's cache (is_seen_by_all). Rank 0 removes the file together with the RankGroup.
// It cannot be removed earlier, because a network file system would then remove it for the other nodes.
class FileSlots final : public SharedSlots {
 public:
  FileSlots(int fd, std::string own_path) : fd_(fd), own_path_(std::move(own_path)) {}
  ~FileSlots() override {
    ::close(fd_);
    if (!own_path_.empty()) ::unlink(own_path_.c_str());
  }
  Result<i64> fetch_add(i64 slot, i64 delta) override {
    return update(slot, [delta](i64 before) { return before + delta; });
  }
  Status store(i64 slot, i64 value) override {
    MERCUTIO_TRY(update(slot, [value](i64) { return value; }));
    return ok_status();
  }

 private:
  template <class Change>
  Result<i64> update(i64 slot, Change change) {
    std::lock_guard guard(mutex_);   // the file lock does not exclude threads of the same process
    const i64 offset = slot * static_cast<i64>(sizeof(i64));
    i64 value = 0;
    bool done = set_lock(F_WRLCK, offset) && ::pread(fd_, &value, sizeof value, offset) == sizeof value;
    const i64 after = change(value);
    done = done && (after == value || ::pwrite(fd_, &after, sizeof after, offset) == sizeof after);
    int cause = errno;
    if (!set_lock(F_UNLCK, offset)) {   // other processes must not wait for ever: closing the descriptor releases its locks
      cause = errno;
      done = false;
      ::close(std::exchange(fd_, -1));
    }
    if (done) return value;
    return Error{ErrorClass::kIo, std::string("shared file pointer: its file can't be used: ") + errno_text(cause)};
  }
  bool set_lock(short type, i64 offset) {
    struct flock range{};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = offset;
    range.l_len = sizeof(i64);
    for (;;) {
      if (::fcntl(fd_, lock_call_, &range) == 0) return true;
      if (errno == EINVAL && lock_call_ == F_OFD_SETLKW) {
        lock_call_ = F_SETLKW;
      } else if (errno != EINTR) {
        return false;
      }
    }
  }

  int fd_;
  std::string own_path_;   // on rank 0
  int lock_call_ = F_OFD_SETLKW;
  std::mutex mutex_;
};

// Whether every node sees what another one wrote under a lock. If it can be achieved, it holds from now on.
bool is_seen_by_all(int fd, const Topology& topology) {
  if (topology.nodes() == 1) return true;
  Traits traits = posix::traits_of(fd);
  posix::make_coherent(fd, CoherenceWay::kAuto, traits);
  return traits.coherence != Coherence::kAfterOpen || traits.way == CoherenceWay::kLocks;
}

// Creates a file of zero counters. -1 and errno on failure.
int create_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, kCounterMemoryBytes) == 0) return fd;
  const int failed = errno;
  ::close(fd);
  ::unlink(path.c_str());
  errno = failed;
  return -1;
}

// What rank 0 sends about its file: the path, or the reason why there is none.
struct SlotsFile {
  std::int64_t id = 0;
  char path[4096] = "", why[512] = "";
};

int create_in_one_of(const std::vector<std::string>& directories, SlotsFile& made) {
  for (const std::string& directory : directories) {
    const std::string wanted = directory + random_file_name();
    const bool fits = wanted.size() < sizeof made.path;
    const int fd = fits ? create_file(wanted) : -1;
    if (fd >= 0) {
      std::snprintf(made.path, sizeof made.path, "%s", wanted.c_str());
      return fd;
    }
    const std::string why = directory + ": " + errno_text(fits ? errno : ENAMETOOLONG);
    if (!made.why[0]) std::snprintf(made.why, sizeof made.why, "%s", why.c_str());
  }
  return -1;
}

std::unique_ptr<SharedSlots> make_memory_slots(MPI_Comm comm) {
  auto memory = make_node_memory(comm, kCounterMemoryBytes);
  if (!memory) return nullptr;
  return std::make_unique<MemorySlots>(std::move(*memory), 0);
}

bool has_free_descriptor() {
  const int fd = ::eventfd(0, EFD_CLOEXEC);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

// Whether the MPI can create one more communicator, which a window needs, and map its memory. Some MPIs end the job if a window cannot get a
// communicator, or wait for ever for a rank that has no descriptor left. MPICH maps the file of the memory also where it could not be made that long.
bool window_possible(MPI_Comm comm) {
  constexpr i64 kMostWindowBytes = 2 * kCounterMemoryBytes;   // rounded up for each rank
  MPI_Comm trial = MPI_COMM_NULL;
  const bool duplicated = PMPI_Comm_dup(comm, &trial) == MPI_SUCCESS;
  int mine = duplicated && has_free_descriptor() && file_size_allowed(kMostWindowBytes), all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
  if (duplicated) PMPI_Comm_free(&trial);
  return all != 0;
}

std::unique_ptr<SharedSlots> make_window_slots(MPI_Comm comm, std::int64_t number) {
  if (!window_possible(comm)) return nullptr;
  int rank = 0, size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Aint bytes = rank == 0 ? static_cast<MPI_Aint>(kCounterMemoryBytes) : 0;
  int mine = PMPI_Win_allocate(bytes, sizeof(i64), MPI_INFO_NULL, comm, &base, &window) == MPI_SUCCESS, all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
  if (!all) return nullptr;   // a window that only some ranks have stays, because freeing one is collective
  PMPI_Win_set_errhandler(window, abi_numbers().errors_return);
  if (rank == 0) std::memset(base, 0, static_cast<std::size_t>(bytes));
  PMPI_Win_lock_all(0, window);
  PMPI_Barrier(comm);
  const bool needs_progress = rank == 0 && size > 1 && real_symbol("PMPIX_Grequest_start") && thread_multiple();
  return std::make_unique<WindowSlots>(comm, window, number, needs_progress ? std::make_shared<TargetProgress>(comm, static_cast<i64*>(base)) : nullptr);
}

}  // namespace

std::unique_ptr<SharedSlots> make_shared_slots(MPI_Comm comm, const Topology& topology, const SlotsWish& wish, const CounterMemory& there) {
  const auto first = static_cast<SharedPointerWay>(wish.way);
  std::unique_ptr<SharedSlots> slots;
  if (first == SharedPointerWay::kMemory && there.memory) return std::make_unique<MemorySlots>(there.memory, there.at);
  if (first == SharedPointerWay::kMemory && topology.nodes() == 1) slots = make_memory_slots(comm);
  if (!slots && first != SharedPointerWay::kFile) slots = make_window_slots(comm, wish.number);
  return slots;
}

SlotsWish wish_for_slots() { return {static_cast<std::int64_t>(shared_pointer_way()), static_cast<std::int64_t>(random_number() >> 1)}; }

Result<CounterFile> make_counter_file(MPI_Comm comm, const Topology& topology, const std::string& folder) {
  int rank = 0, fd = -1;
  PMPI_Comm_rank(comm, &rank);
  SlotsFile made;
  if (rank == 0) fd = create_in_one_of(shared_pointer_directories(folder), made);
  if (rank == 0) made.id = static_cast<std::int64_t>(random_number() >> 1) | 1;
  PMPI_Bcast(&made, sizeof made, MPI_BYTE, 0, comm);
  if (rank != 0 && made.path[0]) fd = ::open(made.path, O_RDWR | O_CLOEXEC);
  int mine = fd >= 0 && is_seen_by_all(fd, topology), all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
  const bool needs_name = topology.nodes() > 1;   // a file server removes an unlinked file although clients have it open
  if (rank == 0 && made.path[0] && (!all || !needs_name)) ::unlink(made.path);
  if (all) return CounterFile{made.id, std::make_shared<FileSlots>(fd, rank == 0 && needs_name ? made.path : "")};
  if (fd >= 0) ::close(fd);
  const std::string why = made.path[0] ? "not all ranks can open and see alike a file in the directory of " + std::string(made.path) : made.why;
  return Error{ErrorClass::kUnsupportedOperation,
               "no shared file pointer: " + why + "; MERCUTIO_SHARED_POINTER_DIR names a directory for its file that all ranks share"};
}

}  // namespace mercutio
