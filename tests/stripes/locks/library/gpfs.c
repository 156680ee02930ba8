// What tests/stripes/locks/client_locks_test.cpp has for libgpfs: gpfs_fcntl checks what it is given as GPFS would, ends the program where that is
// no sound message, and notes the hint.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int total_length, version, error_offset, reserved;
} Header;
typedef struct {
  int length, type;
  long long start, bytes;
  int is_write;
  char padding[4];
} AccessRange;
typedef struct {
  int length, type;
  long long start, bytes;
} FreeRange;
enum { kAccessRange = 1001, kFreeRange = 1002, kMostBytes = 65536 };

static int calls, last_type, answer;
static long long last_start, last_bytes;

int gpfs_calls(void) { return calls; }
int gpfs_last_type(void) { return last_type; }
long long gpfs_last_start(void) { return last_start; }
long long gpfs_last_bytes(void) { return last_bytes; }
void gpfs_answer(int error) { answer = error; }   // 0, or the errno of all calls

static void must(int holds) {
  if (!holds) abort();
}

int gpfs_fcntl(int fd, void *argument) {
  const Header *header = argument;
  const char *hint = (const char *)argument + sizeof *header;
  must(fd >= 0 && ((unsigned long)argument & 7) == 0);
  must(header->version == 1 && header->reserved == 0 && header->total_length >= (int)(sizeof *header + 8) && header->total_length <= kMostBytes);
  int length = 0, type = 0;
  memcpy(&length, hint, sizeof length);
  memcpy(&type, hint + sizeof length, sizeof type);
  must(length % 8 == 0 && header->total_length == (int)sizeof *header + length);   // one hint a call
  must(type == kAccessRange || type == kFreeRange);
  must(length == (type == kAccessRange ? (int)sizeof(AccessRange) : (int)sizeof(FreeRange)));
  FreeRange range;   // an access range begins likewise
  memcpy(&range, hint, sizeof range);
  must(range.start >= 0 && range.bytes >= 0);
  if (type == kAccessRange) must(((const AccessRange *)hint)->is_write == 1 && range.bytes > 0);
  ++calls;
  last_type = type, last_start = range.start, last_bytes = range.bytes;
  return answer ? (errno = answer, -1) : 0;
}
