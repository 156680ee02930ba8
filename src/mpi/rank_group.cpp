#include "mpi/rank_group.h"

#include <time.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/random.h"
#include "mpi/abi_numbers.h"
#include "mpi/calls.h"
#include "mpi/environment.h"
#include "mpi/numa.h"

namespace mercutio {

// What a rank says of itself.
struct Member {
  int leader = -1;   // the lowest of the ranks that share memory with this one, whatever their hosts are called; -1: a failure
  int numa = -1, mapped = 0;
};

// The node of this rank, and memory that its leader offers to its ranks, for the first segment and, if there is no other node, for counters.
struct OwnNode {
  int leader = 0, ranks = 1;
  OfferedMemory offered;
  std::shared_ptr<NodeMemory> memory;   // null: the offer failed, or the group has one rank
};

namespace {

// Segments with a lower number are kept for the next file. Others are freed when their file is closed, so a program that had many
// files open at once does not keep their memory.
constexpr i64 kKeptSegments = 4;

i64 segment_bytes(int ranks) { return MpiSegment::doorbell_bytes(ranks) + ranks * kSegmentBytesPerRank; }

constexpr int kMostOnOneNode = 1024;   // larger groups are expected to have several nodes

// Before the group's communicator is made, so that both need one context of the MPI's at a time.
Status find_node(MPI_Comm user, int rank, int size, OwnNode& found) {
  struct {
    int leader;
    MemoryPlace place;
  } message{rank, {}};
  MPI_Comm node = MPI_COMM_NULL;
  found.leader = rank;
  int code = PMPI_Comm_split_type(user, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Comm_split_type", code, user);
  PMPI_Comm_set_errhandler(node, abi_numbers().errors_return);
  int node_rank = 0;
  PMPI_Comm_rank(node, &node_rank);
  PMPI_Comm_size(node, &found.ranks);
  const i64 bytes = segment_bytes(found.ranks) + (found.ranks == size ? kCounterMemoryBytes : 0);
  if (node_rank == 0) message.place = found.offered.offer(OfferedMemory::Kind::kAnonymous, bytes);
  if (found.ranks > 1) code = PMPI_Bcast(&message, sizeof message, MPI_BYTE, 0, node);
  PMPI_Comm_free(&node);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Bcast", code, user);
  found.leader = message.leader;
  found.memory = found.offered.map(message.place);
  return ok_status();
}

}  // namespace

RankGroup::~RankGroup() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (finalized && !session_) return;
  counters_.reset();
  counter_files_.clear();
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
}

void RankGroup::divide_tags() {
  int* upper = nullptr;
  int found = 0;
  if (world_active()) PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &found);
  const i64 tags = found ? static_cast<i64>(*upper) + 1 : 32768;
  tags_per_file_ = tags >= (1 << 24) ? 1024 : 64;
  tags_ = std::make_unique<FileNumbers>(tags / tags_per_file_, FileNumbers::Order::kInTurn);
}

Result<std::vector<Member>> RankGroup::gather(MPI_Comm comm, const Member& mine) const {
  constexpr int kInts = sizeof(Member) / sizeof(int);
  std::vector<Member> all(static_cast<std::size_t>(size_), mine);
  const int code = size_ > 1 ? PMPI_Allgather(&mine, kInts, MPI_INT, all.data(), kInts, MPI_INT, comm) : MPI_SUCCESS;
  if (code != MPI_SUCCESS) return mpi_error("MPI_Allgather", code, comm);
  return all;
}

// Which rank runs on which node.
Status RankGroup::set_topology(const std::vector<Member>& members) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  host_.assign(name, static_cast<std::size_t>(length));
  std::map<int, i64> node_of_leader;
  std::vector<int> leaders;
  std::vector<i64> numa;
  bool several = false, all_known = true;
  for (const Member& member : members) {
    if (member.leader < 0)
      return Error{ErrorClass::kOther, "MPI_Comm_split_type failed on rank " + std::to_string(&member - members.data())};
    numa.push_back(member.numa);
    several |= numa.back() != numa.front();
    all_known &= numa.back() >= 0;
    const auto [it, is_new] = node_of_leader.try_emplace(member.leader, static_cast<i64>(leaders.size()));
    if (is_new) leaders.push_back(member.leader);
    topology_.node_of_rank.push_back(it->second);
  }
  if (several && all_known) topology_.numa_of_rank = std::move(numa);
  const std::vector<i64>& nodes = topology_.node_of_rank;
  const i64 here = nodes[static_cast<std::size_t>(rank_)];
  node_size_ = static_cast<int>(std::count(nodes.begin(), nodes.end(), here));
  node_rank_ = static_cast<int>(std::count(nodes.begin(), nodes.begin() + rank_, here));
  return name_nodes(leaders);
}

