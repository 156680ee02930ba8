// A file that a team of threads has opened, and the collective calls on it.
//
// In a call each thread stores its request in its own slot of the file. Then the team meets (team.h) and agrees on one file, and
// every thread reads all slots. So all threads find the same error, or each computes its own share, moves it, and waits at the
// file's barrier. The last thread at the barrier publishes results, errors and the file pointer. If a thread has passed another
// file, its slot lacks the number of this round. The last thread at the barrier also opens the file. Cost besides moving the data:
// one meeting, one barrier, and O(threads) words read by each thread.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "omp/barrier.h"
#include "omp/mover.h"
#include "omp/request.h"
#include "omp/shares.h"
#include "omp/team.h"
#include "storage/storage.h"

namespace mercutio::omp {

class File;

// The open files of a process by their handles, from 1. Lock-free.
class Files {
 public:
  File* find(int handle) const;
  int add(File* file);  // 0: too many files
  void remove(int handle);

 private:
  std::array<std::atomic<File*>, 4096> files_{};
};

struct OpenCall {
  int* handle = nullptr;  // where the thread wants the handle
  const char* name = nullptr;
  int flags = 0;
};

class File final : private Mover::Tally {
 public:
  explicit File(const TeamId& team);

  const TeamId& team() const { return team_; }
  void post(i64 thread, const Request& request);
  void withdraw(i64 thread);
  // The rest of a call, after the team has met. Returns the bytes of this thread's data.
  Result<i64> carry_out(i64 thread, const char* routine, Files& files);
  Status open(i64 thread, const OpenCall& call, Files& files);
  // Whether the calling thread is the last one that uses this object, which no handle refers to any more.
  bool last_to_leave() {
    const i64 size = team_.size;  // a thread that has left must not access the object any more
    return is_closed_ && left_.fetch_add(1, std::memory_order_acq_rel) + 1 == size;
  }
  // Instead of opening: returns a handle of this file for a storage that is already open.
  int adopt(std::unique_ptr<Storage> storage, Files& files);

 private:
  struct alignas(64) Slot {
    Request request;
    OpenCall opening;
    i64 round = 0;                 // number of the call to which the request belongs
    std::optional<Error> refused;  // the error of its arguments
    std::optional<Error> failed;   // the error of moving this thread's share
    std::atomic<i64> moved{0};     // bytes of this thread's data, moved by any thread
    i64 result = 0;
    std::vector<MergeCursor> cursors;
  };

  void add(size_t request, i64 bytes) override { slots_[request].moved.fetch_add(bytes, std::memory_order_relaxed); }
  std::optional<Error> find_fault() const;
  std::optional<Error> fault_of(size_t thread) const;
  std::optional<Error> fault_of_all() const;
  Access access() const;
  Status move(i64 thread);
  void conclude(std::optional<Error> fault, Files& files);
  Status finish(Operation operation, Files& files);
  Status open_for_all(Files& files);
  Status open_storage(const OpenCall& call);
  void use_storage(std::unique_ptr<Storage> storage);
  Error completed(Error error, const char* routine) const;

  const TeamId team_;
  Barrier barrier_;
  std::vector<Slot> slots_;
  std::vector<const Request*> requests_;  // those in the slots
  std::atomic<i64> left_{0};
  // Changed only by the last thread at the barrier.
  std::unique_ptr<Storage> storage_;
  std::string name_;
  int handle_ = 0;
  bool can_read_ = true;
  bool can_write_ = true;
  bool is_closed_ = false;
  i64 unit_bytes_ = 1;
  i64 pointer_ = 0;
  i64 round_ = 1;
  std::optional<Error> outcome_;
};

// The error under a runtime whose threads cannot meet.
Error unknown_runtime(const char* routine);

// The collective calls. All threads of the team get the same error, with its full text.
Status open_file(Team& team, Files& files, const OpenCall& call);
Result<i64> call_file(Team& team, Files& files, int handle, Request request);

}  // namespace mercutio::omp
