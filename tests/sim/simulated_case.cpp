#include "simulated_case.h"

#include <memory>
#include <optional>

#include "comm/simulated.h"
#include "engine/engine.h"
#include "engine/node_entry.h"
#include "engine/test_support.h"
#include "slow_transfer.h"
#include "storage/faulty.h"

namespace mercutio::sim {
namespace {

using namespace mercutio::testing;

// TestStorage whose started transfers are SlowTransfers.
class SlowStorage final : public Storage {
 public:
  SlowStorage(Simulation& simulation, SharedFile& file, std::uint64_t seed)
      : simulation_(simulation), inner_(file), random_(seed) {}
  Result<i64> read(std::span<const IoPiece> pieces) override { return inner_.read(pieces); }
  Result<i64> write(std::span<const IoPiece> pieces) override { return inner_.write(pieces); }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    auto move = [this, direction, pieces = std::move(pieces)] {
      return direction == Direction::kRead ? inner_.read(pieces) : inner_.write(pieces);
    };
    return std::make_unique<SlowTransfer>(simulation_, pick(random_, 0, 30), std::move(move), pick(random_, 0, 1) == 0);
  }
  Result<i64> size() override { return inner_.size(); }
  Status set_size(i64 bytes) override { return inner_.set_size(bytes); }
  Status preallocate(i64 bytes) override { return inner_.preallocate(bytes); }
  Status sync() override { return inner_.sync(); }
  Status close() override { return inner_.close(); }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    return inner_.lock(begin, end, exclusive);
  }
  std::unique_ptr<HeldLock> exclude_other_writers(bool promised) override { return inner_.exclude_other_writers(promised); }
  const Traits& traits() const override { return inner_.traits(); }
  Layout layout() override { return inner_.layout(); }

 private:
  Simulation& simulation_;
  TestStorage inner_;
  Random random_;
};

// What can go wrong in a case.
enum class Trouble { kNone, kStorage, kEntry, kNetwork };

// What a rank does in a place of a batch.
struct Shape {
  i64 displacement = 0;
  TypeSpecRef filetype;
  i64 position = 0, bytes = 0;
  TypeSpecRef memory;
};

// Accesses that are in flight together: one a rank and a place.
struct Batch {
  Direction direction = Direction::kRead;
  bool atomic = false;
  i64 in_flight = 1;
  i64 ranks_over = 0;
  std::vector<std::vector<Shape>> shapes;            // by rank, by place
  std::vector<std::vector<OwnedAccess>> accesses;    // by rank, by place
  std::vector<std::vector<std::optional<Result<i64>>>> results;
};

struct Rank {
  std::unique_ptr<Storage> storage;
  std::shared_ptr<NodeArena> arena;
  RunListCaches run_lists;
  PatternMemory patterns;
  std::atomic<bool> dirty{false};
  IndependentAccesses accesses;
  IndependentAccesses::Watch watch{accesses};
  EngineFile file;
  size_t batch = 0;
  i64 next_tag = 0;
  std::vector<std::optional<Task<Result<i64>>>> tasks;   // of the current batch; gone when they are over
  std::vector<bool> over;
};

// One file: its batches, and how far each rank has come.
class FileCase {
 public:
  FileCase(std::uint64_t seed, Simulation& simulation, i64 ranks, i64 first_tag, Trouble trouble)
      : random_(seed), ranks_count_(ranks), trouble_(trouble), first_tag_(first_tag), simulation_(&simulation) {
    choose_hints();
    file_.traits.can_lock = pick(random_, 0, 3) > 0;
    file_.traits.coherence = pick(random_, 0, 3) > 0 ? Coherence::kImmediate : Coherence::kAfterOpen;
    file_.bytes = random_bytes(random_, pick(random_, 0, 300));
    for (i64 i = pick(random_, 1, 6); i > 0; --i) batches_.push_back(make_batch());
    make_ranks();
  }

  // True when the rank has gone through all batches, or has given up.
  bool step(i64 r);

  // After the run, however it ended; empty when everything was right.
  std::string verdict() {
    for (auto& rank : ranks_) rank->tasks.clear();   // what is stuck gives up
    if (!wrong_.empty()) return wrong_;
    if (!file_.locks.empty()) return "a lock is left";
    return check_unfinished();
  }

