#include "mpi/mpi_segment.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <utility>

namespace mercutio {

// doorbell[0]: rings so far; doorbell[1]: sleeping threads. A thread increments the second before it reads the first for the last
// time. The waking rank increments the first before it reads the second. So at least one of them sees the other.
void MpiSegment::wake(i64 rank) {
  std::uint32_t* bell = doorbell(rank);
  std::atomic_ref(bell[0]).fetch_add(1);
  if (std::atomic_ref(bell[1]).load() > 0) syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

namespace {

thread_local constinit const MpiSegment* expecting = nullptr;

}  // namespace

MpiSegment::MpiSegment(std::shared_ptr<NodeMemory> memory, i64 ranks)
    : memory_(std::move(memory)), ranks_(ranks), ranks_per_core_((ranks - 1) / std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)) + 1) {}

void MpiSegment::expect_wake() { expecting = this; }

bool MpiSegment::take_expected() { return std::exchange(expecting, nullptr) == this; }

std::uint32_t MpiSegment::rings(i64 rank) const { return std::atomic_ref(*doorbell(rank)).load(); }

void MpiSegment::sleep(i64 rank, std::uint32_t seen, i64 longest_ns) {
  std::uint32_t* bell = doorbell(rank);
  const timespec longest{longest_ns / 1000000000, longest_ns % 1000000000};
  std::atomic_ref(bell[1]).fetch_add(1);
  if (std::atomic_ref(bell[0]).load() == seen) syscall(SYS_futex, bell, FUTEX_WAIT, seen, &longest, nullptr, 0);
  std::atomic_ref(bell[1]).fetch_sub(1);
}

}  // namespace mercutio
