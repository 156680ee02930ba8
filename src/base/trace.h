// The trace: typed events with times and bytes, and facts about files. A null sink costs one branch.
//
// A process has at most one Tracer (the product's is src/insight/recorder.h). Every open file has a sink of it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <optional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/ticks.h"
#include "base/types.h"

namespace mercutio {

enum class TraceKind { kOpen, kClose, kPlan, kExchange, kStorageRead, kStorageWrite, kLock, kSieve, kCopy, kWait, kSync, kCollective, kAccess, kBlocked, kAbsorbedRead, kAbsorbedWrite, kSize, kResize, kView, kSetting };

// The arguments of one data-access call.
struct AccessFacts {
  Direction direction = Direction::kRead;
  bool collective = false;
  bool waited = true;      // the call blocked until the access was complete
  bool failed = false;
  i64 end_offset = 0;      // in the file, behind the last byte
  i64 piece_bytes = 0;     // the first contiguous piece in the file
  bool shared = false;     // by the shared file pointer
};

struct TraceEvent {
  TraceKind kind;
  i64 start_ns = 0;   // steady clock
  i64 end_ns = 0;
  i64 bytes = 0;      // kAbsorbedRead: bytes that were read ahead and never requested
  i64 offset = -1;
  std::string_view detail;   // valid during the call only; kAccess: the call's name, kPlan: the plan, empty if it is not new
  const Counters* counters = nullptr;   // kCollective, kAccess: of the access; kStorage*: likewise, or null; valid during the call only
  const AccessFacts* access = nullptr;  // kAccess
  i64 pieces = 1;     // kStorage*: number of pieces; kAbsorbed*: number of accesses served by a buffer without the file; kSize, kSetting: of calls that take about as long
  i64 span = 0;       // kStorage*: from the begin of the first piece to the end of the last
  i64 late_ns = 0;    // kOpen, kClose, kSync, kResize, kView, kSetting: that the rank waited for others, which came later
};

inline constexpr i64 kSketchesKept = 8;

// One step of a program with a file, for `mercutio replay`. Accesses by file pointers are recorded with their offsets.
enum class StepKind : std::uint8_t { kOpen, kView, kAccess, kEnd, kWait, kSync, kSetSize, kPreallocate, kAtomicity, kClose };
enum class StepForm : std::uint8_t { kBlocking, kStarted, kSplit };
inline constexpr i64 kNoShape = -1;

struct TraceStep {
  StepKind kind = StepKind::kAccess;
  StepForm form = StepForm::kBlocking;
  bool write = false, collective = false;
  i64 offset = 0;        // access: in etypes; view: displacement; atomicity: 0 or 1
  i64 bytes = 0;         // access: in the file; view: of an etype; size, preallocate: the size
  i64 shape = kNoShape;  // view: its filetype; open: the text of text_of_opening()
  i64 start_ns = 0;
};

class TraceSink;

// Accesses of one kind and about one size, of which a sink looks at some only. Two threads at a time may lose a count, no more.
struct SampledAccesses {
  std::atomic<i64> left{0};   // to be passed over before the next one is looked at
  std::atomic<i64> bytes{0};  // of those passed over since the last one that was looked at ended
  std::atomic<i64> timed{0};  // of these, those that took() was called for, and the sum
  std::atomic<i64> ticks{0};
  TraceSink* sink = nullptr;  // told of those that are looked at

  TraceSink* next(i64 more) {
    const i64 passed_over = left.load(kAnyOrder);
    if (passed_over == 0) return sink;
    add(bytes, more);
    left.store(passed_over - 1, kAnyOrder);
    return nullptr;
  }
  void took(i64 more) {
    if (more > 0) add(timed, 1), add(ticks, more);
  }

