// For tests of the engine only: storage in memory with configurable traits and failures, random views and memory types, and a
// byte-wise oracle of an access.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "engine/engine.h"

namespace mercutio::testing {

// Polls a task to its end. Calls backoff(n) after the n-th step without progress.
template <class T, class Backoff>
T run(Task<T> task, Backoff&& backoff) {
  i64 spins = 0;
  while (!task.step()) backoff(++spins);
  return task.take();
}

// The same on a rank of `comm`.
template <class T>
T drive(Comm& comm, Task<T> task) {
  return run(std::move(task), [&](i64 spins) { comm.backoff(spins); });
}

using Random = std::mt19937_64;
inline i64 pick(Random& random, i64 low, i64 high) {   // both included
  return low + static_cast<i64>(random() % static_cast<std::uint64_t>(high - low + 1));
}

// If ranks write the same bytes in one collective, the standard leaves open whose data is kept. In shared memory this is a data
// race, which TSan would report, so with TSan such ranks exchange messages.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kRacesAreReported = true;
#else
inline constexpr bool kRacesAreReported = false;
#endif

// The bytes of a file, shared by the storages of all ranks.
struct SharedFile {
  std::mutex mutex;
  std::vector<std::byte> bytes;
  struct Range {
    i64 begin, end;
    bool exclusive;
  };
  std::multiset<const Range*> locks;
  std::condition_variable unlocked;
  Traits traits;
  Layout layout;
  i64 known_size = 0;
  i64 stale_end = -1;           // reads end here until the size is asked for; -1: no stale size
  bool other_writers = false;   // another open has the file open for writing
  std::atomic<i64> calls{0};    // reads and writes by all ranks that have succeeded
};

struct Counts {
  std::atomic<i64> operations{0}, reads{0}, writes{0}, sizes{0}, locks{0}, bytes_read{0}, bytes_written{0};
};

class TestStorage : public Storage {
 public:
  explicit TestStorage(SharedFile& file) : file_(file) {}
  i64 fail_at = -1;   // index of the operation that fails, from 0; -1: none
  i64 fail_times = 1;
  std::chrono::nanoseconds delay{0};   // of each read and write
  Counts counts;

  Result<i64> read(std::span<const IoPiece> pieces) override {
    if (fails()) return Error{ErrorClass::kIo, "read failed on purpose", 5};
    ++counts.reads;
    count_call();
    std::lock_guard lock(file_.mutex);
    i64 moved = 0;
    for (const IoPiece& piece : pieces) {
      const i64 end = file_.stale_end >= 0 ? file_.stale_end : static_cast<i64>(file_.bytes.size());
      const i64 left = std::clamp<i64>(end - piece.offset, 0, piece.bytes);
      if (left > 0) std::memcpy(piece.data, file_.bytes.data() + piece.offset, static_cast<size_t>(left));
      moved += left;
      if (left < piece.bytes) break;
    }
    counts.bytes_read += moved;
    return moved;
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    if (fails()) return Error{ErrorClass::kNoSpace, "write failed on purpose", 28};
    ++counts.writes;
    count_call();
    std::lock_guard lock(file_.mutex);
    i64 moved = 0;
    for (const IoPiece& piece : pieces) {
      const size_t end = static_cast<size_t>(piece.offset + piece.bytes);
      if (file_.bytes.size() < end) file_.bytes.resize(end);
      std::memcpy(file_.bytes.data() + piece.offset, piece.data, static_cast<size_t>(piece.bytes));
      moved += piece.bytes;
    }
    counts.bytes_written += moved;
    return moved;
  }
  Result<i64> size() override {
    if (fails()) return Error{ErrorClass::kIo, "size failed on purpose", 5};
    ++counts.sizes;
    std::lock_guard lock(file_.mutex);
    file_.stale_end = -1;
    return static_cast<i64>(file_.bytes.size());
  }
  i64 known_size() const override { return file_.known_size; }
  Status set_size(i64 bytes) override {
    std::lock_guard lock(file_.mutex);
    file_.bytes.resize(static_cast<size_t>(bytes));
    return ok_status();
  }
  Status preallocate(i64) override { return ok_status(); }
  Status sync() override { return ok_status(); }
  Status close() override { return ok_status(); }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    if (!file_.traits.can_lock) return Error{ErrorClass::kUnsupportedOperation, "no locks here"};
    if (fails()) return Error{ErrorClass::kIo, "lock failed on purpose", 37};
    ++counts.locks;
    return std::unique_ptr<HeldLock>(std::make_unique<Held>(*this, SharedFile::Range{begin, end, exclusive}));
  }
  std::unique_ptr<HeldLock> exclude_other_writers(bool promised) override {
    if (file_.traits.metadata_is_remote) return Storage::exclude_other_writers(promised);
    return file_.other_writers ? nullptr : std::make_unique<NoLock>();
  }
  const Traits& traits() const override { return file_.traits; }
  Layout layout() override { return file_.layout; }

