#include "mpi/rank_group.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "base/random.h"
#include "mpi/abi_numbers.h"
#include "mpi/calls.h"
#include "mpi/numa.h"

namespace mercutio {
namespace {

// Segments with a lower number are kept for the next file. Others are freed when their file is closed, so a program that had many
// files open at once does not keep their memory.
constexpr i64 kKeptSegments = 4;
// Number of groups that are kept until MPI_Finalize after their last communicator is gone, for programs that duplicate a
// communicator for each file. Each uses one communicator of the MPI.
constexpr std::size_t kKeptGroups = 16;

// The lowest of the ranks that share memory with this one, independent of host names. Called before the communicator of the group
// is made, so that only one context of the MPI is needed at a time.
Result<int> find_leader(MPI_Comm user, int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  int leader = rank;
  int code = PMPI_Comm_split_type(user, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Comm_split_type", code);
  PMPI_Comm_set_errhandler(node, abi_numbers().errors_return);
  code = PMPI_Bcast(&leader, 1, MPI_INT, 0, node);
  PMPI_Comm_free(&node);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Bcast", code);
  return leader;
}

// The dimensions of the program's Cartesian grid if the communicator has one. The ranks of a row write adjacent blocks.
std::vector<i64> grid_of(MPI_Comm user) {
  int kind = MPI_UNDEFINED, dims = 0;
  if (PMPI_Topo_test(user, &kind) != MPI_SUCCESS || kind != MPI_CART) return {};
  if (PMPI_Cartdim_get(user, &dims) != MPI_SUCCESS || dims < 1) return {};
  std::vector<int> extents(static_cast<std::size_t>(dims)), periods(extents), coordinates(extents);
  if (PMPI_Cart_get(user, dims, extents.data(), periods.data(), coordinates.data()) != MPI_SUCCESS) return {};
  return {extents.begin(), extents.end()};
}

// The groups that are kept. MPI_Finalize first deletes the attributes of MPI_COMM_SELF, when communicators can still be freed.
class KeptGroups {
 public:
  // A group of the same ranks in the same order. Null: none.
  RankGroupRef find(MPI_Comm user) {
    std::lock_guard guard(mutex_);
    std::erase_if(groups_, [](const RankGroupRef& group) { return group->id() == 0; });
    RankGroupRef found;
    for (const RankGroupRef& group : groups_) {
      int result = 0;
      if (found && found->id() < group->id()) continue;
      if (PMPI_Comm_compare(user, group->comm(), &result) == MPI_SUCCESS && result == MPI_CONGRUENT) found = group;
    }
    return found;
  }
  bool has_room() {
    std::lock_guard guard(mutex_);
    return groups_.size() < kKeptGroups;
  }
  void keep(const RankGroupRef& group) {
    std::lock_guard guard(mutex_);
    if (keyval_ == MPI_KEYVAL_INVALID) {
      PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_all, &keyval_, nullptr);
      PMPI_Comm_set_attr(MPI_COMM_SELF, keyval_, this);
    }
    groups_.push_back(group);
  }

 private:
  static int forget_all(MPI_Comm, int, void* value, void*) {
    return attempt_or(MPI_SUCCESS, [&] {
      auto* const kept = static_cast<KeptGroups*>(value);
      std::vector<RankGroupRef> groups;
      {
        std::lock_guard guard(kept->mutex_);
        groups.swap(kept->groups_);
      }
      return MPI_SUCCESS;
    });
  }

  std::mutex mutex_;
  std::vector<RankGroupRef> groups_ MERCUTIO_GUARDED_BY(mutex_);
  int keyval_ MERCUTIO_GUARDED_BY(mutex_) = MPI_KEYVAL_INVALID;
};

KeptGroups& kept_groups() {
  static KeptGroups* const kept = new KeptGroups;
  return *kept;
}

int forget_known(MPI_Comm, int, void* value, void*) {
  return attempt_or(MPI_SUCCESS, [&] {
    delete static_cast<KnownRanks*>(value);
    return MPI_SUCCESS;
  });
}

int comm_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_known, &made, nullptr);
    return made;
  }();
  return keyval;
}

