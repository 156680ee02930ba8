// The C entry points: they make a Request of the arguments, find the team of the calling thread, and convert errors to codes, errno
// and texts. Besides its open files, the library has one error text per thread.
#include <cerrno>
#include <string>

#include "base/attempt.h"
#include "mercutio/omp_file.h"
#include "omp/file.h"

namespace mercutio::omp {
namespace {

constinit Files files;
thread_local std::string message;

struct CodeOf {
  ErrorClass cls;
  int code;
};

constexpr CodeOf kCodes[] = {
    {ErrorClass::kArg, OMP_FILE_ERR_ARG},
    {ErrorClass::kBuffer, OMP_FILE_ERR_ARG},
    {ErrorClass::kCount, OMP_FILE_ERR_ARG},
    {ErrorClass::kBadFile, OMP_FILE_ERR_ARG},
    {ErrorClass::kFile, OMP_FILE_ERR_FILE},
    {ErrorClass::kNotSame, OMP_FILE_ERR_NOT_SAME},
    {ErrorClass::kComm, OMP_FILE_ERR_TEAM},
    {ErrorClass::kAmode, OMP_FILE_ERR_MODE},
    {ErrorClass::kNoSuchFile, OMP_FILE_ERR_NO_SUCH_FILE},
    {ErrorClass::kFileExists, OMP_FILE_ERR_EXISTS},
    {ErrorClass::kAccess, OMP_FILE_ERR_ACCESS},
    {ErrorClass::kReadOnly, OMP_FILE_ERR_ACCESS},
    {ErrorClass::kNoSpace, OMP_FILE_ERR_NO_SPACE},
    {ErrorClass::kQuota, OMP_FILE_ERR_NO_SPACE},
    {ErrorClass::kNoMem, OMP_FILE_ERR_NO_MEMORY},
    {ErrorClass::kIo, OMP_FILE_ERR_IO},
};

int failed(Error error) noexcept {
  message = std::move(error.what);
  errno = error.sys_errno != 0 ? error.sys_errno : EIO;
  for (const CodeOf& row : kCodes)
    if (row.cls == error.cls) return row.code;
  return OMP_FILE_ERR_OTHER;
}

ssize_t call(int fd, const Request& request) noexcept {
  Result<i64> result = attempt([&] { return call_file(runtime_team(), files, fd, request); });
  return result ? *result : failed(std::move(result.error()));
}

constexpr Routine transfer(const char* name, Direction direction, bool common, bool explicit_offsets) {
  return Routine{name, Operation::kTransfer, direction, common, explicit_offsets};
}

}  // namespace
}  // namespace mercutio::omp

using namespace mercutio::omp;
using mercutio::Direction;

#define MERCUTIO_EXPORT extern "C" __attribute__((visibility("default")))

// The eight routines of one direction. `buffer_type`: of the user's data.
#define MERCUTIO_OMP_TRANSFERS(verb, direction, buffer_type)                                                           \
  MERCUTIO_EXPORT ssize_t omp_file_##verb##_all(buffer_type buffer, long length, int fd, int) {                        \
    constexpr Routine kRoutine = transfer("omp_file_" #verb "_all", direction, false, false);                          \
    return call(fd, Request::single(kRoutine, const_cast<void*>(buffer), length));                                     \
  }                                                                                                                    \
  MERCUTIO_EXPORT ssize_t omp_file_##verb##_at_all(buffer_type buffer, long length, off_t offset, int fd, int) {       \
    constexpr Routine kRoutine = transfer("omp_file_" #verb "_at_all", direction, false, true);                        \
    return call(fd, Request::single(kRoutine, const_cast<void*>(buffer), length, offset));                             \
  }                                                                                                                    \
  MERCUTIO_EXPORT ssize_t omp_file_##verb##_list_all(const iovec* list, int size, int fd, int) {                       \
    constexpr Routine kRoutine = transfer("omp_file_" #verb "_list_all", direction, false, false);                     \
    return call(fd, Request::listed(kRoutine, list, size));                                                            \
  }                                                                                                                    \
  MERCUTIO_EXPORT ssize_t omp_file_##verb##_list_at_all(const iovec* list, const off_t* offsets, int size, int fd,     \
                                                        int) {                                                         \
    constexpr Routine kRoutine = transfer("omp_file_" #verb "_list_at_all", direction, false, true);                   \
    return call(fd, Request::listed(kRoutine, list, size, offsets));                                                   \
  }                                                                                                                    \
  MERCUTIO_EXPORT ssize_t omp_file_##verb##_com_all(buffer_type buffer, long length, int fd, int) {                    \
    constexpr Routine kRoutine = transfer("omp_file_" #verb "_com_all", direction, true, false);                       \
    return call(fd, Request::single(kRoutine, const_cast<void*>(buffer), length));                                     \
  }                                                                                                                    \
  MERCUTIO_EXPORT ssize_t omp_file_##verb##_com_at_all(buffer_type buffer, long length, off_t offset, int fd, int) {   \
    constexpr Routine kRoutine = transfer("omp_file_" #verb "_com_at_all", direction, true, true);                     \
    return call(fd, Request::single(kRoutine, const_cast<void*>(buffer), length, offset));                             \
  }                                                                                                                    \
  MERCUTIO_EXPORT ssize_t omp_file_##verb##_com_list_all(const iovec* list, int size, int fd, int) {                   \
    constexpr Routine kRoutine = transfer("omp_file_" #verb "_com_list_all", direction, true, false);                  \
    return call(fd, Request::listed(kRoutine, list, size));                                                            \
  }                                                                                                                    \
  MERCUTIO_EXPORT ssize_t omp_file_##verb##_com_list_at_all(const iovec* list, const off_t* offsets, int size, int fd, \
                                                            int) {                                                     \
    constexpr Routine kRoutine = transfer("omp_file_" #verb "_com_list_at_all", direction, true, true);                \
    return call(fd, Request::listed(kRoutine, list, size, offsets));                                                   \
  }

MERCUTIO_OMP_TRANSFERS(write, Direction::kWrite, const void*)
MERCUTIO_OMP_TRANSFERS(read, Direction::kRead, void*)

MERCUTIO_EXPORT int omp_file_open_all(int* fd, const char* filename, int flags) {
  const OpenCall open{fd, filename, flags};
  mercutio::Status status = mercutio::attempt([&] { return open_file(runtime_team(), files, open); });
  return status ? OMP_FILE_SUCCESS : failed(std::move(status.error()));
}

MERCUTIO_EXPORT int omp_file_close_all(int fd) {
  return static_cast<int>(call(fd, Request(Routine{"omp_file_close_all", Operation::kClose})));
}

MERCUTIO_EXPORT int omp_file_sync_all(int fd) {
  return static_cast<int>(call(fd, Request(Routine{"omp_file_sync_all", Operation::kSync})));
}

MERCUTIO_EXPORT const char* omp_file_message(void) {
  return mercutio::attempt_or<const char*>("", [] { return message.c_str(); });
}