 private:
  class Held final : public HeldLock {
   public:
    Held(TestStorage& storage, SharedFile::Range range) : storage_(storage), file_(storage.file_), range_(range) {
      std::unique_lock lock(file_.mutex);
      file_.unlocked.wait(lock, [&] {
        return std::none_of(file_.locks.begin(), file_.locks.end(), [&](const SharedFile::Range* other) {
          return (other->exclusive || range_.exclusive) && other->begin < range_.end && range_.begin < other->end;
        });
      });
      file_.locks.insert(&range_);
    }
    ~Held() override {
      {
        std::lock_guard lock(file_.mutex);
        file_.locks.erase(&range_);
      }
      file_.unlocked.notify_all();
    }
    Status release() override {
      return storage_.fails() ? Status(Error{ErrorClass::kIo, "unlock failed on purpose", 37}) : ok_status();
    }

   private:
    TestStorage& storage_;
    SharedFile& file_;
    SharedFile::Range range_;
  };
  bool fails() {
    const i64 number = counts.operations++;
    return fail_at >= 0 && number >= fail_at && number < fail_at + fail_times;
  }
  void count_call() {
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    ++file_.calls;
  }
  SharedFile& file_;
};

inline FlatTypeRef lowered(const TypeSpecRef& spec) { return FlatType::lower(*spec).value(); }

// A type with monotone, non-overlapping displacements, also when tiled.
inline TypeSpecRef random_filetype(Random& random, i64 unit) {
  switch (pick(random, 0, 4)) {
    case 0: return make_contiguous(pick(random, 1, 9), byte_type());
    case 1: {
      const i64 length = pick(random, 1, unit);
      return make_hvector(pick(random, 1, 6), length, length + pick(random, 0, unit), byte_type());
    }
    case 2: {
      Numbers lengths, displacements;
      i64 at = pick(random, 0, unit);
      for (i64 i = pick(random, 1, 6); i > 0; --i) {
        lengths.push_back(pick(random, 1, unit));
        displacements.push_back(at);
        at += lengths.back() + pick(random, 0, unit);
      }
      return make_resized(0, at + pick(random, 0, unit), make_hindexed(lengths, displacements, byte_type()));
    }
    case 3: return make_resized(0, unit + pick(random, 0, 3 * unit), make_contiguous(pick(random, 1, unit), byte_type()));
    default: {
      auto inner = make_resized(0, 3 * unit, make_hvector(2, pick(random, 1, unit), unit + pick(random, 0, unit), byte_type()));
      return make_contiguous(pick(random, 1, 4), inner);
    }
  }
}

// A memory type of `bytes` data bytes without overlaps, sometimes with descending displacements.
inline TypeSpecRef random_memory_type(Random& random, i64 bytes) {
  const i64 kind = pick(random, 0, 2);
  if (kind == 0 || bytes == 0) return make_contiguous(bytes, byte_type());
  Numbers lengths, displacements;
  i64 at = pick(random, 0, 5);
  for (i64 left = bytes; left > 0;) {
    const i64 length = std::min(left, pick(random, 1, std::max<i64>(1, bytes / 4)));
    lengths.push_back(length);
    displacements.push_back(at);
    at += length + pick(random, 0, 7);
    left -= length;
  }
  if (kind == 2) {   // the same pieces in reverse order
    std::reverse(lengths.begin(), lengths.end());
    std::reverse(displacements.begin(), displacements.end());
  }
  return make_hindexed(lengths, displacements, byte_type());
}

// One rank's access and its buffer.
struct OwnedAccess {
  Access access;
  std::vector<std::byte> buffer;

  // The file offset and the offset in the buffer of stream byte i.
  i64 file_offset(i64 i) const { return access.view->file_offset(access.position + i); }
  std::byte& at(i64 i) { return buffer[static_cast<size_t>(access.memory.type->offset_of(i))]; }
};

