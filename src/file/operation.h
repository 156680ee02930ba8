// Operation: one data access after its arguments were checked: everything it needs until it ends, and nothing that can
// change meanwhile. The same body serves blocking, nonblocking and split calls. Inside file/ only.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "file/datarep.h"
#include "file/device.h"
#include "file/file.h"
#include "model/hints.h"

namespace mercutio {

// A view and how data is represented in it.
struct FileView {
  ViewRef view;
  std::shared_ptr<const RegisteredDatarep> registered;  // null: one of the standard's
  bool external32 = false;  // view->datarep is
  bool scattered = false;   // some rank's view has holes
  i64 etype_bytes() const { return view->etype->size() > 0 ? view->etype->size() : 1; }
  // Without conversion functions the file holds what memory holds.
  bool converts() const { return registered ? registered->converts() : external32; }
};

struct Operation {
  EngineFile engine;  // its hints point into `hints`
  Storage* buffer = nullptr;  // the file as this rank's own accesses see it; collective ones go past what it keeps
  std::shared_ptr<const HintSet> hints;
  std::shared_ptr<const FileView> view;
  SharedCounter* counter = nullptr;  // ordered accesses
  Channel channel;                   // collective accesses
  Direction direction = Direction::kRead;
  bool collective = false;
  bool ordered = false;
  bool individual = false;   // see CollectiveOptions; found by ordered accesses
  bool atomic = false;
  Memory memory;
  TypeSpecRef memory_spec;
  DeviceMemoryRef device;    // whose memory it is; null: the processor's
  i64 first_etype = 0;
  i64 etypes = 0;            // what the access covers
  i64 file_bytes = 0;        // etypes * etype size: bytes in the file's representation; more only at an explicit offset
  i64 file_bytes_moved = 0;  // set by perform()
  Status entry = ok_status();
  // What lies in memory is not what storage can take or give.
  bool staged() const { return device || view->converts(); }
  // For the trace.
  TraceSink* trace = nullptr;    // null: nobody looks at this access
  bool asked_together = false;   // by a collective call, though it may be carried out alone
  const char* name = "";
  i64 start_ns = 0;
  Counters counters;
};

// The body of every access: bytes moved, counted in native bytes of the memory type. Collective operations agree.
Task<Result<i64>> perform(std::shared_ptr<Operation> operation);
// The same for an access that is not collective, which waits for no other rank.
Result<i64> perform_alone(Operation& operation);

// Their parts in file/staging.cpp. Collectively, whatever the ranks stage; and alone, what is staged.
Task<Result<i64>> move_together(std::shared_ptr<Operation> operation);
Result<i64> stage_alone(Operation& operation);

// Whether the view has bytes there at all: what lies beyond 2^62 is no place in a file. If not, the place is forgotten.
Status check_reach(Operation& operation);
// Where the data lies in the file and in memory; nothing to move where the entry failed. To be used while the operation lasts.
Access access_of(const Operation& operation);

// What one copy of a memory type takes in the file's representation.
Result<i64> bytes_in_file(const FileView& view, const TypeSpecRef& memory_spec);
// The tree with the sizes a registered representation has in the file put where external32's stand.
Result<TypeSpecRef> with_file_sizes(const TypeSpecRef& spec, const RegisteredDatarep& datarep);
// The type with the sizes of the file's representation.
Result<FlatTypeRef> lower_for_file(const TypeSpecRef& spec, const std::string& datarep,
                                   const RegisteredDatarep* registered);

}  // namespace mercutio