// The name of each node comes from its leader: O(nodes) bytes, not O(ranks).
Status RankGroup::name_nodes(const std::vector<int>& leaders) {
  if (leaders.size() == 1) {
    topology_.node_names = {host_};
    return ok_status();
  }
  constexpr int kNameBytes = MPI_MAX_PROCESSOR_NAME;
  std::vector<int> counts(static_cast<std::size_t>(size_)), places(counts);
  for (std::size_t node = 0; node < leaders.size(); ++node) {
    counts[static_cast<std::size_t>(leaders[node])] = kNameBytes;
    places[static_cast<std::size_t>(leaders[node])] = static_cast<int>(node) * kNameBytes;
  }
  char name[kNameBytes] = "";
  host_.copy(name, kNameBytes - 1);
  std::vector<char> names(leaders.size() * kNameBytes);
  const int mine = counts[static_cast<std::size_t>(rank_)];
  const int code = PMPI_Allgatherv(name, mine, MPI_CHAR, names.data(), counts.data(), places.data(), MPI_CHAR, comm_);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Allgatherv", code, comm_);
  for (std::size_t node = 0; node < leaders.size(); ++node) topology_.node_names.emplace_back(&names[node * kNameBytes]);
  return ok_status();
}

namespace {

bool all_mapped(const std::vector<Member>& members) {
  return std::all_of(members.begin(), members.end(), [](const Member& member) { return member.mapped != 0; });
}

}  // namespace

GroupStart start_group(int size, OfferedMemory& offered) {
  GroupStart start{static_cast<std::int64_t>(random_number() >> 1) | 1, wish_for_slots(), {}};
  if (size > 1 && size <= kMostOnOneNode && !mpi_divides_nodes())
    start.place = offered.offer(OfferedMemory::Kind::kAnonymous, segment_bytes(size) + kCounterMemoryBytes);
  return start;
}

Result<RankGroupRef> RankGroup::make(MPI_Comm user, const GroupStart& start, OfferedMemory& offered) {
  RankGroupRef group(new RankGroup);
  PMPI_Comm_rank(user, &group->rank_);
  PMPI_Comm_size(user, &group->size_);
  OwnNode part;   // the node if there are several
  std::shared_ptr<NodeMemory> whole = offered.map(start.place);
  Member mine{.leader = 0, .numa = group->size_ > 1 ? static_cast<int>(numa_domain()) : -1, .mapped = whole ? 1 : 0};
  MERCUTIO_LET(std::vector<Member> members, group->gather(user, mine));
  const bool one_node = group->size_ == 1 || all_mapped(members);
  if (!one_node) {
    whole = nullptr;
    const Status found = find_node(user, group->rank_, group->size_, part);
    mine.leader = found ? part.leader : -1;
    mine.mapped = part.memory ? 1 : 0;
  }
  // A split into one group: the same ranks in the same order without running the program's attribute copy functions.
  // MPI_Comm_create would gather nothing, but crashes in MPICH 4.0 where a session made the communicator.
  int code = PMPI_Comm_split(user, 0, group->rank_, &group->comm_);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Comm_split", code, user);
  PMPI_Comm_set_errhandler(group->comm_, abi_numbers().errors_return);
  group->divide_tags();
  if (!one_node) {
    MERCUTIO_LET(members, group->gather(group->comm_, mine));
  }
  MERCUTIO_TRY(group->set_topology(members));
  if (group->failures_.reported()) group->failures_.poll(group->comm_, 0);   // a first probe may take as long as the rest
  if (group->failures_.known()) return rank_died();
  group->share(start, all_mapped(members) ? std::move(one_node ? whole : part.memory) : nullptr);
  return group;
}

// Counters, and the first segment: in `memory` of the node, or if it is null, by collective calls.
void RankGroup::share(const GroupStart& start, std::shared_ptr<NodeMemory> memory) {
  id_ = start.id;
  const bool one_node = topology_.nodes() == 1;
  const CounterMemory there{one_node ? memory : nullptr, segment_bytes(node_size_)};
  counters_ = make_shared_slots(comm_, topology_, start.slots, there);
  if (size_ == topology_.nodes()) return;
  topology_.segment_bytes = kSegmentBytesPerRank;
  if (memory) {
    std::lock_guard guard(mutex_);
    segments_[0] = std::make_shared<MpiSegment>(std::move(memory), node_size_);
  } else if (!segment(comm_, FilePlace{})) {
    topology_.segment_bytes = 0;
  }
}

