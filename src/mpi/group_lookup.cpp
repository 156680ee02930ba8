// Which group of ranks serves the files of a communicator: one that is kept, one that other files use, or a new one.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/attempt.h"
#include "mpi/calls.h"
#include "mpi/decode.h"
#include "mpi/environment.h"
#include "mpi/finalize.h"
#include "mpi/rank_group.h"

namespace mercutio {
namespace {

// Number of groups that are kept although no file of theirs is open. Each uses one communicator of the MPI, of which it may have no more
// than 2,000, and shared memory.
constexpr std::size_t kKeptGroups = 16;

// The dimensions of the program's Cartesian grid if the communicator has one. The ranks of a row write adjacent blocks.
std::vector<i64> grid_of(MPI_Comm user) {
  int kind = MPI_UNDEFINED, dims = 0;
  if (PMPI_Topo_test(user, &kind) != MPI_SUCCESS || kind != MPI_CART) return {};
  if (PMPI_Cartdim_get(user, &dims) != MPI_SUCCESS || dims < 1) return {};
  std::vector<int> extents(static_cast<std::size_t>(dims)), periods(extents), coordinates(extents);
  if (PMPI_Cart_get(user, dims, extents.data(), periods.data(), coordinates.data()) != MPI_SUCCESS) return {};
  return {extents.begin(), extents.end()};
}

// The groups that are kept. Those of MPI_COMM_WORLD and MPI_COMM_SELF serve all congruent communicators and are kept until MPI_Finalize,
// for programs that duplicate a communicator for each file. Other groups are kept by their communicator.
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
    return groups_.size() + by_communicators_ < kKeptGroups;
  }
  // By one communicator more, or one less.
  void by_communicator(bool more) { more ? ++by_communicators_ : --by_communicators_; }
  void keep(const RankGroupRef& group) {
    std::lock_guard guard(mutex_);
    groups_.push_back(group);
  }
  // In the order of their numbers, as their ends are collective: threads may have kept them in another order on each rank.
  void forget_all() {
    std::vector<RankGroupRef> groups;
    {
      std::lock_guard guard(mutex_);
      groups.swap(groups_);
    }
    std::sort(groups.begin(), groups.end(), [](const RankGroupRef& a, const RankGroupRef& b) { return a->id() < b->id(); });
    for (RankGroupRef& group : groups) group = nullptr;
  }

 private:
  std::mutex mutex_;
  std::vector<RankGroupRef> groups_ MERCUTIO_GUARDED_BY(mutex_);
  std::atomic<std::size_t> by_communicators_{0};
};

KeptGroups& kept_groups() {
  static KeptGroups* const kept = [] {
    at_finalize(AtFinalize::kGroups, [] { kept_groups().forget_all(); });
    return new KeptGroups;
  }();
  return *kept;
}

// What is known of a communicator: its attribute. If its group is not kept, the files that are open have it.
struct OnComm {
  const OfSession session;   // ends last
  KnownRanks kept;
  bool alone = false;   // nothing but this keeps the group
  std::weak_ptr<RankGroup> in_use;

  OnComm() = default;
  OnComm(const OnComm&) = delete;
  OnComm& operator=(const OnComm&) = delete;
  ~OnComm() {
    if (alone) kept_groups().by_communicator(false);
  }
};

std::atomic<int> known_keyval{MPI_KEYVAL_INVALID};

std::atomic<i64> of_sessions{0};   // objects

void forget_keys() {
  int keyval = known_keyval.exchange(MPI_KEYVAL_INVALID);
  if (keyval != MPI_KEYVAL_INVALID) PMPI_Comm_free_keyval(&keyval);
  forget_types();
}

int forget_known(MPI_Comm, int, void* value, void*) {
  return attempt_or(MPI_SUCCESS, [&] {
    delete static_cast<OnComm*>(value);
    return MPI_SUCCESS;
  });
}

// Under attributes().
int comm_keyval() {
  int keyval = known_keyval;
  if (keyval != MPI_KEYVAL_INVALID) return keyval;
  PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_known, &keyval, nullptr);
  known_keyval = keyval;
  at_finalize(AtFinalize::kKeys, forget_keys);
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

// Held to query and set attributes: threads may open files on MPI_COMM_SELF at once. Setting one anew would delete the old one while another
// thread reads it. Not taken by forget_known(), which an MPI may call while it holds a lock that queries take as well.
std::mutex& attributes() {
  static std::mutex mutex;
  return mutex;
}

OnComm* find_attribute(MPI_Comm user) {
  OnComm* known = nullptr;
  int found = 0;
  return PMPI_Comm_get_attr(user, comm_keyval(), &known, &found) == MPI_SUCCESS && found ? known : nullptr;
}

bool is_of_world(MPI_Comm user) {
  void* value = nullptr;
  int found = 0;
  if (!world_active()) return false;
  PMPI_Comm_get_attr(user, world_keyval(), &value, &found);
  return found != 0;
}

// Whether it has processes that MPI_Comm_spawn or MPI_Comm_connect made known, the same on all its ranks. Open MPI ends the job in MPI_Finalize if a
// communicator of such processes is left beside the program's own.
bool reaches_other_worlds(MPI_Comm user) {
  const std::vector<int> there = ranks_in_world(user);
  return std::find(there.begin(), there.end(), MPI_UNDEFINED) != there.end();
}

// What a communicator keeps, and the group that files opened on it have in common. Null: nothing.
std::pair<KnownRanks, RankGroupRef> recall(MPI_Comm user) {
  std::lock_guard guard(attributes());
  const OnComm* known = find_attribute(user);
  return known ? std::pair{known->kept, known->in_use.lock()} : std::pair<KnownRanks, RankGroupRef>{};
}

