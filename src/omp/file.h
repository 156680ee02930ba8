// A file that a team of threads has opened, and the collective calls on it.
//
// In a call the team meets (team.h) and agrees on one file, which the first thread has taken (files.h). For opening it is a new one. So
// it is for a call without a file: all threads get its error. Each thread stores its call in its own slot of the file, and the last
// thread at the file's barrier compares all slots. That thread also does what one thread does for all, or each thread computes its
// own share of the data, moves it, and waits at the barrier once more. The last thread there publishes results, errors and the file
// pointer. Nobody uses a slot before the team has met: until then a thread can't tell its team from another one that is alike.
// Cost besides moving the data: one meeting, two barriers, and O(threads) words read by each thread.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "omp/barrier.h"
#include "omp/files.h"
#include "omp/mover.h"
#include "omp/request.h"
#include "omp/shares.h"
#include "omp/team.h"
#include "storage/storage.h"

namespace mercutio::omp {

struct OpenCall {
  int* handle = nullptr;  // where the thread wants the handle
  const char* name = nullptr;
  int flags = 0;
};

// What a thread has called, and with what.
struct Call {
  Request request;
  int handle = 0;  // that it gave; 0 for opening
  OpenCall opening;
};

class File final : private Mover::Tally {
 public:
  // With a refusal: nobody's file, for the call of a team whose threads all get this error.
  explicit File(const TeamId& team, std::optional<Error> refusal = std::nullopt);

  const TeamId& team() const { return team_; }
  // The rest of a call, after the team has met. Returns the bytes of this thread's data.
  Result<i64> carry_out(i64 thread, const Call& call, Files& files);
  // The end of a call: the last thread puts the file back, or deletes it where no handle refers to it.
  void leave(Files& files);
  // Instead of opening: returns a handle of this file for a storage that is already open.
  int adopt(std::unique_ptr<Storage> storage, Files& files);

 private:
  struct Slot {
    Call call;
    std::optional<Error> refused;  // the error of its arguments
    std::optional<Error> failed;   // the error of moving this thread's share
    std::atomic<i64> moved{0};     // bytes of this thread's data, moved by any thread
    i64 result = 0;
    std::vector<MergeCursor> cursors;
    std::byte apart[64];   // from what another thread changes
  };

  void add(size_t request, i64 bytes) override { slots_[request].moved.fetch_add(bytes, std::memory_order_relaxed); }
  const Routine& routine() const { return slots_[0].call.request.routine; }
  bool moves() const { return !outcome_ && routine().operation == Operation::kTransfer; }
  void post(Slot& slot, const Call& call);
  Status check() const;
  Status check_same(size_t thread) const;
  Status check_arguments(size_t thread) const;
  Status check_together() const;
  Access access() const;
  Status move(i64 thread);
  void begin(Files& files);
  void conclude(Files& files);
  Status finish(Files& files);
  Status open(Files& files);
  Status open_storage(const OpenCall& call);
  void use_storage(std::unique_ptr<Storage> storage);
  Error completed(Error error, const char* routine) const;

  const TeamId team_;
  const std::optional<Error> refusal_;
  Barrier barrier_;
  std::vector<Slot> slots_;
  std::vector<const Request*> requests_;  // those in the slots
  std::atomic<i64> left_{0};
  // Changed only by the last thread at the barrier.
  std::unique_ptr<Storage> storage_;
  std::string name_;
  int handle_ = 0;  // 0: no handle refers to this object
  bool can_read_ = true;
  bool can_write_ = true;
  i64 unit_bytes_ = 1;
  i64 pointer_ = 0;
  std::optional<Error> outcome_;
};

// The collective calls. All threads of the team get the same error, with its full text.
Status open_file(Team& team, Files& files, const OpenCall& call);
Result<i64> call_file(Team& team, Files& files, int handle, const Request& request);

}  // namespace mercutio::omp
