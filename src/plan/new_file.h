// Stripes for a new file that several ranks open and nobody gave hints for. Its size isn't known then, so it gets more servers range by range,
// and the file system gives it those of a range when that is first written or allocated (MPI_File_preallocate). Source of the numbers: NERSC's
// recommendation for shared files (8 servers from 1 GB, 24 from 10 GB, 72 from 100 GB on, stripes of 1 MiB), carried on for one more step and
// begun earlier, as the ranks write at the same time; never more than ranks, nor than 8 for each node. The first stripe is on one server:
// small files are not spread.
#pragma once

#include "model/layout.h"

namespace mercutio {

inline constexpr i64 kMostServersForANode = 8;

// None for a single rank.
Layout layout_of_new_file(i64 nodes, i64 ranks);

}  // namespace mercutio
