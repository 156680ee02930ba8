// Storage: one open file as bytes. A driver is bytes + self-description and never contains a collective algorithm.
//
// Contract (tests/contract runs it over every driver and decorator):
// - All calls may come from any thread, several at once.
// - `read`: pieces in any order; returns the bytes read up to the first piece that end of file cut short (so a prefix of
//   the request in piece order). Holes read as zero. Retries EINTR and short transfers.
// - `write`: everything or an Error (whose `offset` is where it stopped). Extends the file as needed.
// - `sync`: returns when everything this process wrote through any path is on stable storage, or an Error.
// - `close`: reports what the operating system says; after it no call is allowed. Destruction closes silently.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/trace.h"
#include "model/choices.h"
#include "model/layout.h"
#include "storage/writer_group.h"

namespace mercutio {

struct IoPiece {
  i64 offset = 0;               // in the file
  std::byte* data = nullptr;    // read: written to; write: read from
  i64 bytes = 0;
};

// When processes on other nodes see what one has written. On one node all go through one kernel.
enum class Coherence {
  kImmediate,   // when the write has returned
  kAfterOpen,   // when the writer has closed the file and the reader has opened it afterwards (close-to-open)
  kUnknown,
};

struct Traits {
  std::string file_system;              // "ext4", "tmpfs", "nfs", "lustre", "fuse.glusterfs", "memory", ...
  bool can_lock = true;                 // byte-range locks between processes work here
  bool locks_between_nodes = true;      // and those of other nodes respect them
  Coherence coherence = Coherence::kImmediate;
  CoherenceWay way = CoherenceWay::kNone;   // what makes it so
  std::string coherence_advice = {};    // not coherent: what to change, for the administrator ("mount with ...")
  bool can_merge = true;                // what was read under a lock may be written back: reads have what other nodes wrote before
  bool sparse_files = true;             // unwritten ranges read as zero and take no space
  bool metadata_is_remote = false;      // to ask for the size or for a lock is a message to a server
  bool remote_cluster = false;          // on another cluster: each message takes a round trip there
  bool caches_per_rank = false;         // what keeps parts of files is in each process; otherwise all ranks of a node share it
  i64 block_bytes = 4096;               // preferred alignment
  i64 file_number = 0;                  // tells this file from others, on every node alike; 0: this file system can't
  std::string transfers = {};           // how `start` moves data: "threads", "io_uring"; empty: at once
};

// A held byte-range lock. Destruction gives it back, silently.
class HeldLock {
 public:
  virtual ~HeldLock() = default;
  // Gives it back and says whether that worked. At most once, before destruction. After an Error nobody waits for the
  // range, but the storage may be of no more use.
  virtual Status release() { return ok_status(); }
};
class NoLock final : public HeldLock {};   // where there is nothing to lock
class HeldLocks final : public HeldLock {
 public:
  void add(std::unique_ptr<HeldLock> lock) { locks_.push_back(std::move(lock)); }

 private:
  std::vector<std::unique_ptr<HeldLock>> locks_;
};
// Null: nothing to give back.
[[nodiscard]] inline Status release(std::unique_ptr<HeldLock> lock) { return lock ? lock->release() : ok_status(); }
// What was moved under the lock, or the first Error.
[[nodiscard]] inline Result<i64> release_after(Result<i64> moved, std::unique_ptr<HeldLock> lock) {
  Status released = release(std::move(lock));
  if (moved && !released) return std::move(released).error();
  return moved;
}

// A transfer in flight. `done` never blocks; `wait` blocks; `result` once done.
class Transfer {
 public:
  virtual ~Transfer() = default;   // waits if not done
  virtual bool done() = 0;
  virtual Result<i64> wait() = 0;
};

// Of a storage that takes or serves small accesses from a buffer: how many calls of read and write stayed there, and how many
// requests it made for them by itself.
struct CacheStats {
  std::atomic<i64> calls{0}, requests{0};
};

class Storage {
 public:
  virtual ~Storage() = default;

  virtual Result<i64> read(std::span<const IoPiece> pieces) = 0;
  virtual Result<i64> write(std::span<const IoPiece> pieces) = 0;
  // Starts the transfer and returns; the pieces' memory must live until it is done. Default: runs it at once.
  virtual std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces);