FilePlace RankGroup::draw() {
  const auto tags = tags_->draw(), memory = memories_.draw();
  if (tags && memory) return {*tags, *memory};
  if (tags) tags_->give_back(*tags);
  if (memory) memories_.give_back(*memory);
  return kNoPlace;
}

// Of what rank 0 has drawn. It is in use here only as long as another thread of this rank is about to return from the close of the file that had it, as rank 0
// has returned from that: no rank is waited for.
Result<FilePlace> RankGroup::claim(const FilePlace& place) {
  if (place == kNoPlace) return Error{ErrorClass::kNoMem, "no more files can be open on these ranks at a time: all ranges of tags are in use"};
  const auto wait_for = [&](FileNumbers& numbers, i64 number) {
    constexpr timespec kNap{0, 20000};
    while (!numbers.claim(number)) {
      if (failures_.known()) return false;
      nanosleep(&kNap, nullptr);
    }
    return true;
  };
  if (rank_ == 0) return place;
  if (!wait_for(*tags_, place.tags)) return rank_died();
  if (wait_for(memories_, place.memory)) return place;
  tags_->give_back(place.tags);
  return rank_died();
}

Result<FilePlace> RankGroup::take_place(MPI_Comm user) {
  const FilePlace drawn = rank_ == 0 ? draw() : kNoPlace;
  std::int64_t numbers[] = {drawn.tags, drawn.memory};
  const int code = size_ > 1 ? PMPI_Bcast(numbers, 2, MPI_INT64_T, 0, user) : MPI_SUCCESS;
  if (code == MPI_SUCCESS) return claim({numbers[0], numbers[1]});
  failures_.note(comm_, code);
  if (drawn != kNoPlace) give_back(drawn);
  return mpi_error("MPI_Bcast", code, user);
}

void RankGroup::give_back(const FilePlace& place) {
  if (place.memory >= kKeptSegments) {
    std::shared_ptr<MpiSegment> gone;
    std::lock_guard guard(mutex_);
    const auto found = segments_.find(place.memory);
    if (found != segments_.end()) {
      gone = std::move(found->second);
      segments_.erase(found);
    }
  }
  memories_.give_back(place.memory);
  tags_->give_back(place.tags);
}

Result<std::shared_ptr<SharedSlots>> RankGroup::counters(MPI_Comm user, const std::string& folder) {
  if (counters_) return counters_;
  CounterFile file;
  {
    std::lock_guard guard(mutex_);
    if (!counter_files_.empty()) file = CounterFile{counter_files_.begin()->first, counter_files_.begin()->second};
  }
  std::int64_t mine[] = {file.id, -file.id}, all[] = {mine[0], mine[1]};
  const int code = size_ > 1 ? PMPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_MAX, user) : MPI_SUCCESS;
  if (code != MPI_SUCCESS) return mpi_error("MPI_Allreduce", code, user);
  if (all[0] != 0 && all[0] == -all[1]) return file.counters;
  MERCUTIO_LET(file, make_counter_file(user, topology_, folder));
  std::lock_guard guard(mutex_);
  counter_files_.emplace(file.id, file.counters);
  return file.counters;
}

std::shared_ptr<MpiSegment> RankGroup::segment(MPI_Comm user, const FilePlace& place) {
  if (topology_.segment_bytes == 0) return nullptr;
  {
    std::lock_guard guard(mutex_);
    const auto found = segments_.find(place.memory);
    if (found != segments_.end()) return found->second;
  }
  MPI_Comm node = user;
  const bool several = topology_.nodes() > 1;
  const int color = static_cast<int>(topology_.node_of_rank[static_cast<std::size_t>(rank_)]);
  if (several && PMPI_Comm_split(user, color, rank_, &node) != MPI_SUCCESS) node = MPI_COMM_NULL;
  std::shared_ptr<NodeMemory> memory;
  if (node != MPI_COMM_NULL) {
    auto made = make_node_memory(node, segment_bytes(node_size_));
    if (made) memory = std::move(*made);
  }
  int mine = memory != nullptr, all = mine;
  if (several) {
    if (node != MPI_COMM_NULL) PMPI_Comm_free(&node);
    if (PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, user) != MPI_SUCCESS) all = 0;
  }
  if (!all) return nullptr;
  auto segment = std::make_shared<MpiSegment>(std::move(memory), node_size_);
  std::lock_guard guard(mutex_);
  segments_[place.memory] = segment;
  return segment;
}

}  // namespace mercutio