 private:
  static constexpr auto kAnyOrder = std::memory_order_relaxed;
  static void add(std::atomic<i64>& sum, i64 more) { sum.store(sum.load(kAnyOrder) + more, kAnyOrder); }
};

// Of an access that was passed over (else null): how long it takes, until the end of this.
class TimedAccess {
 public:
  explicit TimedAccess(SampledAccesses* passed_over) : alike_(passed_over), begin_(passed_over ? ticks() : 0) {}
  ~TimedAccess() {
    if (alike_) alike_->took(ticks() - begin_);
  }
  TimedAccess(const TimedAccess&) = delete;
  TimedAccess& operator=(const TimedAccess&) = delete;

 private:
  SampledAccesses* const alike_;
  const i64 begin_;
};
inline constexpr i64 kSizeBuckets = 12;
// Bucket 0 holds up to 256 bytes, each next one four times as much, the last all that is larger.
inline i64 size_bucket(i64 bytes) {
  if (bytes <= 256) return 0;
  const i64 bucket = (std::bit_width(static_cast<std::uint64_t>(bytes - 1)) - 7) / 2;
  return bucket < kSizeBuckets ? bucket : kSizeBuckets - 1;
}
using SamplesOfAccesses = std::array<SampledAccesses, 4 * kSizeBuckets>;   // kinds: read, write; collective read, write

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // The sink that records an access which begins, and the storage requests of it. Null: it is passed over, and one of `passed_over`.
  TraceSink* of_access(Direction direction, bool collective, i64 bytes_accessed, SampledAccesses*& passed_over) {
    if (!samples_) return this;
    const i64 kind = (collective ? 2 : 0) + (direction == Direction::kWrite ? 1 : 0);
    SampledAccesses& alike = (*samples_)[static_cast<std::size_t>(kind * kSizeBuckets + size_bucket(bytes_accessed))];
    TraceSink* const sink = alike.next(bytes_accessed);
    if (!sink) passed_over = &alike;
    return sink;
  }
  // Whether steps, shapes and sketches are recorded; whether texts are that only readers need: the plans, and which hints are in effect;
  // whether the notes on hints are, and with them the hints.
  virtual bool keeps_steps() const { return true; }
  virtual bool keeps_texts() const { return true; }
  virtual bool wants_hints() const { return true; }
  // Called in the order of this rank's calls.
  virtual void step(const TraceStep& /*step*/) {}
  // The number of the shape with this key, or kNoShape if there is no room. `make` is called once for each key; it returns
  // nothing if the shape needs more than `room` bytes.
  using ShapeMaker = std::function<std::optional<std::vector<std::byte>>(i64 room)>;
  virtual i64 shape(const std::string& /*key*/, const ShapeMaker& /*make*/) { return kNoShape; }
  virtual void record(const TraceEvent& event) = 0;   // any thread
  // A fact about the file as text: "hints" (key=value lines), "notes" (on requested hints), "adapted" (of a pattern, key=value lines), "sketch" (of a collective access,
  // model/access_sketch.h; only the first kSketchesKept are kept).
  virtual void note(std::string_view /*what*/, std::string_view /*text*/) {}

 protected:
  SamplesOfAccesses* samples_ = nullptr;   // null: all are looked at
};

// Facts about a file that are known once it is open.
struct FileFacts {
  std::string name;
  std::string amode;         // "rdwr|create"
  std::string file_system;
  i64 ranks = 1, nodes = 1;  // of the communicator that opened it
  i64 rank = 0;              // of this process in that communicator
  i64 block_bytes = 0;       // preferred alignment of transfers
  i64 stripe_bytes = 0, stripe_count = 0, first_server = -1;
};

class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual std::unique_ptr<TraceSink> file(const FileFacts& facts) = 0;   // never null
  // The program has completed a nonblocking access to the file of this name; from `start_ns` to `end_ns` it waited for it, if that is later.
  virtual void waited(std::string_view /*name*/, i64 /*start_ns*/, i64 /*end_ns*/) {}
  virtual void open_failed(std::string_view /*name*/, std::string_view /*why*/, i64 /*start_ns*/) {}
};

}  // namespace mercutio
