// Who writes a file: each rank that has it open for writing holds an exclusive lock on one byte far beyond any data, its mark. The
// marks of the ranks of one collective open lie side by side, at a place that is drawn at random. A rank that wants to read, merge
// and write back bytes it was not asked to write takes a shared lock on everything but its own group's marks: that fails while
// another open of the file for writing exists, and keeps new ones waiting until it is released.
//
// Cost: a lock an open, two locks (without waiting) for the duration of a merge.
#pragma once

#include <array>

#include "base/types.h"

namespace mercutio {

// The ranks of one collective open.
struct WriterGroup {
  i64 first_mark = 0;   // 0: not drawn yet
  i64 rank = 0, size = 1;
};

struct MarkRange {
  i64 begin = 0, end = 0;
};

inline constexpr i64 kFirstMark = i64{1} << 62;
inline constexpr i64 kEndOfMarks = INT64_MAX;

i64 draw_first_mark(i64 ranks);

// A group of one, if none is given.
inline WriterGroup drawn(WriterGroup group) {
  if (group.first_mark == 0) group = WriterGroup{draw_first_mark(1), 0, 1};
  return group;
}
inline MarkRange mark_of(const WriterGroup& group) {
  return {group.first_mark + group.rank, group.first_mark + group.rank + 1};
}
// Below and above the group's.
inline std::array<MarkRange, 2> marks_of_others(const WriterGroup& group) {
  return {MarkRange{kFirstMark, group.first_mark}, MarkRange{group.first_mark + group.size, kEndOfMarks}};
}

}  // namespace mercutio
