// The trace: typed events with times and bytes, and facts about files. A null sink costs one branch.
//
// A process has one Tracer or none (src/insight/recorder.h is the product's); every open file has a sink of it.
#pragma once

#include <functional>
#include <optional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "base/types.h"

namespace mercutio {

enum class TraceKind { kOpen, kClose, kPlan, kExchange, kStorageRead, kStorageWrite, kLock, kSieve, kCopy, kWait, kSync, kCollective, kAccess, kBlocked, kAbsorbedRead, kAbsorbedWrite };

// What was asked for in one call of a data access.
struct AccessFacts {
  Direction direction = Direction::kRead;
  bool collective = false;
  bool waited = true;      // the program was held until it was over
  bool failed = false;
  i64 end_offset = 0;      // in the file, behind the last byte
  i64 piece_bytes = 0;     // the first contiguous piece in the file
};

struct TraceEvent {
  TraceKind kind;
  i64 start_ns = 0;   // steady clock
  i64 end_ns = 0;
  i64 bytes = 0;      // kAbsorbedRead: of those read in advance, the ones that nobody asked for
  i64 offset = -1;
  std::string_view detail;   // valid during the call only; kAccess: the call's name, kPlan: the plan, empty if it is known
  const Counters* counters = nullptr;   // kCollective, kAccess: of the access; valid during the call only
  const AccessFacts* access = nullptr;  // kAccess
  i64 pieces = 1;     // kStorage*: in how many pieces; kAbsorbed*: how many accesses a buffer took or served without the file
  i64 span = 0;       // kStorage*: from the first to the end of the last
};

inline constexpr i64 kSketchesKept = 8;

// What a program did with a file, so that `mercutio replay` can do it again. Accesses by file pointers have their places here.
enum class StepKind : std::uint8_t { kOpen, kView, kAccess, kEnd, kWait, kSync, kSetSize, kPreallocate, kAtomicity, kClose };
enum class StepForm : std::uint8_t { kBlocking, kStarted, kSplit };
inline constexpr i64 kNoShape = -1;

struct TraceStep {
  StepKind kind = StepKind::kAccess;
  StepForm form = StepForm::kBlocking;
  bool write = false, collective = false;
  i64 offset = 0;        // access: in etypes; view: displacement; atomicity: 0 or 1
  i64 bytes = 0;         // access: in the file; view: of an etype; size, preallocate: the size
  i64 shape = kNoShape;  // view: its filetype; open: what text_of_opening says
  i64 start_ns = 0;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // In the order of the calls of this rank.
  virtual void step(const TraceStep& /*step*/) {}
  // Its number; kNoShape when there is no room. The bytes are asked for once for each key; null: they are more than there is
  // room for.
  using ShapeMaker = std::function<std::optional<std::vector<std::byte>>(i64 room)>;
  virtual i64 shape(const std::string& /*key*/, const ShapeMaker& /*make*/) { return kNoShape; }
  virtual void record(const TraceEvent& event) = 0;   // any thread
  // What is worth knowing about the file as text: "hints" (key=value lines), "notes" (of hints that were asked for), "sketch" (of a
  // collective access, model/access_sketch.h; more than kSketchesKept are not looked at).
  virtual void note(std::string_view /*what*/, std::string_view /*text*/) {}
};

// What is known of a file once it is open.
struct FileFacts {
  std::string name;
  std::string amode;         // "rdwr|create"
  std::string file_system;
  i64 ranks = 1, nodes = 1;  // that opened it together
  i64 rank = 0;              // this one's among them
  i64 block_bytes = 0;       // what transfers are best aligned to
  i64 stripe_bytes = 0, stripe_count = 0, first_server = -1;
};

class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual std::unique_ptr<TraceSink> file(const FileFacts& facts) = 0;   // never null
  virtual void waited() {}   // the program has waited for a nonblocking access
};

}  // namespace mercutio
