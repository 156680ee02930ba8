// Storage: one open file as bytes. A driver is bytes + self-description and never contains a collective algorithm.
//
// Contract (tests/contract runs it over every driver and decorator):
// - All calls may come from any thread, several at once.
// - `read`: pieces in any order; returns the bytes read up to the first piece that end of file cut short (so a prefix of
//   the request in piece order). Holes read as zero. Retries EINTR and short transfers.
// - `write`: everything or an Error (whose `offset` is where it stopped). Extends the file as needed.
// - The Error of a read or write says in `moved` how many bytes, in piece order, were moved before it, and 0 where that is not known.
// - `sync`: returns when everything this process wrote through any path is on stable storage, or an Error.
// - `close`: reports what the operating system says; after it no call is allowed. Destruction closes silently.
#pragma once

#include <algorithm>
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
inline i64 bytes_of(std::span<const IoPiece> pieces) {
  i64 bytes = 0;
  for (const IoPiece& piece : pieces) bytes += std::max<i64>(0, piece.bytes);
  return bytes;
}

// When processes on other nodes see a write. Processes of one node share the kernel's page cache.
enum class Coherence {
  kImmediate,   // as soon as the write has returned
  kAfterOpen,   // when the writer has closed the file and the reader has opened it afterwards (close-to-open)
  kUnknown,
  kAfterPublish,   // when rank 0 has published it (Storage::publish)
};

struct Traits {
  std::string file_system;              // "ext4", "tmpfs", "nfs", "lustre", "fuse.glusterfs", "memory", ...
  bool can_lock = true;                 // byte-range locks between processes work here
  bool locks_between_nodes = true;      // the locks are seen on other nodes, too
  Coherence coherence = Coherence::kImmediate;
  CoherenceWay way = CoherenceWay::kNone;   // how that coherence is achieved
  std::string coherence_advice = {};    // if not coherent: what an administrator can change ("mount with ...")
  bool can_merge = true;                // a read under a lock returns earlier writes of other nodes, so its data may be written back
  bool sparse_files = true;             // unwritten ranges read as zero and take no space
  bool writes_wait = false;             // a write returns when a server has it on stable storage: few large ones are faster than many small ones
  bool metadata_is_remote = false;      // size and locks need a message to a server
  bool remote_cluster = false;          // on another cluster: each message takes a round trip to it
  bool caches_per_rank = false;         // the client's cache is in each process; otherwise the ranks of a node share it
  bool keeps_writes = false;            // others see a write after flush(), sync(), close() or the end of a lock (OpenOptions::keeps_writes)
  i64 block_bytes = 4096;               // preferred alignment
  i64 file_number = 0;                  // identifies the file, the same on every node; 0: the file system has no such number
  std::string transfers = {};           // how `start` moves data: "threads", "io_uring"; empty: synchronously

  bool is_in_memory() const { return file_system == "tmpfs" || file_system == "ramfs" || file_system == "memory"; }   // an access only copies
};

// A held byte-range lock. Destruction releases it and ignores errors.
class HeldLock {
 public:
  virtual ~HeldLock() = default;
  // Releases the lock and reports errors. Call it at most once, before destruction. After an Error no process waits for the range,
  // but the storage may be unusable.
  virtual Status release() { return ok_status(); }
};
class NoLock final : public HeldLock {};   // for storage that needs no locks
class HeldLocks final : public HeldLock {
 public:
  void add(std::unique_ptr<HeldLock> lock) { locks_.push_back(std::move(lock)); }

 private:
  std::vector<std::unique_ptr<HeldLock>> locks_;
};
// Releases `lock`, which may be null.
[[nodiscard]] inline Status release(std::unique_ptr<HeldLock> lock) { return lock ? lock->release() : ok_status(); }
// Releases the lock; returns `moved`, or the first Error.
[[nodiscard]] inline Result<i64> release_after(Result<i64> moved, std::unique_ptr<HeldLock> lock) {
  Status released = release(std::move(lock));
  if (moved && !released) return std::move(released).error();
  return moved;
}

// A transfer in flight. `done` never blocks; `wait` blocks and returns the bytes moved.
class Transfer {
 public:
  virtual ~Transfer() = default;   // waits if not done
  virtual bool done() = 0;
  virtual Result<i64> wait() = 0;
};

// Statistics of a storage with a buffer for small accesses: the number of read and write calls that the buffer served, and the
// number of requests that the buffer made to the storage below it.
struct CacheStats {
  std::atomic<i64> calls{0}, requests{0};
};
// Whether the buffer served a call of the storage, for the trace. If several threads use the file, calls may be attributed to the wrong
// thread, and the trace then has one request too many or too few.
class CacheProbe {
 public:
  explicit CacheProbe(const CacheStats* stats) : stats_(stats) {   // null: there is no buffer, or no trace
    if (stats_) calls_ = stats_->calls.load(std::memory_order_relaxed), requests_ = stats_->requests.load(std::memory_order_relaxed);
  }
  bool absorbed() const { return stats_ && stats_->calls.load(std::memory_order_relaxed) != calls_; }
  bool copied_only() const { return absorbed() && stats_->requests.load(std::memory_order_relaxed) == requests_; }

 private:
  const CacheStats* stats_;
  i64 calls_ = 0, requests_ = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;

