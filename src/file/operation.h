// Operation: one data access after its arguments were checked. It holds everything that the access needs, and nothing that can change
// before it ends. Blocking, nonblocking and split calls share one body. Internal to file/.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "file/datarep.h"
#include "file/device.h"
#include "file/file.h"
#include "model/hints.h"

namespace mercutio {

// A view and its data representation.
struct FileView {
  ViewRef view;
  std::shared_ptr<const RegisteredDatarep> registered;  // null: one of the standard's
  bool external32 = false;  // view->datarep is
  bool scattered = false;   // the view of some rank has holes
  i64 etype_bytes() const { return view->etype->size() > 0 ? view->etype->size() : 1; }
  // Without conversion functions, data in the file is the same as in memory.
  bool converts() const { return registered ? registered->converts() : external32; }
};

struct Operation {
  EngineFile engine;  // its hints point into `hints`
  Storage* buffer = nullptr;  // the file for independent accesses of this rank; collective ones bypass its write-behind and read-ahead
  std::shared_ptr<const HintSet> hints;
  std::shared_ptr<const FileView> view;
  i64 views = 0;              // of the file, set before this access
  SharedCounter* counter = nullptr;  // ordered accesses
  Channel channel;                   // collective accesses
  Direction direction = Direction::kRead;
  bool collective = false;
  bool ordered = false;
  bool individual = false;   // see CollectiveOptions; found by ordered accesses
  bool atomic = false;
  bool alone = false;        // see CollectiveOptions
  Memory memory;
  TypeSpecRef memory_spec;
  DeviceMemoryRef device;    // whose memory it is; null: the processor's
  i64 first_etype = 0;
  i64 etypes = 0;            // number of etypes that the access covers
  i64 file_bytes = 0;        // etypes * etype size: bytes in the file's representation; larger only at an explicit offset
  i64 file_bytes_moved = 0;  // set by perform()
  Status entry = ok_status();
  // Whether the data must be staged: converted, or copied from or to a device.
  bool staged() const { return device || view->converts(); }
  // For the trace.
  SampledAccesses* passed_over = nullptr;   // as in OpenFile::Look
  TraceSink* trace = nullptr;    // null: nobody looks at this access
  bool shared = false;           // by the shared file pointer
  bool asked_together = false;   // by a collective call, though it may be carried out alone
  const char* name = "";
  i64 start_ns = 0;
  Counters counters;
};

// Gives an ordered access its place: moves the shared file pointer by what all ranks ask for. On a rank with an Error of its own, to take part.
Task<Status> place_ordered(Operation& operation);
// The body of every access. Returns the bytes moved, in native bytes of the memory type. Collective operations agree on errors.
Task<Result<i64>> perform(std::shared_ptr<Operation> operation);
// The same for an independent access, which never waits for another rank.
Result<i64> perform_alone(Operation& operation);
// The same for one that the program has not called for: IndependentAccesses does not note it.
Result<i64> move_alone(Operation& operation);

// Staged accesses (file/staging.cpp): collective, whichever ranks stage; and independent.
Task<Result<i64>> move_together(std::shared_ptr<Operation> operation);
Result<i64> move_staged(Operation& operation);

// What a collective access does with the buffer of this rank's independent ones, before its data is moved and after.
void begin_together(Operation& operation);
Result<i64> end_together(Operation& operation, Result<i64> moved);

// Checks that the access ends below file offset 2^62. If it does not, its position is discarded.
Status check_reach(Operation& operation);
// The data of the operation in the file and in memory; empty if its checks failed. Valid as long as the operation.
Access access_of(const Operation& operation);

// The bytes of one copy of a memory type in the file's representation.
Result<i64> bytes_in_file(const FileView& view, const TypeSpecRef& memory_spec);
// The type tree with the file sizes of a registered representation in place of external32's.
Result<TypeSpecRef> with_file_sizes(const TypeSpecRef& spec, const RegisteredDatarep& datarep);
// The type with the sizes of the file's representation.
Result<FlatTypeRef> lower_for_file(const TypeSpecRef& spec, const std::string& datarep,
                                   const RegisteredDatarep* registered);

}  // namespace mercutio