 private:
  void choose_hints() {
    static constexpr Toggle kToggles[] = {Toggle::kAutomatic, Toggle::kEnable, Toggle::kEnable, Toggle::kDisable};
    static constexpr i64 kBuffers[] = {1, 16, 64, 1000, 8 * MiB};
    hints_.romio_cb_read = hints_.romio_cb_write = kToggles[pick(random_, 0, 3)];
    hints_.romio_ds_write = hints_.romio_ds_read = kToggles[pick(random_, 0, 3)];
    hints_.cb_buffer_size = kBuffers[pick(random_, 0, 4)];
    hints_.ind_rd_buffer_size = hints_.ind_wr_buffer_size = kBuffers[pick(random_, 1, 4)];
    hints_.cb_nodes = pick(random_, 0, ranks_count_ + 1);
    hints_.mercutio_throttle = pick(random_, 0, 2);
    static constexpr i64 kParcels[] = {0, 1, 300, 400, 700};
    hints_.mercutio_parcel_bytes = kParcels[pick(random_, 0, 4)];
    if (pick(random_, 0, 3) == 0) hints_.mercutio_exchange = WantedExchange::kMessages;
  }

  Batch make_batch() {
    Batch batch;
    const bool again = !batches_.empty() && pick(random_, 0, 1) == 0;
    batch.direction = pick(random_, 0, 1) == 0 ? Direction::kRead : Direction::kWrite;
    if (again && pick(random_, 0, 3) > 0) batch.direction = batches_.back().direction;
    batch.atomic = file_.traits.can_lock && pick(random_, 0, 7) == 0;
    batch.in_flight = again ? batches_.back().in_flight : pick(random_, 0, 2) == 0 ? pick(random_, 2, 4) : 1;
    again ? repeat_shapes(batch, batches_.back()) : choose_shapes(batch);
    batch.accesses.resize(static_cast<size_t>(ranks_count_));
    batch.results.resize(static_cast<size_t>(ranks_count_));
    for (size_t rank = 0; rank < batch.shapes.size(); ++rank) {
      for (const Shape& shape : batch.shapes[rank]) {
        const ViewRef view = make_view(shape.displacement, shape.filetype);
        batch.accesses[rank].push_back(make_access(batch.direction, view, shape.position, shape.bytes, shape.memory));
        if (batch.direction == Direction::kWrite) fill_memory(random_, batch.accesses[rank].back());
      }
      batch.results[rank].resize(static_cast<size_t>(batch.in_flight));
    }
    return batch;
  }

  // The shapes of a batch elsewhere in the file; sometimes not all of them.
  void repeat_shapes(Batch& batch, const Batch& before) {
    const i64 distance = pick(random_, 0, 2) == 0 ? pick(random_, 0, 40) : 4096 * pick(random_, 0, 2);
    const i64 other_rank = pick(random_, 0, 3 * ranks_count_);
    batch.shapes = before.shapes;
    for (i64 rank = 0; rank < ranks_count_; ++rank) {
      for (Shape& shape : batch.shapes[static_cast<size_t>(rank)]) shape.displacement += distance + (rank == other_rank ? 1 : 0);
    }
  }

  // All accesses of a rank in a batch go through one view, as those of a file do.
  void choose_shapes(Batch& batch) {
    batch.shapes.resize(static_cast<size_t>(ranks_count_));
    const bool tiling = pick(random_, 0, 2) == 0;
    const i64 block = pick(random_, 1, 20);
    for (i64 rank = 0; rank < ranks_count_; ++rank) {
      auto tiles = make_resized(0, block * ranks_count_, make_contiguous(block, byte_type()));
      const i64 displacement = tiling ? block * rank : pick(random_, 0, 40);
      const TypeSpecRef filetype = tiling ? tiles : random_filetype(random_, pick(random_, 1, 12));
      for (i64 place = 0; place < batch.in_flight; ++place) {
        const i64 bytes = pick(random_, 0, 5) == 0 ? 0 : pick(random_, 1, 200);
        batch.shapes[static_cast<size_t>(rank)].push_back({displacement, filetype, pick(random_, 0, 60), bytes, random_memory_type(random_, bytes)});
      }
    }
  }

  void make_ranks() {
    const i64 victim = pick(random_, -1, ranks_count_ - 1);   // -1: all of them
    for (i64 r = 0; r < ranks_count_; ++r) {
      auto rank = std::make_unique<Rank>();
      rank->storage = std::make_unique<SlowStorage>(*simulation_, file_, random_());
      if (trouble_ == Trouble::kStorage && (victim < 0 || victim == r)) {
        plans_.push_back(std::make_shared<FaultPlan>());
        plans_.back()->fail_at = pick(random_, 0, 12);
        plans_.back()->kinds = kFaultAll & ~static_cast<unsigned>(kFaultSize);   // the size may be unknown
        plans_.back()->partial_write_bytes = pick(random_, 0, 20);
        rank->storage = make_faulty(std::move(rank->storage), plans_.back());
      }
      rank->file = EngineFile{rank->storage.get(), &simulation_->comm(r), &hints_, nullptr, &rank->dirty, true};
      rank->arena = arena_of(simulation_->comm(r));
      rank->file.run_lists = &rank->run_lists;
      rank->file.patterns = &rank->patterns;
      rank->file.hints_edition = 1;
      rank->file.independent_accesses = &rank->watch;
      ranks_.push_back(std::move(rank));
    }
    if (trouble_ == Trouble::kEntry) {
      entry_batch_ = pick(random_, 0, static_cast<i64>(batches_.size()) - 1);
      entry_rank_ = pick(random_, 0, ranks_count_ - 1);
    }
  }

