// The computation: a fixed number of multiplications and additions on a small array, so that its length is an amount of
// work and not of time: what slows it down while I/O goes on beside it shows.
#include <stddef.h>

#include "overlap.h"

enum { kLanes = 8, kStepsPerUnit = 2000, kTestEvery = 64, kTrials = 5, kTrialUnits = 4000 };

static volatile double sink;

static void one_unit(double lanes[kLanes]) {
  for (int step = 0; step < kStepsPerUnit; ++step) {
    for (int i = 0; i < kLanes; ++i) lanes[i] = lanes[i] * 0.999999 + 1e-3 * (i + 1);
  }
}

// About 100,000 units a second: with `tested`, an MPI_Test every millisecond or less.
void compute(i64 units, Access* tested) {
  double lanes[kLanes] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0;
  int flag = 0;
  for (i64 unit = 0; unit < units; ++unit) {
    one_unit(lanes);
    if (!tested || flag || unit % kTestEvery != 0) continue;
    check_mpi(MPI_Test(&tested->request, &flag, &tested->status), "MPI_Test");
  }
  for (int i = 0; i < kLanes; ++i) sum += lanes[i];
  sink = sum;
}

// All ranks at once, as they will compute; the best of some trials, of the slowest rank.
double units_per_second(const Run* run) {
  double best = 1e30;
  for (int trial = 0; trial < kTrials; ++trial) {
    MPI_Barrier(run->members);
    double begin = MPI_Wtime();
    compute(kTrialUnits, NULL);
    double seconds = slowest(run, MPI_Wtime() - begin);
    if (seconds < best) best = seconds;
  }
  return kTrialUnits / best;
}
