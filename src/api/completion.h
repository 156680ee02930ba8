// Errors of nonblocking accesses. The MPI would raise them on MPI_COMM_WORLD, whose handler ends the program by default. They belong to the
// handlers of their files, so the MPI is told of none: the call of the program's that completes a request collects them, then raises them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/types.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// Alive during a call of the program's that may complete requests. Calls may be nested, as error handlers call MPI.
class Completion {
 public:
  explicit Completion(bool waits);   // the call returns when requests are complete, not before
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  // An access has failed, and the MPI, in this thread, asks for the status of its request, perhaps more than once. False: the MPI has to
  // be told, because it asks in a call that is not ours, or because there is no memory to note it.
  static bool collect(const void* access, MPI_File file, int code);

  // When the present call of this thread began, if a trace is kept and it is one of ours; else 0.
  static i64 began_ns();

  // Whether this thread is in such a call. False also in one that is not ours.
  static bool waits();

  // The result of a call that has completed a request with this status.
  int result(int code, MPI_Status* status) const;
  // The same for the statuses of a list.
  int result(int code, int count, MPI_Status* statuses) const;
  bool empty() const { return count_ == 0; }
  // Only stores the errors in the statuses of requests that are not completed.
  void tell(int count, MPI_Status* statuses) const;

 private:
  struct Failed {
    const void* access;
    MPI_File file;
    int code;
  };
  std::span<const Failed> failed() const { return many_.empty() ? std::span(few_).first(count_) : std::span(many_); }
  void add(const Failed& one);
  bool take_code(MPI_Status& status) const;
  int raise() const;

  Completion* const outer_;
  const bool waits_;
  const i64 start_ns_;
  std::array<Failed, 16> few_;   // so that they need no memory: perhaps it was the lack of it that made them fail
  std::size_t count_ = 0;
  std::vector<Failed> many_;     // all of them, if few_ does not hold them
};

}  // namespace mercutio