// An attribute of MPI_COMM_WORLD and MPI_COMM_SELF, which MPI_Comm_dup copies. Communicators of a session do not have it: they must
// not use objects of the World Model, nor be kept when their session ends.
int world_keyval() {
  static const int keyval = [] {
    int made = MPI_KEYVAL_INVALID;
    auto copy = [](MPI_Comm, int, void*, void* value, void* copied, int* flag) {
      *static_cast<void**>(copied) = value;
      *flag = 1;
      return static_cast<int>(MPI_SUCCESS);
    };
    auto forget = [](MPI_Comm, int, void*, void*) { return static_cast<int>(MPI_SUCCESS); };
    PMPI_Comm_create_keyval(+copy, +forget, &made, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_WORLD, made, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, made, nullptr);
    return made;
  }();
  return keyval;
}

bool is_of_world(MPI_Comm user) {
  void* value = nullptr;
  int found = 0;
  if (!world_initialised()) return false;
  PMPI_Comm_get_attr(user, world_keyval(), &value, &found);
  return found != 0;
}

// A kept group, if all ranks have found the same one, otherwise a new one.
Result<RankGroupRef> find_or_make(MPI_Comm user, int size) {
  const bool of_world = is_of_world(user);
  RankGroupRef found = of_world ? kept_groups().find(user) : nullptr;
  bool all_found = found != nullptr, all_have_room = of_world && kept_groups().has_room();
  if (size > 1) {
    const i64 id = found ? found->id() : 0;
    std::int64_t mine[] = {id, -id, all_have_room ? 0 : 1}, all[3] = {};
    const int code = PMPI_Allreduce(mine, all, 3, MPI_INT64_T, MPI_MAX, user);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Allreduce", code);
    all_found = all[0] != 0 && all[0] == -all[1];
    all_have_room = all[2] == 0;
  }
  if (all_found) return found;
  MERCUTIO_LET(RankGroupRef made, RankGroup::make(user));
  if (all_have_room) kept_groups().keep(made);
  return made;
}

}  // namespace

RankGroup::~RankGroup() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (finalized) return;
  counters_.reset();
  counter_files_.clear();
  if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
}

void RankGroup::divide_tags() {
  int* upper = nullptr;
  int found = 0;
  if (world_initialised()) PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &found);
  const i64 tags = found ? static_cast<i64>(*upper) + 1 : 32768;
  tags_per_file_ = tags >= (1 << 24) ? 1024 : 64;
  tags_ = std::make_unique<FileNumbers>(tags / tags_per_file_, FileNumbers::Order::kInTurn);
}

// Determines which rank runs on which node. If find_leader failed, it failed on all ranks.
Status RankGroup::find_topology(const Result<int>& leader) {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  PMPI_Get_processor_name(name, &length);
  host_.assign(name, static_cast<std::size_t>(length));
  if (size_ == 1) {
    topology_ = Topology{{0}, {host_}};
    return ok_status();
  }
  const int mine[] = {leader ? *leader : -1, static_cast<int>(numa_domain())};
  std::vector<int> all(2 * static_cast<std::size_t>(size_));
  const int code = PMPI_Allgather(mine, 2, MPI_INT, all.data(), 2, MPI_INT, comm_);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Allgather", code);
  if (!leader) return leader.error();
  std::map<int, i64> node_of_leader;
  std::vector<int> leaders;
  std::vector<i64> numa;
  bool several = false, all_known = true;
  for (int r = 0; r < size_; ++r) {
    const int its_leader = all[2 * static_cast<std::size_t>(r)];
    if (its_leader < 0) return Error{ErrorClass::kOther, "MPI_Comm_split_type failed on rank " + std::to_string(r)};
    numa.push_back(all[2 * static_cast<std::size_t>(r) + 1]);
    several |= numa.back() != numa.front();
    all_known &= numa.back() >= 0;
    const auto [it, is_new] = node_of_leader.try_emplace(its_leader, static_cast<i64>(leaders.size()));
    if (is_new) leaders.push_back(its_leader);
    topology_.node_of_rank.push_back(it->second);
  }
  if (several && all_known) topology_.numa_of_rank = std::move(numa);
  const std::vector<i64>& nodes = topology_.node_of_rank;
  const i64 node = nodes[static_cast<std::size_t>(rank_)];
  node_size_ = static_cast<int>(std::count(nodes.begin(), nodes.end(), node));
  node_rank_ = static_cast<int>(std::count(nodes.begin(), nodes.begin() + rank_, node));
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
  if (code != MPI_SUCCESS) return mpi_error("MPI_Allgatherv", code);
  for (std::size_t node = 0; node < leaders.size(); ++node) topology_.node_names.emplace_back(&names[node * kNameBytes]);
  return ok_status();
}

