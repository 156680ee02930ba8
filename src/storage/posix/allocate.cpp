// Preallocation; the header has the contract. Cost of the fallback: one write per MiB of hole.
#include "storage/posix/allocate.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "storage/posix/file_system.h"
#include "storage/posix/transfer.h"

namespace mercutio::posix {
namespace {

Status write_zeros(int fd, i64 begin, i64 end) {
  std::vector<std::byte> zeros(static_cast<size_t>(std::clamp<i64>(end - begin, 0, MiB)));
  while (begin < end) {
    const IoPiece piece{begin, zeros.data(), std::min(end - begin, static_cast<i64>(zeros.size()))};
    MERCUTIO_TRY(transfer(fd, Direction::kWrite, std::span(&piece, 1)));
    begin += piece.bytes;
  }
  return ok_status();
}

Status fill_holes(int fd, i64 end) {
  for (i64 at = 0; at < end;) {
    const i64 hole = ::lseek(fd, at, SEEK_HOLE);
    if (hole < 0 || hole >= end) return ok_status();  // none, or the file system doesn't tell
    const i64 data = ::lseek(fd, hole, SEEK_DATA);
    if (data < 0 && errno != ENXIO) return ok_status();
    at = data < 0 ? end : std::min(data, end);
    MERCUTIO_TRY(write_zeros(fd, hole, at));
  }
  return ok_status();
}

// On tmpfs a signal takes back all that was allocated, so that a timer might let it begin again for ever. 0 or errno.
int allocate_undisturbed(int fd, i64 bytes) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = ::fallocate(fd, 0, 0, bytes) == 0 ? 0 : errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failed;
}

}  // namespace

Status allocate_by_writing(int fd, i64 bytes) {
  MERCUTIO_LET(const i64 before, size_of(fd, /*ask_server=*/true));   // zeros from an older end would cover what another node has written
  MERCUTIO_TRY(fill_holes(fd, std::min(before, bytes)));
  MERCUTIO_LET(const i64 size, size_of(fd, /*ask_server=*/true));
  return write_zeros(fd, size, bytes);
}

Status allocate(int fd, i64 bytes) {
  if (bytes < 0) return Error{ErrorClass::kArg, "a negative size", EINVAL};
  if (bytes == 0) return ok_status();
  struct stat status {};
  if (::fstat(fd, &status) != 0) return error_from_errno("fstat", errno);
  if (S_ISBLK(status.st_mode)) {   // it has its blocks
    MERCUTIO_LET(const i64 size, size_of(fd, /*ask_server=*/false));
    return bytes <= size ? ok_status() : Status(Error{ErrorClass::kNoSpace, "the device has " + std::to_string(size) + " bytes", ENOSPC, 0, bytes});
  }
  if (!S_ISREG(status.st_mode))
    return Error{ErrorClass::kUnsupportedOperation, "not a regular file: there is nothing to allocate", ENODEV, 0, bytes};
  int failed = ::fallocate(fd, 0, 0, bytes) == 0 ? 0 : errno;
  while (failed == EINTR) failed = allocate_undisturbed(fd, bytes);
  if (failed == 0) return ok_status();
  if (failed == EOPNOTSUPP || failed == ENOSYS) return allocate_by_writing(fd, bytes);
  return error_from_errno("fallocate", failed, 0, bytes);
}

}  // namespace mercutio::posix
