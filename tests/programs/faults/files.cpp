#include "faults/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../sim/slow_transfer.h"

namespace mercutio {
namespace programs {
namespace {

Driver* mounted = nullptr;

// Gives its range back when it goes.
class HeldRange final : public HeldLock {
 public:
  HeldRange(SimulatedJob& job, std::shared_ptr<SimulatedFile> file, SimulatedFile::Ranges& ranges, SimulatedFile::Range range)
      : job_(job), file_(std::move(file)), ranges_(ranges), at_(ranges_.insert(ranges_.end(), range)) {}
  ~HeldRange() override {
    ranges_.erase(at_);
    job_.moved();
  }

 private:
  SimulatedJob& job_;
  const std::shared_ptr<SimulatedFile> file_;
  SimulatedFile::Ranges& ranges_;
  const SimulatedFile::Ranges::iterator at_;
};

bool is_free(const SimulatedFile::Ranges& ranges, const SimulatedFile::Range& wanted) {
  return std::none_of(ranges.begin(), ranges.end(), [&](const SimulatedFile::Range& held) {
    return (held.exclusive || wanted.exclusive) && held.begin < wanted.end && wanted.begin < held.end;
  });
}

class SimulatedStorage final : public Storage {
 public:
  SimulatedStorage(Files& files, std::shared_ptr<SimulatedFile> file, const OpenOptions& options)
      : files_(files), job_(files.job()), rank_(job_.rank()), file_(std::move(file)), group_(drawn(options.group)) {
    if (!options.write) return;
    const MarkRange mine = mark_of(group_);
    mark_ = hold(file_->marks, {mine.begin, mine.end, true});
  }
  Result<i64> read(std::span<const IoPiece> pieces) override {
    MERCUTIO_TRY(alive());
    i64 moved = 0;
    for (const IoPiece& piece : pieces) {
      const i64 left = std::clamp<i64>(static_cast<i64>(file_->bytes.size()) - piece.offset, 0, piece.bytes);
      if (left > 0) std::memcpy(piece.data, file_->bytes.data() + piece.offset, static_cast<size_t>(left));
      moved += left;
      if (left < piece.bytes) break;
    }
    return moved;
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    MERCUTIO_TRY(alive());
    i64 moved = 0;
    for (const IoPiece& piece : pieces) {
      if (piece.bytes == 0) continue;
      const size_t end = static_cast<size_t>(piece.offset + piece.bytes);
      if (file_->bytes.size() < end) file_->bytes.resize(end);
      std::memcpy(file_->bytes.data() + piece.offset, piece.data, static_cast<size_t>(piece.bytes));
      moved += piece.bytes;
    }
    return moved;
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    auto move = [this, direction, pieces = std::move(pieces)] { return direction == Direction::kRead ? read(pieces) : write(pieces); };
    const bool at_once = files_.draw(1) == 0;
    return std::make_unique<sim::SlowTransfer>(job_.simulation(), files_.draw(12), std::move(move), at_once);
  }
  Result<i64> size() override {
    MERCUTIO_TRY(alive());
    return static_cast<i64>(file_->bytes.size());
  }
  Status set_size(i64 bytes) override {
    MERCUTIO_TRY(alive());
    file_->bytes.resize(static_cast<size_t>(bytes));
    return ok_status();
  }
  Status preallocate(i64 bytes) override {
    MERCUTIO_TRY(alive());
    file_->bytes.resize(std::max(file_->bytes.size(), static_cast<size_t>(bytes)));
    return ok_status();
  }
  Status sync() override { return alive(); }
  Status close() override {
    mark_.reset();
    return alive();
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    if (!traits().can_lock) return Error{ErrorClass::kUnsupportedOperation, "no locks here"};
    MERCUTIO_TRY(alive());
    return hold(file_->locks, {begin, end, exclusive});
  }
  std::unique_ptr<HeldLock> exclude_other_writers(bool /*promised*/) override {
    auto held = std::make_unique<HeldLocks>();
    for (const MarkRange& others : marks_of_others(group_)) {
      const SimulatedFile::Range range{others.begin, others.end, false};
      if (!is_free(file_->marks, range)) return nullptr;
      held->add(std::make_unique<HeldRange>(job_, file_, file_->marks, range));
    }
    return held;
  }
  const Traits& traits() const override { return files_.traits(); }
  Layout layout() override { return {}; }

