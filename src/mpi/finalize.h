// What this library ends in MPI_Finalize, which first deletes the attributes of MPI_COMM_SELF, the one that was set last before the others.
// MPI can still be used then. The attribute of this library is set in MPI_Init. So the files that other libraries close by such
// attributes are closed first. Threads that call MPI end before: from the beginning of MPI_Finalize on, MPICH takes no lock, and releases none.
#pragma once

namespace mercutio {

enum class AtFinalize { kAccesses, kWindowThreads, kFiles, kGroups, kWindows, kTypes };   // in this order, the first two before MPI_Finalize
constexpr int kFinalizeSteps = 6;

// `end` will be called in MPI_Finalize. Without effect in a program that uses only sessions.
void at_finalize(AtFinalize step, void (*end)());
// Call it as soon as MPI is initialised.
void watch_finalize();
// Call it before the MPI's own MPI_Finalize.
void begin_finalize();
bool in_finalize();   // no thread of this library may call MPI any more

}  // namespace mercutio
