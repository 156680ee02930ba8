// Of striped_servers.c: extent locks, as Lustre's servers grant them. A server has a lock table for its part of a file. A client asks for what it
// reads (shared) or writes (exclusive) and is granted more: as far as no other client's lock is in the way, downwards only where no more
// than 4 are, upwards by 32 MiB at most where more than 32 are. It keeps the lock. When another one asks for bytes of it, the server calls the
// lock back as a whole: the client writes what it has not written yet, gives the lock back, and only then the other one is granted it.
//
// What it costs: a request takes a message; a call-back two more and the time until the client's dirty bytes are written, during which
// the server does nothing else for the file. A write under a lock is over when the client has the bytes, as long as it has no more than
// its limit of dirty ones for the server.
//
// Lock-ahead gives a client the locks that it asks for, without more, and no time passes; what another client's lock is in the way of is refused.
// A group lock calls all other locks of the file back.
#pragma once

enum { kFiles = 8, kLocks = 512, kManyConflicts = 4, kCrowd = 32, kCrowdBytes = 32 << 20 };

typedef struct {
  int64_t begin, end;
  int client, exclusive;
} Extent;

typedef struct {
  int count;
  Extent extent[kLocks];
} LockTable;

typedef struct {
  _Atomic int64_t requests[kServers], revocations[kServers], flushed_bytes[kServers];
  _Atomic uint64_t file[kFiles];                           // inode numbers
  _Atomic int busy;
  LockTable table[kFiles][kServers];
  _Atomic int64_t dirty_until_ns[kServers][kNodes];        // when a server has what a client wrote last
  _Atomic int64_t ahead, ahead_refused, groups;            // locks requested ahead, those refused; group locks
} Locks;

static int locks_on;
static int64_t message_ns, dirty_limit;

