// Remedies in the words of the library that the program uses: what to do about MPI-IO calls that an HDF5 program never wrote is said
// in calls of HDF5.
#pragma once

#include <string>

#include "base/types.h"

namespace mercutio {

enum class Advice { kTogether, kFewerCalls, kAllRanks, kOpenOnce, kFewerFiles, kSyncOnce, kReadOnce };

// `library`: as in JobFile; a library that has no words of its own is MPI-IO.
std::string advice(Advice what, Direction direction, const std::string& library);
// To begin accesses at multiples of a number of bytes.
std::string alignment_advice(i64 bytes, const std::string& library);

}  // namespace mercutio