  void start_batch(i64 r) {
    Rank& rank = *ranks_[static_cast<size_t>(r)];
    Batch& batch = batches_[rank.batch];
    if (before_.size() == rank.batch) before_.push_back(file_.bytes);   // all data of the batch before is moved
    if (pick(random_, 0, 9) == 0) rank.accesses.note();
    for (OwnedAccess& owned : batch.accesses[static_cast<size_t>(r)]) {
      CollectiveOptions options;
      options.atomic = batch.atomic;
      if (entry_rank_ == r && entry_batch_ == static_cast<i64>(rank.batch)) options.entry = Error{ErrorClass::kArg, "on purpose"};
      rank.tasks.push_back(collective(rank.file, channel_of(*rank.file.comm, first_tag_ + rank.next_tag, rank.arena), owned.access, options));
      rank.next_tag += kTagsPerOperation;
    }
    rank.over.assign(rank.tasks.size(), false);
  }

  bool right(OwnedAccess& owned, const std::vector<std::byte>& file, i64 moved) const {
    if (file_.traits.coherence != Coherence::kImmediate) {   // the buffer beyond end of file may be cleared there
      for (i64 i = moved; i < owned.access.bytes; ++i) owned.at(i) = std::byte{0xEE};
    }
    return read_is_right(owned, file, moved);
  }

  // The network failed in an earlier batch, where it may have left a rank alone: its data may still be on its way.
  bool follows_unfinished(size_t number) const {
    for (size_t earlier = 0; earlier < number; ++earlier) {
      const Batch& batch = batches_[earlier];
      if (batch.ranks_over < ranks_count_) return true;
      for (const auto& results : batch.results) {
        for (const auto& result : results) {
          if (!result->ok()) return true;
        }
      }
    }
    return false;
  }

  // All accesses of a batch are over: the same verdict on all ranks, and the bytes are right if it was good.
  std::string check_batch(size_t number) {
    Batch& batch = batches_[number];
    const bool network = simulation_->failed();
    WriteOracle oracle(before_[number]);
    bool all_good = true;
    for (i64 place = 0; place < batch.in_flight; ++place) {
      const auto& first = *batch.results[0][static_cast<size_t>(place)];
      for (i64 r = 0; r < ranks_count_; ++r) {
        const auto& mine = *batch.results[static_cast<size_t>(r)][static_cast<size_t>(place)];
        all_good &= mine.ok();
        if (network) continue;
        if (mine.ok() != first.ok()) return "ranks disagree on success in batch " + std::to_string(number);
        if (!mine.ok() && mine.error().cls != first.error().cls) return "ranks report different error classes";
        if (!mine.ok() && mine.error().what.find("on purpose") == std::string::npos) return "failed: " + mine.error().what;
      }
    }
    const bool expected_entry = trouble_ == Trouble::kEntry && entry_batch_ == static_cast<i64>(number);
    if (expected_entry && all_good) return "a rank entered with an Error and all report success";
    if (!all_good) return trouble_ == Trouble::kNone && !network ? "failed without reason" : "";
    if (network && follows_unfinished(number)) return "";
    for (i64 r = 0; r < ranks_count_; ++r) {
      for (size_t place = 0; place < static_cast<size_t>(batch.in_flight); ++place) {
        OwnedAccess& owned = batch.accesses[static_cast<size_t>(r)][place];
        const i64 moved = **batch.results[static_cast<size_t>(r)][place];
        if (batch.direction == Direction::kWrite) {
          if (moved != owned.access.bytes) return "a write reports another count";
          oracle.add(owned);
        } else if (!right(owned, before_[number], moved)) {
          return "rank " + std::to_string(r) + " read wrong bytes in batch " + std::to_string(number);
        }
      }
    }
    // Some rank may have begun the next batch, and moved its data early. It saw this one over.
    const std::vector<std::byte>& after = number + 1 < before_.size() ? before_[number + 1] : file_.bytes;
    if (batch.direction == Direction::kRead) return after == before_[number] ? "" : "a read changed the file";
    const i64 at = oracle.first_wrong(after);
    return at < 0 ? "" : "the file is wrong at " + std::to_string(at) + " after batch " + std::to_string(number);
  }

