// The locks of a descriptor; the header has the protocol.
#include "storage/posix/turnstile.h"

#include <unistd.h>

#include <limits>

#include "base/phases.h"

namespace mercutio::posix {
namespace {

struct flock range_of(short type, i64 begin, i64 end) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = end == std::numeric_limits<i64>::max() ? 0 : end - begin;  // 0: to the end, however far that is
  return range;
}

}  // namespace

int set_lock(int fd, int command, short type, i64 begin, i64 end) {
  struct flock request = range_of(type, begin, end);
  int failed = 0;
  do {
    failed = ::fcntl(fd, command, &request) == 0 ? 0 : errno;
  } while (failed == EINTR);
  return failed;
}

bool is_locked_by_this_process(int fd, short type, i64 begin, i64 end) {
  struct flock query = range_of(type, begin, end);
  return ::fcntl(fd, F_OFD_GETLK, &query) == 0 && query.l_type != F_UNLCK && query.l_pid == ::getpid();
}

void give_up(int fd) {
  int nowhere = -1;
  do {
    nowhere = ::open("/", O_PATH | O_CLOEXEC);
  } while (nowhere < 0 && errno == EINTR);
  if (nowhere < 0) return;
  while (::dup3(nowhere, fd, O_CLOEXEC) < 0 && (errno == EINTR || errno == EBUSY)) {
  }
  ::close(nowhere);
}

bool Turnstile::is_taken(int fd) {
  const i64 now = now_ns();
  if (now < next_ns_.load(std::memory_order_relaxed)) return false;
  struct flock query = range_of(F_RDLCK, byte_, byte_ + 1);
  const bool taken = ::fcntl(fd, F_OFD_GETLK, &query) == 0 && query.l_type != F_UNLCK && query.l_pid != ::getpid();
  if (!taken) next_ns_.store(now + period_ns_, std::memory_order_relaxed);
  return taken;
}

Turnstile::Passage::~Passage() {
  const int failed = fd < 0 ? 0 : set_lock(fd, F_OFD_SETLK, F_UNLCK, turnstile.byte_, turnstile.byte_ + 1);
  if (failed == 0 || failed == EBADF) return;   // EBADF: closed, and its locks are gone
  give_up(fd);   // or others would wait for ever
  turnstile.unreported_ = failed;
}

}  // namespace mercutio::posix
