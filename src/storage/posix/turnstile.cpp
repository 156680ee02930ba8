// The locks of a descriptor; the header has the protocol.
#include "storage/posix/turnstile.h"

#include <unistd.h>

#include <limits>

#include "base/phases.h"
#include "storage/writer_group.h"

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

struct flock holder_of(int fd, short type, i64 begin, i64 end) {
  struct flock query = range_of(type, begin, end);
  (void)::fcntl(fd, F_OFD_GETLK, &query);
  return query;
}

bool is_beyond_data(const struct flock& holder) {
  return holder.l_type != F_UNLCK && holder.l_start >= kLockersTurn;
}

bool covers(const struct flock& holder, i64 begin, i64 end) {
  const bool whole = holder.l_start <= begin && (holder.l_len == 0 || holder.l_len >= end - holder.l_start);
  return holder.l_type == F_WRLCK && holder.l_pid != -1 && whole;
}

// A question of the older kind isn't told of the process's own locks. Between two questions a lock may be given back, so they are asked again.
bool locked_by_process(int fd, short type, i64 begin, i64 end) {
  for (int tries = 0; tries < 3; ++tries) {
    struct flock query = range_of(type, begin, end);
    if (::fcntl(fd, F_GETLK, &query) != 0 || query.l_type != F_UNLCK || holder_of(fd, type, begin, end).l_type == F_UNLCK) return false;
  }
  return true;
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
  const bool taken = is_beyond_data(holder_of(fd, F_RDLCK, byte_, byte_ + 1));
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
