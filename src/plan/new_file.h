// Stripes for a new file that several ranks open without hints. Its size is not known yet, so later ranges get more servers, which the
// file system chooses when a range is first written or allocated (MPI_File_preallocate). Source of the numbers: NERSC's recommendation
// for shared files (8 servers from 1 GB, 24 from 10 GB, 72 from 100 GB on, stripes of 1 MiB), with one more step and an earlier start,
// because the ranks write at the same time. Never more servers than ranks, nor than 8 per node. The first stripe is on one server, so
// small files are not spread.
#pragma once

#include "model/layout.h"

namespace mercutio {

inline constexpr i64 kMostServersForANode = 8;

// Empty for a single rank.
Layout layout_of_new_file(i64 nodes, i64 ranks);

}  // namespace mercutio
