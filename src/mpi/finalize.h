// What this library ends in MPI_Finalize, which first deletes the attributes of MPI_COMM_SELF, the one that was set last before the others.
// MPI can still be used then. The attribute of this library is set in MPI_Init. So the files that other libraries close by such
// attributes are closed first.
#pragma once

namespace mercutio {

enum class AtFinalize { kAccesses, kGroups, kWindows, kKeys };   // in this order
constexpr int kFinalizeSteps = 4;

// `end` will be called in MPI_Finalize. Without effect in a program that uses only sessions.
void at_finalize(AtFinalize step, void (*end)());
// Call it as soon as MPI is initialised.
void watch_finalize();

}  // namespace mercutio
