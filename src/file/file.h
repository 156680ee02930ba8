// File: MPI-IO semantics without mpi.h. The procedures of the I/O chapter, with the standard's nouns; src/api maps the
// MPI_File_* calls onto it one to one. All collective methods end in agreement: the same error class on every rank.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "comm/comm.h"
#include "engine/progress/progress.h"
#include "file/datarep.h"
#include "model/access.h"
#include "model/hints_report.h"
#include "model/hints_sources.h"
#include "storage/storage.h"

namespace mercutio {

struct Amode {
  bool read_only = false, write_only = false, read_write = false, create = false, exclusive = false;
  bool delete_on_close = false, unique_open = false, sequential = false, append = false;
  bool operator==(const Amode&) const = default;
  bool readable() const { return !write_only; }
  bool writable() const { return !read_only; }
};

enum class Positioning { kExplicit, kIndividual, kShared };
enum class Whence { kSet, kCurrent, kEnd };

// One row of the chapter's table of data accesses, with its arguments. `ordered` is collective + shared.
struct AccessCall {
  const char* name = "";          // "MPI_File_write_at_all", for error texts
  Direction direction = Direction::kRead;
  Positioning positioning = Positioning::kExplicit;
  bool collective = false;
  i64 offset = 0;                 // explicit: in etypes
  Memory memory;                  // bytes laid out by the native type
  TypeSpecRef memory_spec;        // the same type as constructors: for data representations other than native
  Status argument_error = ok_status();   // found by the caller; a collective call takes part with it, and the ranks agree
};

struct OpenCall {
  std::string file_name;
  Amode amode;
  Status argument_error = ok_status();
  InfoItems info;                 // the user's, in order (model/hints.h)
  std::string members;            // for the trace: "world", "self", ranks of MPI_COMM_WORLD as 0-3,8, or ""
  i64 world_rank = -1;            // for the job's record and trace: in MPI_COMM_WORLD, if all of its ranks open the file, in any order, and nobody else
  i64 start_ns = 0;               // for the trace: when the program called; 0: not known
};

struct ViewCall {
  i64 displacement = 0;           // in bytes, or File::kDisplacementCurrent
  TypeSpecRef etype, filetype;
  std::string datarep;
  InfoItems info;
  Status argument_error = ok_status();
  i64 start_ns = 0;               // as in OpenCall
};

// The source of hints, and the reporter of problems with them.
struct HintService {
  HintSources sources;
  HintReporter reporter;
};

class Buffers;
class PublishedFiles;

// Objects of the process that every File uses.
struct Context {
  Progress* progress = nullptr;   // never null
  DatarepRegistry* datareps = nullptr;
  Tracer* tracer = nullptr;       // null: no tracing
  HintService* hints = nullptr;      // null: files and the environment are read, and nothing is reported
  bool leads = true;              // reports for all processes if each opens a file of its own
  i64 job_processes = 0;          // 0: unknown, as with MPI sessions
  bool takes_partial_etypes = false;   // at explicit offsets, as OMPIO does; errors in ROMIO and by the standard
  Buffers* buffers = nullptr;     // null: all buffers are in the processor's memory
  PublishedFiles* published = nullptr;   // null: a file that is open twice is two files to the other one, until it is published
  i64* job = nullptr;   // a number of this process, negative until all of MPI_COMM_WORLD have agreed on one; null: it needs none
  // Of a process that keeps a trace: the first rank of MPI_COMM_WORLD that does, once others are known to keep none; -1 before. Null: this one
  // keeps none.
  std::atomic<i64>* first_traced = nullptr;
  bool threads_call = false;   // several threads of the program may be in calls at once
  std::atomic<bool>* all_record = nullptr;   // set once all processes of MPI_COMM_WORLD are known to keep a record; null: this one keeps none
};

class File {
 public:
  virtual ~File() = default;

  virtual const std::string& name() const = 0;
  virtual Amode amode() const = 0;
  virtual Comm& comm() = 0;

  // Life. close is collective and frees nothing but the resources; after it only destruction is allowed.
  virtual Status close() = 0;
  virtual Status set_size(i64 bytes) = 0;      // collective
  virtual Status preallocate(i64 bytes) = 0;   // collective
  virtual Result<i64> size() = 0;
  virtual Status sync() = 0;                   // collective
  virtual Status flush() = 0;                 // writes out this rank's write-behind data; not collective
  virtual Status set_atomicity(bool atomic) = 0;   // collective
  virtual bool atomicity() const = 0;

  // Info. set is collective; differing or one-sided keys never hang. get returns every hint in effect.
  virtual Status set_info(const InfoItems& info, Status argument_error = ok_status()) = 0;
  virtual InfoItems info() const = 0;
  // Each hint that was requested on this rank, its origin and its status. Only rank 0 knows what is in effect instead.
  virtual std::shared_ptr<const HintSet> hint_notes() const = 0;

  // Views. displacement kDisplacementCurrent as in the standard. Collective.
  static constexpr i64 kDisplacementCurrent = -54278278;   // api translates MPI_DISPLACEMENT_CURRENT
  virtual Status set_view(ViewCall call) = 0;
  virtual ViewRef view() const = 0;
  virtual Result<i64> type_extent(const TypeSpec& type) = 0;   // in the file's data representation

  // Pointers, in etypes.
  virtual Status seek(i64 offset, Whence whence) = 0;
  virtual i64 position() = 0;
  virtual Result<i64> byte_offset(i64 offset) = 0;      // of an etype offset in the view
  virtual Status seek_shared(i64 offset, Whence whence, Status argument_error = ok_status()) = 0;   // collective
  virtual Result<i64> position_shared() = 0;

  // The trace, for a call that does more than this layer sees: when it began (0: nobody listens), and that it is done.
  virtual i64 trace_time() const = 0;
  virtual void trace_setting(const char* call, i64 start_ns) = 0;

  // Data. Results are bytes moved, counted in the memory type's native bytes.
  virtual Result<i64> access(AccessCall call) = 0;                        // blocking
  virtual Result<RequestRef> start(AccessCall call, std::function<void(const Result<i64>&)> on_done) = 0;
  virtual Status begin(AccessCall call) = 0;                              // split collective, one at a time
  virtual Result<i64> end(const char* name, Direction direction, Positioning positioning, const void* buffer) = 0;

  // The Error as one line for the user: operation, file, offset, bytes, rank, host, errno name and advice.
  virtual std::string describe(const char* operation, const Error& error) const = 0;
};

// Collective over `comm`, which the File keeps. On failure all ranks get an Error of the same class.
Result<std::unique_ptr<File>> open_file(std::unique_ptr<Comm> comm, const OpenCall& call, const Context& context);
Status delete_file(const std::string& file_name, const InfoItems& info);
// The driver and path of a file that is not open, which may depend on hints.
Resolved place_of(const std::string& file_name, const InfoItems& info);

}  // namespace mercutio
