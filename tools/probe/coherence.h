// What one node sees of another one's writes, measured with plain system calls in a folder: the first rank writes, the last
// one looks.
#pragma once

#include <functional>
#include <string>

// What the last rank has seen, plain bytes so that it can be broadcast.
struct Visibility {
  char at_once = 0, after_lock = 0, after_open = 0;   // 1: what was written
  char direct = 0;                                    // with O_DIRECT, at any offset: 1 seen, 0 not seen, 2 refused
  char locks = 0;                                     // 1: a lock of the first rank's is respected
  char size = 0;                                      // 1: that the file has grown, when the server is asked
  char failed = 0;                                    // 1: the file could not be used
};

// Collective over at least two ranks; filled on the last rank. `barrier` waits for all of them.
Visibility measure_visibility(const std::string& path, bool first, bool last, const std::function<void()>& barrier);

// "at once", "after a lock", "after close and open" or "not at all".
const char* when_visible(const Visibility& visibility);
