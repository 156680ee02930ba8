// Of striped_servers.c: the ioctls with which Lustre's clients are told about locks, and what became of locks.
#pragma once

// What llapi_ladvise(3) and llapi_group_lock(3) ask the client for.
typedef struct {
  uint16_t advice, mode;
  uint32_t flags;
  uint64_t first, last;
  uint32_t result, unused;
} Advice;
typedef struct {
  uint32_t magic, count;
  uint64_t flags, unused[2];
  Advice advice[];
} Advices;
enum { kNoExpand = 3, kLockAhead = 4, kAsync = 1, kUnset = 2, kMostAdvices = 1023, kAdviceMagic = 0x1ADF1CE0 };

static int must(int holds, const char *what) {
  if (holds) return 1;
  fprintf(stderr, "striped_servers: Lustre takes no %s like that\n", what);
  abort();
}

static int advise(File *file, Advices *all) {
  must(all->magic == kAdviceMagic && all->count >= 1 && all->count <= kMostAdvices && (all->flags & ~(uint64_t)kAsync) == 0, "advice");
  for (uint32_t i = 0; i < all->count; ++i) {
    Advice *one = &all->advice[i];
    if (one->advice == kNoExpand) {
      must(all->count == 1 && (one->flags & ~(uint32_t)kUnset) == 0, "LOCKNOEXPAND");   // what follows it would be ignored
      file->exact = !(one->flags & kUnset);
      continue;
    }
    must(one->advice == kLockAhead && (one->mode == 1 || one->mode == 2) && (one->flags & ~(uint32_t)kAsync) == 0 && one->first < one->last &&
             one->last < INT64_MAX, "LOCKAHEAD");
    one->result = 0;
    for (int64_t at = (int64_t)one->first, end = (int64_t)one->last + 1, next; locks_on && at < end; at = next) {
      next = stripe_end(&file->layout, at) < end ? stripe_end(&file->layout, at) : end;
      take_lock_ahead(&state->locks, file->inode, server_at(&file->layout, at), (Extent){at, next, this_client(), one->mode == 2});
    }
  }
  return 0;
}

int ioctl(int fd, unsigned long request, ...) {
  REAL(int, "ioctl", int, unsigned long, void *);
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  File *file = striped(fd);
  const long group = (long)argument;
  if (file && request == _IOR('f', 250, Advice)) return knows_ahead ? advise(file, argument) : (errno = ENOTTY, -1);
  if (file && request == _IOW('f', 158, long)) {
    must(group > 0 && file->group == 0, "group lock");
    file->group = group;
    if (locks_on) sleep_until(take_group_lock(&state->locks, file->inode, this_client(), rate));
    return 0;
  }
  if (file && request == _IOW('f', 159, long)) {
    must(group > 0 && file->group == group, "group unlock");
    file->group = 0;
    return 0;
  }
  return real(fd, request, argument);
}

// Locks requested, locks called back, locks requested ahead, those refused, group locks: so far, of all files and clients.
void striped_servers_locks(int64_t counts[5]) {
  memset(counts, 0, 5 * sizeof *counts);
  for (int i = 0; state && i < servers; ++i) {
    counts[0] += atomic_load(&state->locks.requests[i]);
    counts[1] += atomic_load(&state->locks.revocations[i]);
  }
  if (!state) return;
  counts[2] = atomic_load(&state->locks.ahead);
  counts[3] = atomic_load(&state->locks.ahead_refused);
  counts[4] = atomic_load(&state->locks.groups);
}
