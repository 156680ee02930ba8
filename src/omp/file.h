// A file that a team of threads has open, and the collective calls on it.
//
// A call: each thread posts its request in its own slot of the file it names, the team meets (team.h) and agrees on one
// file, and every thread reads all slots: so all find the same fault in them, if there is one, or each knows its share,
// moves it, and waits at the file's barrier, where the last one publishes results, errors and the pointer. A thread that
// named another file is known by its slot, which doesn't have the mark of this round. Opening: the last one at the
// barrier opens for all. Cost of a call beyond moving the bytes: one meeting, one barrier, O(threads) words read by
// each thread.
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

// The open files of a process by their handles, 1 and up. Never locked.
class Files {
 public:
  File* find(int handle) const;
  int add(File* file);  // 0: there are too many
  void remove(int handle);

 private:
  std::array<std::atomic<File*>, 4096> files_{};
};

struct OpenCall {
  int* handle = nullptr;  // where the thread wants it
  const char* name = nullptr;
  int flags = 0;
};

class File final : private Mover::Tally {
 public:
  explicit File(const TeamId& team);

  const TeamId& team() const { return team_; }
  void post(i64 thread, const Request& request);
  void withdraw(i64 thread);
  // The rest of a call, once the team has met. The value is the bytes of this thread's data.
  Result<i64> carry_out(i64 thread, const char* routine, Files& files);
  Status open(i64 thread, const OpenCall& call, Files& files);
  // Whether the calling thread is the last one to be done with this object, which no handle leads to any more.
  bool last_to_leave() {
    const i64 size = team_.size;  // who has left looks at nothing here any more
    return is_closed_ && left_.fetch_add(1, std::memory_order_acq_rel) + 1 == size;
  }
  // Instead of opening: the handle of this file over a storage that is open already.
  int adopt(std::unique_ptr<Storage> storage, Files& files);

 private:
  struct alignas(64) Slot {
    Request request;
    OpenCall opening;
    i64 round = 0;                 // of the request
    std::optional<Error> refused;  // what is wrong with its arguments
    std::optional<Error> failed;   // what happened when this thread moved its share
    std::atomic<i64> moved{0};     // bytes of this thread's data, by whichever thread
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
  std::vector<const Request*> requests_;  // in the slots
  std::atomic<i64> left_{0};
  // Changed by the last one at the barrier only.
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

// What is said under a runtime that can't make its threads meet.
Error unknown_runtime(const char* routine);

// The collective calls. All threads of the team get the same error; its text is complete.
Status open_file(Team& team, Files& files, const OpenCall& call);
Result<i64> call_file(Team& team, Files& files, int handle, Request request);

}  // namespace mercutio::omp
