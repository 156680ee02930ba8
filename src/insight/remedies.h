// Remedies in terms of the library that the program uses. An HDF5 program makes no MPI-IO calls itself, so its remedies are calls of
// HDF5.
#pragma once

#include <string>

#include "base/types.h"

namespace mercutio {

// ...Alone: for a file that each rank opens alone, so that no collective access is possible.
enum class Advice { kTogether, kFewerCalls, kOrdered, kFewerCallsAlone, kAllRanks, kOpenOnce, kFewerFiles, kFewerFilesAlone, kSyncOnce, kViewOnce, kReadOnce, kReadOnceAlone };

// `library`: as in JobFile. Libraries without remedies of their own get those for MPI-IO.
std::string advice(Advice what, Direction direction, const std::string& library);
// The remedy that aligns accesses to multiples of `bytes`.
std::string alignment_advice(i64 bytes, const std::string& library);

}  // namespace mercutio