Result<RankGroupRef> RankGroup::make(MPI_Comm user) {
  RankGroupRef group(new RankGroup);
  PMPI_Comm_rank(user, &group->rank_);
  PMPI_Comm_size(user, &group->size_);
  Result<int> leader = 0;
  if (group->size_ > 1) leader = find_leader(user, group->rank_);
  // A split into one group has the same ranks in the same order, and does not call the program's attribute copy functions.
  int code = PMPI_Comm_split(user, 0, group->rank_, &group->comm_);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Comm_split", code);
  PMPI_Comm_set_errhandler(group->comm_, abi_numbers().errors_return);
  group->divide_tags();
  MERCUTIO_TRY(group->find_topology(leader));
  group->failures_.look(group->comm_, 0);
  if (group->failures_.known()) return rank_died();
  std::int64_t id = static_cast<std::int64_t>(random_number() >> 1) | 1;
  code = PMPI_Bcast(&id, 1, MPI_INT64_T, 0, group->comm_);
  if (code != MPI_SUCCESS) return mpi_error("MPI_Bcast", code);
  group->id_ = id;
  group->counters_ = make_shared_slots(group->comm_, group->topology_);
  const bool shares = group->size_ > group->topology_.nodes();
  if (shares) group->topology_.segment_bytes = kSegmentBytesPerRank;
  if (shares && !group->segment(group->comm_, FilePlace{})) group->topology_.segment_bytes = 0;
  return group;
}

bool RankGroup::claim(const FilePlace& place) {
  if (!tags_->claim(place.tags)) return false;
  if (memories_.claim(place.memory)) return true;
  tags_->give_back(place.tags);
  return false;
}

Result<FilePlace> RankGroup::take_place(MPI_Comm user) {
  std::vector<FilePlace> rejected;   // on rank 0, which then draws other numbers
  for (;;) {
    std::int64_t drawn[3] = {-1, -1, 0};   // tags, memory, and whether these numbers may still be in use on another rank
    if (rank_ == 0) {
      const auto tags = tags_->draw(), memory = memories_.draw();
      if (tags && memory) {
        drawn[0] = tags->number, drawn[1] = memory->number, drawn[2] = !tags->fresh || !memory->fresh;
      } else {
        if (tags) tags_->give_back(tags->number);
        if (memory) memories_.give_back(memory->number);
      }
    }
    int code = size_ > 1 ? PMPI_Bcast(drawn, 3, MPI_INT64_T, 0, user) : MPI_SUCCESS;
    const FilePlace place{drawn[0], drawn[1]};
    int mine = place.tags >= 0 && code == MPI_SUCCESS && (rank_ == 0 || claim(place)), all = mine;
    if (code == MPI_SUCCESS && drawn[2] && size_ > 1) code = PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, user);
    if (code == MPI_SUCCESS && all) {
      for (const FilePlace& other : rejected) give_back(other);
      return place;
    }
    if (mine && rank_ != 0) give_back(place);
    if (rank_ == 0 && place.tags >= 0) rejected.push_back(place);
    if (code == MPI_SUCCESS && place.tags >= 0) continue;
    for (const FilePlace& other : rejected) give_back(other);
    failures_.note(comm_, code);
    if (code != MPI_SUCCESS) return mpi_error("MPI_Bcast", code);
    return Error{ErrorClass::kNoMem, "no more files can be open on these ranks at a time: all ranges of tags are in use"};
  }
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
  if (code != MPI_SUCCESS) return mpi_error("MPI_Allreduce", code);
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
    auto made = make_node_memory(node, MpiSegment::doorbell_bytes(node_size_) + node_size_ * kSegmentBytesPerRank);
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

void mark_world() { (void)is_of_world(MPI_COMM_WORLD); }

Result<KnownRanks> ranks_of(MPI_Comm user) {
  const int keyval = comm_keyval();
  int found = 0, size = 1;
  KnownRanks* known = nullptr;
  PMPI_Comm_get_attr(user, keyval, &known, &found);
  if (found) return *known;
  PMPI_Comm_size(user, &size);
  MERCUTIO_LET(RankGroupRef group, find_or_make(user, size));
  auto ranks = std::make_unique<KnownRanks>(KnownRanks{group, std::shared_ptr<const Topology>(group, &group->topology())});
  if (std::vector<i64> grid = grid_of(user); !grid.empty()) {
    auto with_grid = std::make_shared<Topology>(group->topology());
    with_grid->cartesian = std::move(grid);
    ranks->topology = std::move(with_grid);
  }
  const KnownRanks result = *ranks;
  PMPI_Comm_set_attr(user, keyval, ranks.release());
  return result;
}

}  // namespace mercutio