 private:
  [[nodiscard]] Status alive() {
    if (job_.is_dead(rank_)) return Error{ErrorClass::kIo, "of a rank that has died"};
    job_.moved();
    return ok_status();
  }
  std::unique_ptr<HeldLock> hold(SimulatedFile::Ranges& ranges, SimulatedFile::Range range) {
    while (!is_free(ranges, range)) Fiber::give_way();
    job_.moved();
    return std::make_unique<HeldRange>(job_, file_, ranges, range);
  }

  Files& files_;
  SimulatedJob& job_;
  const i64 rank_;
  const std::shared_ptr<SimulatedFile> file_;
  const WriterGroup group_;
  std::unique_ptr<HeldLock> mark_;
};

}  // namespace

Files::Files(SimulatedJob& job, std::uint64_t seed, const Traits& traits, const Fault& fault)
    : job_(job), state_(seed * 2 + 1), traits_(traits), victim_(fault.rank) {
  if (fault.kind == Fault::Kind::kStorage) plan_ = plan_of(fault);
}

i64 Files::draw(i64 most) {
  state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<i64>((state_ >> 33) % static_cast<std::uint64_t>(most + 1));
}

// Opening and removing count as calls, too.
Status Files::call_of(i64 rank) {
  if (job_.is_dead(rank)) return Error{ErrorClass::kIo, "of a rank that has died"};
  if (!plan_ || rank != victim_) return ok_status();
  const i64 number = plan_->seen.fetch_add(1);
  return number == plan_->fail_at || (plan_->from_then_on && number > plan_->fail_at) ? Status(plan_->error) : ok_status();
}

Result<std::unique_ptr<Storage>> Files::open(const std::string& path, const OpenOptions& options) {
  MERCUTIO_TRY(call_of(job_.rank()));
  const auto known = files_.find(path);
  if (known != files_.end() && options.create && options.exclusive) return error_from_errno("open", EEXIST);
  if (known == files_.end() && !options.create) return error_from_errno("open", ENOENT);
  auto& file = files_[path];
  if (!file) file = std::make_shared<SimulatedFile>();
  const bool fails = plan_ && job_.rank() == victim_;
  std::unique_ptr<Storage> storage = std::make_unique<SimulatedStorage>(*this, file, options);
  return fails ? make_faulty(std::move(storage), plan_) : std::move(storage);
}

Status Files::remove(const std::string& path) {
  MERCUTIO_TRY(call_of(job_.rank()));
  return files_.erase(path) == 1 ? ok_status() : Status(error_from_errno("remove", ENOENT));
}

bool Files::has_failed() const { return plan_ && plan_->seen > plan_->fail_at; }

SimulatedFile& Files::file(const std::string& path) {
  auto& file = files_[path];
  if (!file) file = std::make_shared<SimulatedFile>();
  return *file;
}

std::string Files::lock_left() const {
  for (const auto& [path, file] : files_) {
    if (!file->locks.empty()) return "a lock on " + path + " is left";
    if (!file->marks.empty()) return "a mark of a writer on " + path + " is left";
  }
  return "";
}

Mounted::Mounted(Files& files) { mounted = &files; }
Mounted::~Mounted() { mounted = nullptr; }

}  // namespace programs

Resolved resolve(const std::string& file_name) { return {programs::mounted, file_name}; }
Resolved resolve(const std::string& file_name, const std::string&) { return resolve(file_name); }
Resolved resolve(const std::string& file_name, const std::string&, const std::string&) { return resolve(file_name); }
std::string name_for_hints(const std::string& file_name) { return file_name; }
std::string driver_library_of(const std::string&) { return ""; }
bool moves_by_system_calls(const Driver&) { return false; }
bool is_remote(const Driver&) { return false; }

}  // namespace mercutio
