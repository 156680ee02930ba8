#include "mpi/shared_slots.h"

#include <atomic>
#include <cstring>
#include <vector>

#include "mpi/node_memory.h"

namespace mercutio {
namespace {

constexpr i64 kSlots = 4096;
constexpr i64 kBytes = kSlots * static_cast<i64>(sizeof(i64));

// Which slots are taken. Files of one communicator are opened and closed in the same order on all its ranks, so that each
// rank finds the same free slot by itself. Slots are tried in turn; one that was used before is set back to 0 first.
class SlotOrder {
 public:
  template <class Clear>
  Result<i64> take(MPI_Comm comm, Clear clear) {
    i64 slot = next_ % kSlots;
    for (i64 tried = 0; taken_[static_cast<std::size_t>(slot)]; slot = (slot + 1) % kSlots)
      if (++tried == kSlots) return Error{ErrorClass::kNoMem, "more files are open on one communicator than there are shared file pointers"};
    bool is_new = next_ < kSlots && slot == next_;
    next_ = next_ < kSlots ? next_ + 1 : kSlots + slot + 1;
    taken_[static_cast<std::size_t>(slot)] = true;
    if (is_new) return slot;
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    Status cleared = rank == 0 ? clear(slot) : ok_status();
    PMPI_Barrier(comm);
    if (!cleared) return std::move(cleared).error();
    return slot;
  }
  void give_back(i64 slot) { taken_[static_cast<std::size_t>(slot)] = false; }

 private:
  i64 next_ = 0;
  std::vector<bool> taken_ = std::vector<bool>(static_cast<std::size_t>(kSlots), false);
};

class MemorySlots final : public SharedSlots {
 public:
  MemorySlots(MPI_Comm comm, std::shared_ptr<NodeMemory> memory)
      : comm_(comm), memory_(std::move(memory)), slots_(reinterpret_cast<i64*>(memory_->data())) {}
  Result<i64> take() override {
    return order_.take(comm_, [this](i64 slot) { return store(slot, 0); });
  }
  void give_back(i64 slot) override { order_.give_back(slot); }
  Result<i64> fetch_add(i64 slot, i64 delta) override { return std::atomic_ref<i64>(slots_[slot]).fetch_add(delta); }
  Status store(i64 slot, i64 value) override {
    std::atomic_ref<i64>(slots_[slot]).store(value);
    return ok_status();
  }

 private:
  MPI_Comm comm_;
  std::shared_ptr<NodeMemory> memory_;
  i64* slots_;
  SlotOrder order_;
};

class WindowSlots final : public SharedSlots {
 public:
  WindowSlots(MPI_Comm comm, MPI_Win window) : comm_(comm), window_(window) {}
  ~WindowSlots() override {
    PMPI_Win_unlock_all(window_);
    PMPI_Win_free(&window_);
  }
  Result<i64> take() override {
    return order_.take(comm_, [this](i64 slot) { return store(slot, 0); });
  }
  void give_back(i64 slot) override { order_.give_back(slot); }
  Result<i64> fetch_add(i64 slot, i64 delta) override { return exchange(slot, delta, MPI_SUM); }
  Status store(i64 slot, i64 value) override {
    MERCUTIO_TRY(exchange(slot, value, MPI_REPLACE));
    return ok_status();
  }

 private:
  Result<i64> exchange(i64 slot, i64 value, MPI_Op op) {
    std::int64_t before = 0, operand = value;
    int code = PMPI_Fetch_and_op(&operand, &before, MPI_INT64_T, 0, static_cast<MPI_Aint>(slot), op, window_);
    if (code == MPI_SUCCESS) code = PMPI_Win_flush(0, window_);
    if (code != MPI_SUCCESS) return Error{ErrorClass::kOther, "shared file pointer: MPI_Fetch_and_op failed"};
    return before;
  }
  MPI_Comm comm_;
  MPI_Win window_;
  SlotOrder order_;
};

Result<std::unique_ptr<SharedSlots>> make_memory_slots(MPI_Comm comm) {
  MERCUTIO_LET(auto memory, make_node_memory(comm, kBytes));
  return std::unique_ptr<SharedSlots>(std::make_unique<MemorySlots>(comm, std::move(memory)));
}

Result<std::unique_ptr<SharedSlots>> make_window_slots(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Aint bytes = rank == 0 ? static_cast<MPI_Aint>(kBytes) : 0;
  if (PMPI_Win_allocate(bytes, sizeof(i64), MPI_INFO_NULL, comm, &base, &window) != MPI_SUCCESS)
    return Error{ErrorClass::kUnsupportedOperation, "no RMA window for the shared file pointer (MPI_Win_allocate failed)"};
  PMPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  if (rank == 0) std::memset(base, 0, static_cast<std::size_t>(kBytes));
  PMPI_Win_lock_all(0, window);
  PMPI_Barrier(comm);
  return std::unique_ptr<SharedSlots>(std::make_unique<WindowSlots>(comm, window));
}

}  // namespace

Result<std::unique_ptr<SharedSlots>> make_shared_slots(MPI_Comm comm, const Topology& topology) {
  if (topology.nodes() == 1) {
    auto slots = make_memory_slots(comm);
    if (slots) return slots;
  }
  return make_window_slots(comm);
}

}  // namespace mercutio