  // After the network failed: a rank that reports success has its data all the same.
  std::string check_unfinished() {
    if (!simulation_->failed()) return "";
    for (size_t number = 0; number < before_.size(); ++number) {
      Batch& batch = batches_[number];
      if (batch.direction == Direction::kWrite || follows_unfinished(number)) continue;
      for (size_t r = 0; r < static_cast<size_t>(ranks_count_); ++r) {
        for (size_t place = 0; place < static_cast<size_t>(batch.in_flight); ++place) {
          const auto& result = batch.results[r][place];
          if (!result || !result->ok()) continue;
          if (!right(batch.accesses[r][place], before_[number], **result)) return "success is reported, but the bytes are wrong";
        }
      }
    }
    return "";
  }

  Random random_;
  const i64 ranks_count_;
  const Trouble trouble_;
  const i64 first_tag_;
  Simulation* const simulation_;
  Hints hints_;
  SharedFile file_;
  std::vector<std::shared_ptr<FaultPlan>> plans_;
  i64 entry_batch_ = -1, entry_rank_ = -1;
  std::vector<Batch> batches_;
  std::vector<std::vector<std::byte>> before_;   // the file before each batch
  std::string wrong_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

bool FileCase::step(i64 r) {
  Rank& rank = *ranks_[static_cast<size_t>(r)];
  if (rank.batch == batches_.size() || !wrong_.empty()) return true;
  if (rank.tasks.empty()) start_batch(r);
  Batch& batch = batches_[rank.batch];
  const size_t chosen = static_cast<size_t>(pick(random_, 0, batch.in_flight - 1));
  if (!rank.over[chosen] && rank.tasks[chosen]->step()) {
    rank.over[chosen] = true;
    simulation_->something_moved();
    batch.results[static_cast<size_t>(r)][chosen] = rank.tasks[chosen]->take();
    rank.tasks[chosen].reset();
  }
  if (std::find(rank.over.begin(), rank.over.end(), false) != rank.over.end()) return false;
  const bool lost = !batch.results[static_cast<size_t>(r)][0]->ok() && simulation_->failed();
  rank.tasks.clear();
  // Counted for each batch: when the network fails, a rank may be over with the next one before others with this one.
  if (++batch.ranks_over == ranks_count_) wrong_ = check_batch(rank.batch);
  ++rank.batch;
  return lost || rank.batch == batches_.size() || !wrong_.empty();
}

Topology random_topology(Random& random, i64 ranks) {
  Topology topology;
  const i64 nodes = pick(random, 1, ranks);
  for (i64 node = 0; node < nodes; ++node) topology.node_names.push_back("node" + std::to_string(node));
  for (i64 rank = 0; rank < ranks; ++rank) topology.node_of_rank.push_back(rank < nodes ? rank : pick(random, 0, nodes - 1));
  return topology;
}

// Ranks with one to three files, whose accesses go on side by side; each file may have troubles of its own.
std::string run_files(std::uint64_t seed) {
  constexpr i64 kTagsPerFile = 1000;
  Random random(seed);
  const i64 ranks = pick(random, 1, 7), files = std::max<i64>(1, pick(random, -1, 3));
  const auto trouble_of_file = [&] { return static_cast<Trouble>(std::max<i64>(0, pick(random, -2, 3))); };
  const Trouble first = trouble_of_file();
  SimulationOptions options;
  options.seed = random();
  options.longest_delay = pick(random, 0, 3) * pick(random, 1, 60);
  if (first == Trouble::kNetwork) options.fail_at = pick(random, 0, 200 * ranks);
  options.shared_memory = files == 1 && pick(random, 0, 1) == 1;   // one file at a time uses the memory of a Comm
  Simulation simulation(ranks, options, random_topology(random, ranks));
  std::vector<std::unique_ptr<FileCase>> cases;
  std::vector<std::function<bool()>> steps;
  for (i64 i = 0; i < files; ++i) {
    Trouble trouble = i == 0 ? first : trouble_of_file();
    if (i > 0 && trouble == Trouble::kNetwork) trouble = Trouble::kNone;
    cases.push_back(std::make_unique<FileCase>(random(), simulation, ranks, i * kTagsPerFile, trouble));
    for (i64 rank = 0; rank < ranks; ++rank) steps.push_back([file = cases.back().get(), rank] { return file->step(rank); });
  }
  const Simulation::End end = simulation.run(std::move(steps));
  for (const auto& one : cases) {
    std::string wrong = one->verdict();
    if (!wrong.empty()) return wrong;
  }
  if (end == Simulation::End::kTooLong) return "it takes too many steps";
  if (end == Simulation::End::kDeadlock && !simulation.failed()) return "deadlock: nobody can go on";
  return "";
}

}  // namespace

std::string run_case(std::uint64_t seed) { return run_files(seed); }

}  // namespace mercutio::sim