static void sleep_until(int64_t ns) {
  struct timespec until = {ns / 1000000000, ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
}

static void locks_enter(Locks *locks) {
  int expected = 0;
  while (!atomic_compare_exchange_weak(&locks->busy, &expected, 1)) expected = 0, sched_yield();
}
static void locks_leave(Locks *locks) { atomic_store(&locks->busy, 0); }

// The place of a file among the tables; the one that was taken first makes room.
static int table_of(Locks *locks, uint64_t inode) {
  static int next;
  for (int i = 0; i < kFiles; ++i) {
    if (atomic_load(&locks->file[i]) == inode) return i;
  }
  for (int i = 0; i < kFiles; ++i) {
    if (atomic_load(&locks->file[i]) == 0) return atomic_store(&locks->file[i], inode), i;
  }
  int place = next++ % kFiles;
  memset(locks->table[place], 0, sizeof locks->table[place]);
  atomic_store(&locks->file[place], inode);
  return place;
}

static void forget_locks(Locks *locks, uint64_t inode) {
  locks_enter(locks);
  for (int i = 0; i < kFiles; ++i) {
    if (atomic_load(&locks->file[i]) != inode) continue;
    memset(locks->table[i], 0, sizeof locks->table[i]);
    atomic_store(&locks->file[i], 0);
  }
  locks_leave(locks);
}

static void drop_lock(LockTable *table, int at) { table->extent[at] = table->extent[--table->count]; }

static int in_the_way(const Extent *other, const Extent *wanted) {
  return other->client != wanted->client && (other->exclusive || wanted->exclusive);
}

// Calls back what is in the way; how many locks that were, and until when their clients have bytes to write.
static int call_back(Locks *locks, int server, LockTable *table, const Extent *wanted, int64_t now_ns, int64_t rate, int64_t *written_ns) {
  int revoked = 0;
  for (int i = table->count - 1; i >= 0; --i) {
    const Extent other = table->extent[i];
    if (!in_the_way(&other, wanted) || other.begin >= wanted->end || wanted->begin >= other.end) continue;
    int64_t until = atomic_load(&locks->dirty_until_ns[server][other.client]);
    if (until > now_ns && rate > 0) atomic_fetch_add(&locks->flushed_bytes[server], (until - now_ns) / 1000 * rate / 1000000);
    if (until > *written_ns) *written_ns = until;
    drop_lock(table, i);
    ++revoked;
  }
  return revoked;
}

// Whether this client has a lock that covers it.
static int holds(const LockTable *table, const Extent *wanted) {
  for (int i = 0; i < table->count; ++i) {
    const Extent *held = &table->extent[i];
    if (held->client == wanted->client && held->exclusive >= wanted->exclusive && held->begin <= wanted->begin && held->end >= wanted->end) return 1;
  }
  return 0;
}

// Its own locks that the new one contains are gone with it.
static void keep_lock(LockTable *table, const Extent *extent) {
  for (int i = table->count - 1; i >= 0; --i) {
    const Extent *held = &table->extent[i];
    if (held->client == extent->client && held->exclusive <= extent->exclusive && held->begin >= extent->begin && held->end <= extent->end) drop_lock(table, i);
  }
  if (table->count == kLocks) drop_lock(table, 0);
  table->extent[table->count++] = *extent;
}

static Extent grown(const LockTable *table, Extent wanted) {
  int conflicts = 0;
  int64_t low = 0, high = INT64_MAX;
  for (int i = 0; i < table->count; ++i) {
    const Extent *other = &table->extent[i];
    if (!in_the_way(other, &wanted)) continue;
    ++conflicts;
    if (other->end <= wanted.begin && other->end > low) low = other->end;
    if (other->begin >= wanted.end && other->begin < high) high = other->begin;
  }
  if (conflicts <= kManyConflicts) wanted.begin = low;
  wanted.end = conflicts > kCrowd && high - wanted.end > kCrowdBytes ? wanted.end + kCrowdBytes : high;
  return wanted;
}

// Until when the client waits for its lock; 0: it has it. The server is not free before it.
static int64_t take_lock(Locks *locks, uint64_t inode, int server, Extent wanted, int exact, int64_t rate, _Atomic int64_t *free_at_ns) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, written_ns = now_ns;
  locks_enter(locks);
  LockTable *table = &locks->table[table_of(locks, inode)][server];
  if (holds(table, &wanted)) {
    locks_leave(locks);
    return 0;
  }
  atomic_fetch_add(&locks->requests[server], 1);
  int revoked = call_back(locks, server, table, &wanted, now_ns, rate, &written_ns);
  const Extent extent = exact ? wanted : grown(table, wanted);
  keep_lock(table, &extent);
  int64_t granted_ns = written_ns + message_ns * (revoked ? 3 : 1);
  if (revoked && atomic_load(free_at_ns) < granted_ns) atomic_store(free_at_ns, granted_ns);
  atomic_fetch_add(&locks->revocations[server], revoked);
  locks_leave(locks);
  return granted_ns;
}

static void take_lock_ahead(Locks *locks, uint64_t inode, int server, Extent wanted) {
  locks_enter(locks);
  LockTable *table = &locks->table[table_of(locks, inode)][server];
  int refused = 0;
  for (int i = 0; i < table->count; ++i) {
    const Extent *other = &table->extent[i];
    refused |= in_the_way(other, &wanted) && other->begin < wanted.end && wanted.begin < other->end;
  }
  if (!refused && !holds(table, &wanted)) keep_lock(table, &wanted);
  atomic_fetch_add(refused ? &locks->ahead_refused : &locks->ahead, 1);
  locks_leave(locks);
}

// Until when the client waits for it.
static int64_t take_group_lock(Locks *locks, uint64_t inode, int client, int64_t rate) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, written_ns = now_ns;
  const Extent all = {0, INT64_MAX, client, 1};
  locks_enter(locks);
  for (int server = 0; server < kServers; ++server)
    atomic_fetch_add(&locks->revocations[server], call_back(locks, server, &locks->table[table_of(locks, inode)][server], &all, now_ns, rate, &written_ns));
  atomic_fetch_add(&locks->groups, 1);
  locks_leave(locks);
  return written_ns + 3 * message_ns;
}
