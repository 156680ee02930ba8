// RankGroup: the ranks of a communicator, and what the files opened on it share: a communicator of ours, the topology, the memory
// of the nodes and the counters of shared file pointers. MPI_COMM_WORLD and its duplicates share one RankGroup, and so do MPI_COMM_SELF
// and its own. HDF5 and PnetCDF duplicate the program's communicator for each file; all these files need only one communicator of ours,
// and the topology is determined once. Every other communicator has a group of its own, which ends with it: no file was opened on what a
// library duplicates, so that nothing could be handed on.
//
// Threads may open files on congruent communicators concurrently, and in a different order on each rank. Therefore, once the group
// exists, every collective MPI call uses the program's communicator, on which only one open is in progress at a time. Rank 0 draws
// the numbers of a file.
//
// A communicator keeps its group as long as it lives, if not too many groups are kept, so that the program does not run out of
// communicators. Then the group lives as long as a file of its is open.
//
// Cost: the first open on a communicator needs one small all-reduce, and each one if its group is not kept. Each later open needs a
// broadcast of two numbers. A new group needs a gather of three numbers per rank and a communicator. If not all ranks can map the memory
// that rank 0 offers, it needs a split by nodes, a broadcast on each, a second gather, and between nodes a window and one name per node.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "comm/file_numbers.h"
#include "mpi/failures.h"
#include "mpi/mpi_header.h"
#include "mpi/mpi_segment.h"
#include "mpi/shared_slots.h"

namespace mercutio {

// The numbers of an open file.
struct FilePlace {
  i64 tags = 0;     // number of its range of tags
  i64 memory = 0;   // number of its segment and its counter
  bool operator==(const FilePlace&) const = default;
};
inline constexpr FilePlace kNoPlace{-1, -1};
struct Member;

// What rank 0 says of a group that is made: its number, how to make counters, and memory for all ranks. Where all of them can map it they
// are one node. No communicator has to be made to find that out, which is most of what a group costs.
struct GroupStart {
  std::int64_t id = 0;
  SlotsWish slots;
  MemoryPlace place;
};
// On rank 0, of `size` ranks. `offered` must be kept until make() has returned.
GroupStart start_group(int size, OfferedMemory& offered);

// Held by each object made of a session. MPICH 5 forgets its keys with the last session, and gives their numbers to others in the next one, so
// the library forgets them with the last of these objects. (Those of the World Model it forgets in MPI_Finalize.)
class OfSession {
 public:
  OfSession();
  ~OfSession();
  OfSession(const OfSession&) = delete;
  OfSession& operator=(const OfSession&) = delete;
  explicit operator bool() const { return is_; }   // false: the object is of the World Model

 private:
  const bool is_;
};

class RankGroup {
 public:
  // Collective over `user`. `start`: of rank 0. After an Error, which all ranks get, nothing else is tried.
  static Result<std::shared_ptr<RankGroup>> make(MPI_Comm user, const GroupStart& start, OfferedMemory& offered);
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;
  ~RankGroup();

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  int node_rank() const { return node_rank_; }   // among the ranks of this node
  const Topology& topology() const { return topology_; }
  const std::string& host() const { return host_; }
  i64 tags_per_file() const { return tags_per_file_; }
  Failures& failures() { return failures_; }
  i64 id() const { return failures_.known() ? 0 : id_; }   // the same on all ranks; 0: a rank has died, and the group must not be used any more

  // The place of a file. Rank 0 draws it, and all ranks claim what was drawn. kNoMem, on all ranks: all numbers are in use.
  FilePlace draw();
  Result<FilePlace> claim(const FilePlace& place);
  // Both. Collective over `user`, a communicator of the same ranks.
  Result<FilePlace> take_place(MPI_Comm user);
  void give_back(const FilePlace& place);
  // The counters of shared file pointers. Collective over `user`. `folder`: as in make_counter_file(), which creates them if
  // necessary.
  Result<std::shared_ptr<SharedSlots>> counters(MPI_Comm user, const std::string& folder);
  // Collective over `user`. Null, on all ranks: on some node the ranks cannot share memory.
  std::shared_ptr<MpiSegment> segment(MPI_Comm user, const FilePlace& place);

 private:
  RankGroup() = default;
  void divide_tags();
  Result<std::vector<Member>> gather(MPI_Comm comm, const Member& mine) const;
  Status set_topology(const std::vector<Member>& members);
  Status name_nodes(const std::vector<int>& leaders);
  void share(const GroupStart& start, std::shared_ptr<NodeMemory> memory);

  const OfSession session_;   // ends last
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, node_rank_ = 0, node_size_ = 1;
  i64 id_ = 0, tags_per_file_ = 0;
  Topology topology_;
  std::string host_;
  std::shared_ptr<SharedSlots> counters_;   // null: they are in a file
  Failures failures_;
  std::unique_ptr<FileNumbers> tags_;
  FileNumbers memories_{kCounters / 2, FileNumbers::Order::kLowest};   // each file has two counters
  std::mutex mutex_;
  std::map<i64, std::shared_ptr<MpiSegment>> segments_ MERCUTIO_GUARDED_BY(mutex_);   // by number
  std::map<i64, std::shared_ptr<SharedSlots>> counter_files_ MERCUTIO_GUARDED_BY(mutex_);   // by id; several only if threads created them concurrently
};
using RankGroupRef = std::shared_ptr<RankGroup>;

// The group of a communicator and the program's grid on it.
struct KnownRanks {
  RankGroupRef group;
  std::shared_ptr<const Topology> topology;
};
struct OpenPlace {
  KnownRanks ranks;
  FilePlace file;
};
// For a file that is opened on `user`. Collective over `user`.
Result<OpenPlace> place_on(MPI_Comm user);
// Call it as soon as MPI is initialised. A communicator that is duplicated from MPI_COMM_WORLD before has a group of its own.
void mark_world();

}  // namespace mercutio
