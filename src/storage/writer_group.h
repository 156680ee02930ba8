// Detects other writers of a file. Each rank that writes to it holds an exclusive lock on one byte far beyond any data, its mark, from its
// first write or lock of a range to the close. The marks of the ranks of one collective open are adjacent, at a random offset. A rank that
// reads, merges and writes back bytes that it was not asked to write first takes a shared lock on everything but the marks of its own group,
// beside its mark. That lock fails while another open has written to the file, and makes the first write of others wait until it is released. It is refused,
// too, while one waits, so that ranks that merge all the time don't keep others from writing.
//
// A program may lock the whole file itself, as lockf(3) does, and keep it locked for as long as it runs. That lock covers all marks, so that
// while it is held nobody has a mark, and nobody merges: who merges needs one. A write without a mark is as safe then as one with it, and
// waits for nobody. Each write tries again, so that the mark is there from the first one on that begins after the program's lock was given
// back. Only a write that is under way at that very moment isn't seen by another open that merges around its bytes.
//
// Cost: one lock per open that writes; two locks, without waiting, for the duration of a merge.
#pragma once

#include <array>

#include "base/types.h"

namespace mercutio {

// The ranks of one collective open.
struct WriterGroup {
  i64 first_mark = 0;   // offset of rank 0's mark; 0: not drawn yet
  i64 rank = 0, size = 1;
};

struct MarkRange {
  i64 begin = 0, end = 0;
};

inline constexpr i64 kFirstMark = kMostFileBytes + 2;
inline constexpr i64 kWritersTurn = kFirstMark - 1;   // held by a writer that waits for its mark: no new exclusion is granted
inline constexpr i64 kLockersTurn = kFirstMark - 2;   // held by an open that waits for an exclusive lock of a range
inline constexpr i64 kEndOfMarks = INT64_MAX;

i64 draw_first_mark(i64 ranks);

// Returns `group`, or a new group of one rank if it is not drawn.
inline WriterGroup drawn(WriterGroup group) {
  if (group.first_mark == 0) group = WriterGroup{draw_first_mark(1), 0, 1};
  return group;
}
inline MarkRange mark_of(const WriterGroup& group) {
  return {group.first_mark + group.rank, group.first_mark + group.rank + 1};
}
// The ranges below and above the group's marks.
inline std::array<MarkRange, 2> marks_of_others(const WriterGroup& group) {
  return {MarkRange{kFirstMark, group.first_mark}, MarkRange{group.first_mark + group.size, kEndOfMarks}};
}

}  // namespace mercutio
