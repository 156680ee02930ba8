// Result<T>: a value or an Error. No exception crosses a folder boundary.
//
// An Error starts where the failure is seen (a system call, a parser) and is completed on its way up: storage fills
// class, errno, offset and bytes; file/ adds operation, path, rank and host when it makes the text for the user.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/types.h"

namespace mercutio {

// The error classes of the MPI standard that the I/O chapter uses. src/mpi maps them onto MPI_ERR_*.
// Agreement between ranks picks one Error; the numeric order has no meaning.
enum class ErrorClass : int {
  kNone = 0,
  kFile,
  kNotSame,
  kAmode,
  kUnsupportedDatarep,
  kUnsupportedOperation,
  kNoSuchFile,
  kFileExists,
  kBadFile,
  kAccess,
  kNoSpace,
  kQuota,
  kReadOnly,
  kFileInUse,
  kDupDatarep,
  kConversion,
  kIo,
  kArg,
  kBuffer,
  kCount,
  kType,
  kComm,
  kRequest,
  kInfo,
  kInfoValue,
  kTruncate,
  kNoMem,
  kIntern,
  kProcFailed,   // a rank of the communicator has died (MPI_ERR_PROC_FAILED, where the MPI has it)
  kOther,
};

struct Error {
  ErrorClass cls = ErrorClass::kOther;
  std::string what;      // what failed and what to do, without file name, rank or host
  int sys_errno = 0;     // 0: not from a system call
  i64 offset = -1;       // byte offset in the file, -1: none
  i64 bytes = -1;        // bytes asked there, -1: none
  i64 moved = 0;         // of a transfer: the first bytes of what was asked are known to have been moved before the failure

  // Of a text that is wrong in a line, counted from 1.
  static Error in_line(std::size_t line, const std::string& why) {
    return {ErrorClass::kArg, "line " + std::to_string(line) + ": " + why};
  }

  // The Error of a larger transfer, of which `before` bytes were moved before the part that failed.
  Error behind(i64 before) && {
    moved += before;
    return std::move(*this);
  }
  // The Error of a transfer of which nothing is known to have been moved.
  Error of_nothing_moved() && {
    moved = 0;
    return std::move(*this);
  }

  bool operator==(const Error&) const = default;
};

// The Error of a failed system call: class from errno, text "call: strerror (ENAME)". Defined in result.cpp.
Error error_from_errno(const char* call, int sys_errno, i64 offset = -1, i64 bytes = -1);
ErrorClass class_from_errno(int sys_errno);
const char* error_class_name(ErrorClass cls);   // "MPI_ERR_NO_SPACE"

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

struct Unit {
  bool operator==(const Unit&) const = default;
};
using Status = Result<Unit>;
inline Status ok_status() { return Unit{}; }

}  // namespace mercutio

// Returns the Error of `expr` (a Result or Status) from the calling function, if it has one.
#define MERCUTIO_TRY(expr)                                        \
  do {                                                            \
    if (auto mercutio_try_result_ = (expr); !mercutio_try_result_) \
      return std::move(mercutio_try_result_).error();             \
  } while (0)

#define MERCUTIO_CONCAT_(a, b) a##b
#define MERCUTIO_CONCAT(a, b) MERCUTIO_CONCAT_(a, b)
// MERCUTIO_LET(auto x, f()): x is the value of f(), or the function returns f()'s Error.
#define MERCUTIO_LET(decl, expr) MERCUTIO_LET_(MERCUTIO_CONCAT(mercutio_let_, __LINE__), decl, expr)
#define MERCUTIO_LET_(tmp, decl, expr)        \
  auto tmp = (expr);                          \
  if (!tmp) return std::move(tmp).error();    \
  decl = std::move(tmp).value()
