/* Contents: each 8-byte word of a file is a hash of its offset, so that what two replays wrote can be compared byte for byte
 * and a byte in a wrong place shows. */
#include <string.h>

#include "replay.h"

static u64 word_at(i64 offset) {
  u64 value = ((u64)offset / 8 + 1) * 0x9e3779b97f4a7c15u;
  return value ^ (value >> 29);
}

static char byte_at(i64 offset) { return (char)(word_at(offset) >> (8 * (offset % 8))); }

void fill_bytes(char* to, i64 offset, i64 bytes) {
  for (; bytes > 0 && offset % 8 != 0; --bytes) *to++ = byte_at(offset++);
  for (; bytes >= 8; bytes -= 8, offset += 8, to += 8) {
    const u64 word = word_at(offset);
    for (int i = 0; i < 8; ++i) to[i] = (char)(word >> (8 * i));
  }
  for (; bytes > 0; --bytes) *to++ = byte_at(offset++);
}

i64 wrong_bytes(const char* from, i64 offset, i64 bytes) {
  i64 wrong = 0;
  for (i64 i = 0; i < bytes; ++i) wrong += from[i] != byte_at(offset + i) && from[i] != 0;
  return wrong;
}
