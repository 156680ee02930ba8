// Result<T>: a value or an Error. No exception crosses a folder boundary.
//
// An Error starts where the failure is seen (a system call, a parser) and is completed on its way up: storage fills
// class, errno, offset and bytes; file/ adds operation, path, rank and host when it makes the text for the user.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

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

[[noreturn]] void wrong_result();   // throws std::logic_error: an Error was taken for a value, or a value for an Error

// To move or destroy a Result with a value costs what it costs for the value. A Result that was moved from is still ok, or not, as it was.
template <class T>
class [[nodiscard]] Result {
  static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_constructible_v<Error>);

 public:
  Result(T value) noexcept : ok_(true) { std::construct_at(&value_, std::move(value)); }
  Result(Error error) noexcept : ok_(false) { std::construct_at(&error_, std::move(error)); }
  Result(Result&& other) noexcept : ok_(other.ok_) { construct_from(std::move(other)); }
  Result(const Result& other) requires std::copy_constructible<T> : ok_(other.ok_) { construct_from(other); }
  ~Result() { ok_ ? std::destroy_at(&value_) : std::destroy_at(&error_); }
  Result& operator=(Result other) noexcept {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok(); }
  T& value() & { return ok_ ? value_ : (wrong_result(), value_); }
  const T& value() const& { return ok_ ? value_ : (wrong_result(), value_); }
  T&& value() && { return std::move(value()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() & { return ok_ ? (wrong_result(), error_) : error_; }
  const Error& error() const& { return ok_ ? (wrong_result(), error_) : error_; }
  Error&& error() && { return std::move(error()); }

 private:
  template <class Other>
  void construct_from(Other&& other) {
    if (ok_) std::construct_at(&value_, std::forward<Other>(other).value_);
    else std::construct_at(&error_, std::forward<Other>(other).error_);
  }

  bool ok_;
  union {
    T value_;
    Error error_;
  };
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