inline OwnedAccess make_access(Direction direction, ViewRef view, i64 position, i64 bytes, const TypeSpecRef& memory) {
  OwnedAccess owned;
  FlatTypeRef type = lowered(memory);
  owned.buffer.assign(static_cast<size_t>(type->true_lb() + type->true_extent() + 1), std::byte{0xEE});
  owned.access = Access{direction, std::move(view), position, bytes, Memory{owned.buffer.data(), std::move(type), 1}};
  return owned;
}

inline ViewRef make_view(i64 displacement, const TypeSpecRef& filetype) {
  auto view = std::make_shared<View>();
  view->displacement = displacement;
  view->etype = contiguous_bytes();
  view->filetype = lowered(filetype);
  view->etype_spec = byte_type();
  view->filetype_spec = filetype;
  return view;
}

inline OwnedAccess random_access(Random& random, Direction direction, i64 most_bytes) {
  const i64 unit = pick(random, 1, 12);
  const i64 bytes = pick(random, 0, 5) == 0 ? 0 : pick(random, 1, most_bytes);
  return make_access(direction, make_view(pick(random, 0, 40), random_filetype(random, unit)), pick(random, 0, 30), bytes,
                     random_memory_type(random, bytes));
}

// What an open file has for the tickets of its operations: the arena of the node, or where not all ranks share memory, one of this rank; null: there is
// only one rank.
inline std::shared_ptr<NodeArena> arena_of(Comm& comm) {
  std::shared_ptr<NodeArena> arena = NodeArena::of(comm);
  if (!arena && comm.size() > 1) arena = NodeArena::make_private(comm).value();
  return arena;
}
inline Channel channel_of(Comm& comm, i64 tag, const std::shared_ptr<NodeArena>& arena) {
  return Channel{&comm, tag, arena ? std::make_shared<Ticket>(*arena) : nullptr};
}

// The possible contents of a file after the writes of all ranks.
class WriteOracle {
 public:
  explicit WriteOracle(std::vector<std::byte> before) : before_(std::move(before)), candidates_(before_.size()) {}
  void add(OwnedAccess& owned) {
    for (i64 i = 0; i < owned.access.bytes; ++i) {
      const size_t offset = static_cast<size_t>(owned.file_offset(i));
      if (candidates_.size() <= offset) candidates_.resize(offset + 1);
      candidates_[offset].push_back(owned.at(i));
    }
  }
  bool some_byte_twice() const {
    return std::any_of(candidates_.begin(), candidates_.end(), [](const auto& any) { return any.size() > 1; });
  }
  // The first wrong offset; -1: none.
  i64 first_wrong(const std::vector<std::byte>& after) const {
    if (after.size() != candidates_.size()) return static_cast<i64>(std::min(after.size(), candidates_.size()));
    for (size_t i = 0; i < after.size(); ++i) {
      const auto& any = candidates_[i];
      const std::byte old = i < before_.size() ? before_[i] : std::byte{0};
      if (any.empty() ? after[i] != old : std::find(any.begin(), any.end(), after[i]) == any.end()) return static_cast<i64>(i);
    }
    return -1;
  }

 private:
  std::vector<std::byte> before_;
  std::vector<std::vector<std::byte>> candidates_;
};

// Whether a read has the right result: the count is the prefix before the end of the file, its bytes are right, and no other byte
// of the buffer has changed.
inline bool read_is_right(OwnedAccess& owned, const std::vector<std::byte>& file, i64 moved) {
  i64 expected = 0;
  while (expected < owned.access.bytes && owned.file_offset(expected) < static_cast<i64>(file.size())) ++expected;
  if (moved != expected) return false;
  std::vector<std::byte> buffer(owned.buffer.size(), std::byte{0xEE});
  for (i64 i = 0; i < expected; ++i) {
    buffer[static_cast<size_t>(owned.access.memory.type->offset_of(i))] = file[static_cast<size_t>(owned.file_offset(i))];
  }
  return buffer == owned.buffer;
}

inline std::vector<std::byte> random_bytes(Random& random, i64 count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

inline void fill_memory(Random& random, OwnedAccess& owned) {
  for (i64 i = 0; i < owned.access.bytes; ++i) owned.at(i) = static_cast<std::byte>(random());
}

}  // namespace mercutio::testing