  virtual Result<i64> size() = 0;
  // The file has at least this many bytes, as far as this end knows without asking, and unless somebody else cuts it short.
  virtual i64 known_size() const { return 0; }
  virtual Status set_size(i64 bytes) = 0;         // truncate or extend with a hole
  virtual Status preallocate(i64 bytes) = 0;      // size >= bytes afterwards, space allocated, content kept
  virtual Status sync() = 0;
  virtual Status close() = 0;
  // Hands on what it keeps of earlier writes, and forgets what it has read ahead; others see the data then as after write().
  virtual Status flush() { return ok_status(); }
  // What other nodes have handed on before is seen by the reads and the sizes that follow, as far as the storage can do that.
  virtual Status refresh() { return ok_status(); }

  // Null: every call reaches the file.
  virtual const CacheStats* cache_stats() const { return nullptr; }
  // From now on it tells the sink of the requests it makes by itself, and of what it absorbs. The sink must outlive it.
  virtual void trace_to(TraceSink* /*sink*/) {}

  // Blocks until [begin, end) is locked against other processes and other Storage objects of this process.
  // Fails with kUnsupportedOperation where traits().can_lock is false.
  virtual Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) = 0;
  // The same, but null where it would have to wait. Default: waits.
  virtual Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) { return lock(begin, end, exclusive); }

  // Moves the pieces, which lie in [begin, end), while that is locked (for writing: exclusively), where a lock of its own would cost as
  // much as the access. Nothing: it can't, and nothing was moved.
  virtual std::optional<Result<i64>> move_locked(Direction /*direction*/, std::span<const IoPiece> /*pieces*/, i64 /*begin*/, i64 /*end*/) {
    return std::nullopt;
  }

  // While the result is held, only the ranks of this open (OpenOptions::group) have the file open for writing: an open by others
  // waits. Null where others have it open now, and where that can't be known. Never waits.
  virtual std::unique_ptr<HeldLock> exclude_other_writers() { return nullptr; }

  virtual const Traits& traits() const = 0;
  virtual Layout layout() = 0;
  // Bytes with which other ranks open the same file more cheaply (OpenOptions::handle); empty: there are none.
  virtual Result<std::vector<std::byte>> shared_handle() { return std::vector<std::byte>(); }
};

struct OpenOptions {
  bool read = true;
  bool write = false;
  bool create = false;
  bool exclusive = false;        // with create: fail if it exists
  int permissions = 0666;        // before umask
  Layout wanted_layout;          // at create, where the file system has stripes
  Layout suggested_layout;       // the same, where none is wanted and the folder's default is one stripe
  WriterGroup group;             // of the collective open; not drawn: this open is a group of its own
  std::span<const std::byte> handle;   // what shared_handle() of rank 0 gave
  // What MPI's rules of consistency allow here: writes that return before others see them, reads of what was read in advance,
  // until flush(), sync(), close() or a lock.
  bool keeps_writes = false, reads_ahead = false;
  CoherenceWay coherence = CoherenceWay::kAuto;
  // How `start` moves data: "auto", "threads" or "io_uring"; number of threads of the pool (shared by all files).
  AsyncBackend async_backend = AsyncBackend::kAuto;
  i64 io_threads = 2;
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual const char* name() const = 0;                          // "posix"; also the whole-prefix "name:"
  virtual Status load() { return ok_status(); }                  // what it needs, ahead of open and remove
  virtual void prepare(const std::string& /*path*/) {}           // it is about to be opened: what an open waits for may begin
  virtual Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) = 0;
  virtual Status remove(const std::string& path) = 0;
};

// The one registry table (storage/registry.cpp). Prefixes "ufs:", "nfs:", "lustre:" (and other ROMIO ones for POSIX file
// systems), "memory:", "null:" are taken only when whole. Then come the drivers in libraries of their own (include/mercutio/driver.h):
// "name:" where there is such a library, and "name://" always. Any other name, colons included, is a path for posix.
// Returns the driver and the path without its prefix.
struct Resolved {
  Driver* driver;
  std::string path;
  CoherenceWay coherence = CoherenceWay::kAuto;   // what the prefix asks for
};
// The library that the name asks for, as it is found here: "name", or "" for none.
std::string driver_library_of(const std::string& file_name);
Resolved resolve(const std::string& file_name);
// The same, but plain paths may live on another cluster (model/path_mapping.h): `mercutio_remote` is that hint.
Resolved resolve(const std::string& file_name, const std::string& mercutio_remote);
// The same with what driver_library_of() says on another rank.
Resolved resolve(const std::string& file_name, const std::string& mercutio_remote, const std::string& library);

}  // namespace mercutio