// Gives the communicator its attribute, with nothing in it yet. False: it has none.
bool can_remember(MPI_Comm user) {
  return attempt_or(false, [&] {
    std::lock_guard guard(attributes());
    auto made = std::make_unique<OnComm>();   // first: from now on the key stays
    if (find_attribute(user)) return true;
    if (PMPI_Comm_set_attr(user, comm_keyval(), made.get()) != MPI_SUCCESS) return false;
    (void)made.release();
    return true;
  });
}

// `keep` is the same on all ranks, as then each finds the group in the next open without asking the others.
void remember(MPI_Comm user, const KnownRanks& ranks, bool keep, bool alone) {
  std::lock_guard guard(attributes());
  OnComm* const known = find_attribute(user);
  if (!known || known->kept.group) return;   // another thread was first
  known->in_use = ranks.group;
  if (!keep) return;
  known->kept = ranks;
  known->alone = alone;
  if (alone) kept_groups().by_communicator(true);
}

// A group that all ranks have found, or a new one, and the place of a file in it. Ranks that found different ones make a new one, too.
struct Found {
  RankGroupRef group;
  FilePlace place;
  bool keep;    // the same on all ranks
  bool alone;   // by the communicator alone
};

// What the ranks say of the group to take. Of each word the largest counts.
struct Proposal {
  std::int64_t id, minus_id;   // of the group that the rank has found; 0: none
  std::int64_t forget;         // 1: the communicator can't keep its group
  std::int64_t tags, memory;   // what rank 0 has drawn
  GroupStart start;            // of rank 0, if it has found none
};
using ProposalWords = std::array<std::int64_t, sizeof(Proposal) / sizeof(std::int64_t)>;

int agree(MPI_Comm user, int rank, Proposal& proposal) {
  auto mine = std::bit_cast<ProposalWords>(proposal), all = mine;
  if (rank != 0) std::fill(mine.begin() + offsetof(Proposal, start) / sizeof(std::int64_t), mine.end(), INT64_MIN);
  const int code = PMPI_Allreduce(mine.data(), all.data(), static_cast<int>(all.size()), MPI_INT64_T, MPI_MAX, user);
  if (code == MPI_SUCCESS) proposal = std::bit_cast<Proposal>(all);
  return code;
}

Result<Found> find_or_make(MPI_Comm user, int size, RankGroupRef found) {
  const bool of_world = is_of_world(user);
  const bool is_kept = of_world && !found;
  if (is_kept) found = kept_groups().find(user);
  const bool wanted = (is_kept && found) || (kept_groups().has_room() && (of_world || !reaches_other_worlds(user)));
  const bool keep = can_remember(user) && wanted;
  const i64 id = found ? found->id() : 0;
  int rank = 0;
  OfferedMemory offered;
  PMPI_Comm_rank(user, &rank);
  const bool draws = id != 0 && rank == 0;
  const FilePlace drawn = draws ? found->draw() : kNoPlace;
  Proposal all{id, -id, keep ? 0 : 1, drawn.tags, drawn.memory, {}};
  if (rank == 0 && !draws) all.start = start_group(size, offered);
  int code = size > 1 ? agree(user, rank, all) : MPI_SUCCESS;
  if (code == MPI_SUCCESS && all.id != 0 && all.id == -all.minus_id) {
    MERCUTIO_LET(const FilePlace place, found->claim({all.tags, all.memory}));
    return Found{std::move(found), place, all.forget == 0, !is_kept};
  }
  if (drawn != kNoPlace) found->give_back(drawn);
  if (code == MPI_SUCCESS && all.start.id == 0) {   // rank 0 has found a group that not all have
    if (rank == 0) all.start = start_group(size, offered);
    code = agree(user, rank, all);
  }
  if (code != MPI_SUCCESS) return mpi_error("MPI_Allreduce", code, user);
  MERCUTIO_LET(RankGroupRef made, RankGroup::make(user, all.start, offered));
  const FilePlace first = made->draw();   // the same on all ranks, as nobody else has the group yet
  if (all.forget == 0 && of_world) kept_groups().keep(made);
  return Found{std::move(made), first, all.forget == 0, !of_world};
}

}  // namespace

OfSession::OfSession() : is_(!world_active()) {
  if (is_) ++of_sessions;
}

OfSession::~OfSession() {
  if (is_ && --of_sessions == 0) forget_keys();
}

void mark_world() { (void)is_of_world(MPI_COMM_WORLD); }

Result<OpenPlace> place_on(MPI_Comm user) {
  int size = 1;
  auto [kept, in_use] = recall(user);
  if (kept.group && kept.group->failures().known()) return rank_died();
  if (kept.group) {
    MERCUTIO_LET(const FilePlace place, kept.group->take_place(user));
    return OpenPlace{std::move(kept), place};
  }
  PMPI_Comm_size(user, &size);
  MERCUTIO_LET(Found found, find_or_make(user, size, std::move(in_use)));
  const RankGroupRef& group = found.group;
  KnownRanks ranks{group, std::shared_ptr<const Topology>(group, &group->topology())};
  if (std::vector<i64> grid = grid_of(user); !grid.empty()) {
    auto with_grid = std::make_shared<Topology>(group->topology());
    with_grid->cartesian = std::move(grid);
    ranks.topology = std::move(with_grid);
  }
  remember(user, ranks, found.keep, found.alone);
  return OpenPlace{std::move(ranks), found.place};
}

}  // namespace mercutio
