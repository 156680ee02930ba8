// Counters shared by all ranks of a RankGroup: a shared file pointer for each file opened on its ranks, and another one for turns. On one
// node they are in shared memory (node_memory.h). Between nodes they are in an RMA window on rank 0, accessed by MPI_Fetch_and_op under passive
// target locks. Without windows they are in a locked file in the folder of the data. MERCUTIO_SHARED_POINTER selects the first
// method to try.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/topology.h"
#include "mpi/mpi_header.h"
#include "mpi/node_memory.h"

namespace mercutio {

inline constexpr i64 kCounters = 65536;
inline constexpr i64 kCounterMemoryBytes = kCounters * static_cast<i64>(sizeof(i64));

class SharedSlots {
 public:
  virtual ~SharedSlots() = default;
  virtual Result<i64> fetch_add(i64 slot, i64 delta) = 0;
  virtual Status store(i64 slot, i64 value) = 0;
  virtual bool calls_mpi() const { return false; }   // whether fetch and store call MPI
  // Around the time in which a rank may use a counter: others then need this one's help to reach it.
  virtual void begin_use() {}
  virtual void end_use() {}
};

// What rank 0 wishes, for all ranks.
struct SlotsWish {
  std::int64_t way = 0, number = 0;
};
SlotsWish wish_for_slots();
// Memory that all ranks already share: kCounterMemoryBytes of it. Null: there is none.
struct CounterMemory {
  std::shared_ptr<NodeMemory> memory;
  i64 at = 0;
};
// Collective over `comm`. Null, on all ranks: neither memory nor a window can be shared, or rank 0's environment selects a file.
std::unique_ptr<SharedSlots> make_shared_slots(MPI_Comm comm, const Topology& topology, const SlotsWish& wish, const CounterMemory& there);
// The same in a file. Collective over `comm`. Rank 0's `folder` is used: that of a file that all ranks have open, or "".
struct CounterFile {
  std::int64_t id = 0;   // drawn at random, the same on all ranks
  std::shared_ptr<SharedSlots> counters;
};
Result<CounterFile> make_counter_file(MPI_Comm comm, const Topology& topology, const std::string& folder);

}  // namespace mercutio