  virtual Result<i64> read(std::span<const IoPiece> pieces) = 0;
  virtual Result<i64> write(std::span<const IoPiece> pieces) = 0;
  // Starts the transfer and returns. The pieces' memory must live until it is done. Default: runs it synchronously.
  virtual std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces);

  virtual Result<i64> size() = 0;
  // A lower bound of the size that is known without asking a server, unless another process truncates the file.
  virtual i64 known_size() const { return 0; }
  virtual Status set_size(i64 bytes) = 0;         // truncate or extend with a hole
  virtual Status preallocate(i64 bytes) = 0;      // size >= bytes afterwards, space allocated, content kept
  virtual Status sync() = 0;
  virtual Status close() = 0;
  // Writes out buffered data and discards read-ahead data. Afterwards others see earlier writes as after an unbuffered write().
  virtual Status flush() { return ok_status(); }
  // Following reads and sizes reflect what other nodes flushed before, as far as the storage can do that.
  virtual Status refresh() { return ok_status(); }

  // Storage with Coherence::kAfterPublish. publish: on rank 0 of the open, after sync() on all ranks: makes what they have written the
  // file's content, or forgets it (keep = false). `last`: close() follows. begin_turn: where the writes of two ranks overlap, those of
  // the higher turn remain. An open of one rank publishes by itself when it syncs and closes.
  virtual Status publish(bool /*keep*/, bool /*last*/) { return ok_status(); }
  virtual Status begin_turn(i64 /*turn*/) { return ok_status(); }

  // Null: there is no buffer; every call reaches the file.
  virtual const CacheStats* cache_stats() const { return nullptr; }
  // From now on, records the buffer's own requests and the accesses it serves in the sink, which must outlive this object.
  virtual void trace_to(TraceSink* /*sink*/) {}

  // Blocks until [begin, end) is locked against other processes and other Storage objects of this process.
  // Fails with kUnsupportedOperation where traits().can_lock is false.
  virtual Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) = 0;
  // The same, but returns null instead of waiting. Default: waits.
  virtual Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) { return lock(begin, end, exclusive); }

  // Locks [begin, end) (exclusively for writing), moves the pieces, which lie in it, and unlocks, all in one request: for storage where
  // a lock costs as much as the access. Returns nothing, without moving data, if it is not supported.
  virtual std::optional<Result<i64>> move_locked(Direction /*direction*/, std::span<const IoPiece> /*pieces*/, i64 /*begin*/, i64 /*end*/) {
    return std::nullopt;
  }

  // Of storage that grants locks to clients and lets them keep these (Lustre, GPFS). No promise, no Error; by default nothing is done.
  // will_write: this process writes these ranges soon, and others what lies between: their locks may be requested now, and no more than
  // them. give_back_locks: this client keeps no lock of the file, and of_all: no other one either.
  virtual void will_write(std::span<const IoPiece> /*ranges*/) {}
  virtual void give_back_locks(bool /*of_all*/) {}

  // While the result is held, only the ranks of this open (OpenOptions::group) write to the file; others wait, at the latest in their first
  // write. Null if another open has written to it. Never waits. Where other opens can't be seen, as this would take a message to a server:
  // null as well, unless a hint promises that nobody else writes (`promised`).
  virtual std::unique_ptr<HeldLock> exclude_other_writers(bool promised) {
    return promised && traits().metadata_is_remote ? std::make_unique<NoLock>() : nullptr;
  }

  virtual const Traits& traits() const = 0;
  virtual Layout layout() = 0;
  // A handle with which other ranks open the same file at a lower cost (OpenOptions::handle); empty: not supported.
  virtual Result<std::vector<std::byte>> shared_handle() { return std::vector<std::byte>(); }
};

struct OpenOptions {
  bool read = true;
  bool write = false;
  bool create = false;
  bool exclusive = false;        // with create: fail if it exists
  int permissions = 0666;        // before umask
  Layout wanted_layout;          // for new files on file systems with stripes: requested by hints
  Layout suggested_layout;       // used if no hint requests a layout and the folder's default is one stripe
  WriterGroup group;             // of the collective open; not drawn: this open is a group of its own
  std::span<const std::byte> handle;   // from shared_handle() of rank 0
  // What MPI's rules of consistency permit until flush(), sync(), close() or a lock: writes may return before others see them, and
  // reads may return data that was read ahead.
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
  virtual Status load() { return ok_status(); }                  // loads its libraries; called before open and remove
  virtual void prepare(const std::string& /*path*/) {}           // the file will be opened soon: slow preparations may begin
  virtual Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) = 0;
  virtual Status remove(const std::string& path) = 0;
};

// Finds the driver of a file name in the registry table (storage/registry.cpp). The prefixes "ufs:", "nfs:", "lustre:" (and ROMIO's
// others for POSIX file systems), "memory:" and "null:" must match exactly. Driver libraries (include/mercutio/driver.h) follow:
// "name:" if that library exists, and "name://" always. Any other name, with or without colons, is a path for posix.
// Returns the driver and the path without its prefix.
struct Resolved {
  Driver* driver;
  std::string path;
  CoherenceWay coherence = CoherenceWay::kAuto;   // requested by the prefix
};
// The driver library that the file name requests and that exists on this node: "name", or "" for none.
std::string driver_library_of(const std::string& file_name);
Resolved resolve(const std::string& file_name);
// By what hint files know a file: its path, or the whole name where that is none of the operating system's.
std::string name_for_hints(const std::string& file_name);
// The same as resolve(), but plain paths may be mapped to another cluster (model/path_mapping.h) by the hint `mercutio_remote`.
Resolved resolve(const std::string& file_name, const std::string& mercutio_remote);
// The same with the result of driver_library_of() on another rank.
Resolved resolve(const std::string& file_name, const std::string& mercutio_remote, const std::string& library);

}  // namespace mercutio
