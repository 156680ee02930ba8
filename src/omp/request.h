// The request of one thread in a collective call.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/result.h"

namespace mercutio::omp {

inline Error wrong_argument(std::string what) {
  return Error{ErrorClass::kArg, std::move(what), EINVAL};
}

enum class Operation { kTransfer, kOpen, kSync, kClose };

// The routine, which must be the same for all threads of a call.
struct Routine {
  const char* name = "";
  Operation operation = Operation::kTransfer;
  Direction direction = Direction::kRead;
  bool common = false;            // all threads have the same arguments
  bool explicit_offsets = false;  // otherwise at the file pointer
};

// The caller's arrays are not copied; they must live as long as the call. A routine without a list has one part.
class Request {
 public:
  Request() = default;
  explicit Request(const Routine& routine) : routine(routine) {}
  static Request single(const Routine& routine, void* buffer, i64 length, i64 offset = 0);
  static Request listed(const Routine& routine, const iovec* list, i64 count, const off_t* offsets = nullptr);

  // Checks the arguments and computes the members below. One pass over the list.
  Status check();

  const iovec& part(i64 index) const { return is_list_ ? list_[index] : single_; }
  i64 length(i64 index) const { return static_cast<i64>(part(index).iov_len); }
  i64 offset(i64 index) const { return offsets_ ? offsets_[index] : offset_; }  // only with explicit offsets
  bool same_arguments(const Request& other) const;

  Routine routine;
  i64 count = 0;
  i64 bytes = 0;   // of all parts
  i64 lowest = 0;  // with explicit offsets: file range of the non-empty parts
  i64 highest = 0;
  bool ascending = true;  // no part begins before the end of the previous one

 private:
  Status check_part(i64 index);

  bool is_list_ = false;
  const iovec* list_ = nullptr;
  const off_t* offsets_ = nullptr;
  iovec single_{};
  i64 offset_ = 0;
};

}  // namespace mercutio::omp
