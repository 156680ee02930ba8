// Data accesses: arguments are checked once, the position is taken, then perform() does the rest, driven here
// (blocking) or by Progress (nonblocking.cpp).
//
// Three kinds of bad calls. What is wrong on all ranks alike (access mode, an active split collective) is returned at
// once, without a message. What is wrong on this rank only makes it join a collective access with no data, so that
// nobody hangs; nonblocking calls return their Error at once and join behind the program's back.
//
// Pointers: a blocking access leaves the individual pointer behind the last etype it really accessed, a nonblocking or
// split one, and every access by the shared pointer, behind the last etype that was asked for (MPI 14.4.1).
#include <cerrno>

#include "base/attempt.h"
#include "base/reserve.h"
#include "file/buffers.h"
#include "file/open_file.h"
#include "model/single_run.h"

namespace mercutio {

Status OpenFile::check_mode(const AccessCall& call) const {
  if (call.direction == Direction::kRead && !amode_.readable())
    return Error{ErrorClass::kAccess, "reading from a file opened with MPI_MODE_WRONLY"};
  if (call.direction == Direction::kWrite && !amode_.writable())
    return Error{ErrorClass::kReadOnly, "writing to a file opened with MPI_MODE_RDONLY"};
  if (amode_.sequential && call.positioning != Positioning::kShared)
    return Error{ErrorClass::kUnsupportedOperation,
                 "a file opened with MPI_MODE_SEQUENTIAL can be accessed by the shared file pointer only"};
  if (call.positioning == Positioning::kShared) MERCUTIO_TRY(counter_status_);
  if (!call.collective) return ok_status();
  if (comm_->failed(/*may_call=*/true)) return rank_died();
  return no_split("collective access");
}

// What is refused on all ranks alike has moved nothing, but takes its time.
Status OpenFile::admit(const AccessCall& call) const {
  const i64 start_ns = trace_time();
  Status mode = check_mode(call);
  if (!mode) trace_refused(call, start_ns);
  return mode;
}

// What this rank alone asked for, and what is wrong with it.
Error OpenFile::refused(Operation& operation) const {
  const Result<i64> why = operation.entry.error();
  if (operation.trace) trace_access(operation, why, /*waited=*/true);
  return why.error();
}

// Whether it is independent, and check_mode() finds nothing.
inline bool OpenFile::is_plain(const AccessCall& call) const {
  if (call.collective || call.positioning == Positioning::kShared || amode_.sequential) return false;
  return call.direction == Direction::kRead ? amode_.readable() : amode_.writable();
}

// Nothing of the call has been checked. Once an access, before it may go on as one of this rank alone.
OpenFile::Look OpenFile::look_at(const AccessCall& call) const {
  i64 bytes = 0;
  Look look{nullptr, call.collective};
  if (!trace_) return look;
  if (call.memory.type && __builtin_mul_overflow(call.memory.type->size(), call.memory.count, &bytes)) bytes = 0;
  look.sink = trace_->of_access(call.direction, call.collective, bytes, look.passed_over);
  return look;
}

Status OpenFile::check_call(const AccessCall& call, Operation& operation) const {
  MERCUTIO_TRY(call.argument_error);
  const FileView& view = *operation.view;
  if (operation.memory.count < 0)
    return Error{ErrorClass::kCount, "the count is negative: " + std::to_string(operation.memory.count)};
  const FlatTypeRef& type = operation.memory.type;
  if (type && type->size() > 0 && operation.memory.count > type->stream_bytes() / type->size())
    return Error{ErrorClass::kCount, "the buffer is larger than any memory: " + std::to_string(operation.memory.count) + " elements"};
  i64 bytes = operation.memory.bytes();
  if (view.converts() && bytes > 0) {
    if (!operation.memory_spec) return Error{ErrorClass::kConversion, "the memory type's elements are not known"};
    MERCUTIO_LET(const i64 one, bytes_in_file(view, operation.memory_spec));
    if (__builtin_mul_overflow(one, operation.memory.count, &bytes))
      return Error{ErrorClass::kCount, "the access is too large"};
  }
  const bool partial = context_.takes_partial_etypes && call.positioning == Positioning::kExplicit && !view.converts();
  if (bytes % view.etype_bytes() != 0 && !partial)
    return Error{ErrorClass::kIo, "the access has " + std::to_string(bytes) +
                                      " bytes, which is no whole number of etypes of " +
                                      std::to_string(view.etype_bytes()) + " bytes"};
  if (bytes > 0 && view.view->filetype->size() == 0)
    return Error{ErrorClass::kIo, "the view's filetype holds no data, so nothing can be accessed through it"};
  if (call.positioning == Positioning::kExplicit && call.offset < 0)
    return Error{ErrorClass::kArg, "the offset is negative: " + std::to_string(call.offset)};
  if (context_.buffers && operation.memory.bytes() > 0) {
    MERCUTIO_LET(operation.device, context_.buffers->find(operation.memory, call.direction));
  }
  operation.file_bytes = bytes;
  operation.etypes = bytes / view.etype_bytes();
  return ok_status();
}

void OpenFile::prepare(AccessCall& call, Look look, Operation& operation) {
  if (look.sink && !operation.trace) begin_trace(call, look, operation);
  operation.passed_over = look.passed_over;
  {
    std::lock_guard lock(mutex_);
    operation.hints = hints_;
    operation.view = view_;
    operation.views = views_;
    operation.engine = engine_file(*hints_, *view_, fixed_hints_, call.collective);
    operation.engine.hints_edition = hints_edition_;
  }
  operation.buffer = storage_.get();
  operation.engine.trace = operation.trace;
  operation.engine.counters = operation.trace ? &operation.counters : nullptr;
  operation.engine.plans = &plans_;
  operation.engine.patterns = &patterns_;
  operation.engine.run_lists = &run_lists_;
  operation.counter = counter_.get();
  operation.direction = call.direction;
  operation.collective = call.collective;
  operation.ordered = call.collective && call.positioning == Positioning::kShared;
  operation.shared = call.positioning == Positioning::kShared;
  operation.atomic = atomic_;
  operation.alone = publishes_ && call.collective && call.direction == Direction::kRead && dirty_;
  operation.memory = std::move(call.memory);
  operation.memory_spec = std::move(call.memory_spec);
  Status turn = take_turn(call);
  operation.entry = attempt([&] { return check_call(call, operation); });
  if (operation.entry) operation.entry = std::move(turn);
  if (operation.entry && call.collective && comm_->size() > 1) operation.entry = hold_reserve();
  if (operation.entry) operation.entry = attempt([&] { return take_position(call, operation); });
  if (call.collective && !operation.channel.comm) operation.channel = next_channel();
}

// What the file is to the engine, without what is remembered of patterns and plans.
EngineFile OpenFile::engine_file(const HintSet& hints, const FileView& view, const FixedHints& fixed_hints, bool collective) {
  return {
      .storage = collective ? direct_ : storage_.get(),
      .comm = comm_.get(),
      .hints = &hints.values,
      .dirty = &dirty_,
      .readable = readable_,
      .sieved = is_sieved(view),
      .gate = gate_ ? &*gate_ : nullptr,
      .layout = &layout_,
      .blocking = &blocking_,
      .fixed_hints = fixed_hints,
      .independent_accesses = &independent_accesses_,
      .core_each = core_each_,
      .is_traced = trace_ != nullptr,
  };
}

// Aggregators write for other ranks, so that only turns tell which of two writes to the same place came later.
Status OpenFile::take_turn(const AccessCall& call) {
  if (!publishes_ || atomic_ || call.direction == Direction::kRead) return ok_status();
  if (!call.collective) return attempt([&] { return storage_->begin_turn(2 * turns_ + 1); });
  return attempt([&] { return storage_->begin_turn(2 * ++turns_); });
}

// What a collective write has written for this rank, which may read it before it is published.
void OpenFile::note_own(const Operation& operation) {
  if (!publishes_ || operation.atomic || !operation.entry || operation.direction != Direction::kWrite || operation.file_bytes == 0) return;
  const FileView& view = *operation.view;
  const i64 first_byte = operation.first_etype * view.etype_bytes();
  const FileRange range = view.view->range_of(first_byte, first_byte + operation.file_bytes);
  if (!amode_.readable()) return published_->note_end(range.end);
  if (!attempt([&] { return copy_own(operation); })) published_->lose_own(range.begin, range.end);
}

Result<i64> OpenFile::copy_own(const Operation& operation) {
  const std::unique_ptr<Storage> own_writes = published_->own_writes();
  Hints hints = operation.hints->values;
  hints.romio_ds_write = Toggle::kDisable;
  Operation own;
  own.engine.storage = own_writes.get();
  own.engine.comm = operation.engine.comm;
  own.engine.hints = &hints;
  own.engine.sieved = false;
  own.buffer = own_writes.get();
  own.hints = operation.hints;
  own.view = operation.view;
  own.direction = Direction::kWrite;
  own.memory = operation.memory;
  own.memory_spec = operation.memory_spec;
  own.device = operation.device;
  own.first_etype = operation.first_etype;
  own.etypes = operation.etypes;
  own.file_bytes = operation.file_bytes;
  return move_alone(own);   // not an access of the program
}

// Explicit positions are given; the pointers move on at once, so that the next call, from any thread, finds its own
// place.
Status OpenFile::take_position(const AccessCall& call, Operation& operation) {
  if (call.positioning == Positioning::kExplicit) {
    operation.first_etype = call.offset;
  } else if (call.positioning == Positioning::kIndividual) {
    std::unique_lock lock(mutex_);
    MERCUTIO_HELD(mutex_);
    while (operation.views != views_) {   // another thread has set a view, and the pointer with it
      operation.view = view_;
      operation.views = views_;
      operation.engine.sieved = is_sieved(*view_);
      lock.unlock();
      MERCUTIO_TRY(check_call(call, operation));
      lock.lock();
    }
    operation.first_etype = pointer_;
    MERCUTIO_TRY(check_reach(operation));
    pointer_ += operation.etypes;
  } else if (!call.collective) {
    MERCUTIO_LET(operation.first_etype, counter_->fetch_add(operation.etypes));
    Status reach = check_reach(operation);
    if (!reach) (void)counter_->fetch_add(-operation.etypes);   // a place behind this one is out of reach, too
    return reach;
  } else {
    return ok_status();  // an ordered access gets its place with the others' (place_together)
  }
  return check_reach(operation);
}

// An ordered access, blocking or split, has its place before the call that begins it returns: that call moves the shared file pointer.
void OpenFile::place_together(Operation& operation) {
  in_flight_->wait_tag(operation.channel.tag, *context_.progress, *comm_);
  Status placed = wait_for(place_ordered(operation));
  if (operation.entry) operation.entry = std::move(placed);
}

// After a blocking access that moved less than asked: the pointer goes behind what was accessed, unless somebody has
// moved it since.
void OpenFile::finish_pointer(const AccessCall& call, const Operation& operation, const Result<i64>& result) {
  if (call.positioning != Positioning::kIndividual || !operation.entry) return;
  finish_pointer({operation.first_etype, operation.etypes, operation.view->etype_bytes(), operation.views},
                 result ? operation.file_bytes_moved : 0);
}

void OpenFile::finish_pointer(const Taken& taken, i64 moved) {
  if (moved == taken.etypes * taken.etype_bytes) return;   // without a division
  const i64 accessed = (moved + taken.etype_bytes - 1) / taken.etype_bytes;
  std::lock_guard lock(mutex_);
  if (views_ == taken.views && pointer_ == taken.first_etype + taken.etypes) pointer_ = taken.first_etype + accessed;
}

// Whether the memory is the processor's, as far as that is to be known before the storage gets it.
bool OpenFile::may_hand_on(const AccessCall& call) const {
  if (!context_.buffers) return true;
  if (faults_are_errors_) return !context_.buffers->any_runtime();
  const Result<DeviceMemoryRef> device = context_.buffers->find(call.memory, call.direction);
  return device && !*device;
}

static FileRun run_in(const FileView& view, i64 etype, i64 bytes) {
  const i64 etype_bytes = view.etype_bytes(), etypes = etypes_in(bytes, etype_bytes);
  i64 position = 0;
  if (view.converts() || etypes * etype_bytes != bytes || __builtin_mul_overflow(etype, etype_bytes, &position)) return {};
  return {offset_of_run(*view.view, position, bytes), etypes, etype_bytes};
}

// Where the access is in the file, if it is one run of it; else -1. The individual pointer moves on.
i64 OpenFile::take_run(const AccessCall& call, i64 bytes, Taken& taken) {
  const bool at_pointer = call.positioning == Positioning::kIndividual;
  const i64 etype = at_pointer ? pointer_ : call.offset;
  FileRun run = dense_view_.run_of(etype, bytes);
  if (run.offset < 0) run = run_in(*view_, etype, bytes);
  taken = {etype, run.etypes, run.etype_bytes, views_};
  if (run.offset >= 0 && at_pointer) pointer_ += run.etypes;
  return run.offset;
}

Result<i64> OpenFile::move_piece(Direction direction, const IoPiece& piece) {
  return attempt([&] { return direction == Direction::kRead ? storage_->read(std::span(&piece, 1)) : storage_->write(std::span(&piece, 1)); });
}

Result<i64> OpenFile::move_piece_atomically(Direction direction, const IoPiece& piece) {
  MERCUTIO_LET(std::unique_ptr<HeldLock> lock, attempt([&] { return storage_->lock(piece.offset, piece.offset + piece.bytes, /*exclusive=*/direction == Direction::kWrite); }));
  return release_after(move_piece(direction, piece), std::move(lock));
}

// The bytes of an access that is one run in memory, if nothing but its place in the file, and in atomic mode a lock, is needed to move it; else 0.
i64 OpenFile::bytes_of_run(const AccessCall& call) const {
  const Memory& memory = call.memory;
  i64 bytes = 0;
  const bool plain = !publishes_ && call.positioning != Positioning::kShared && call.argument_error && memory.type;
  if (!plain || !memory.type->contiguous() || __builtin_mul_overflow(memory.type->size(), memory.count, &bytes)) return 0;
  return std::max<i64>(bytes, 0);
}

// An independent access that is one run in the file and in memory is one call of the storage: there is nothing to choose, and once its
// offset is known nothing of the view is needed. Others go the long way, on which all that may be wrong with them is found. Inline: see
// posix::transfer.
[[gnu::always_inline]] inline Result<i64> OpenFile::access_alone(AccessCall& call, Look look) {
  const bool reading = call.direction == Direction::kRead;
  const WritesUnderWay::Entry entry(reading ? nullptr : counted_writes());
  const bool atomic = atomic_, may_go_on = !atomic || (faults_are_errors_ && !look.sink);
  IoPiece run{-1, call.memory.base, may_go_on ? bytes_of_run(call) : 0};
  Taken taken;
  std::optional<SieveGate::Pass> pass;   // what a write must hold
  if (run.bytes > 0 && may_hand_on(call) && !entry.cautious()) {
    if (call.positioning == Positioning::kExplicit) run.offset = dense_view_.run_of(taken.first_etype = call.offset, run.bytes).offset;
    if (run.offset < 0) {
      std::lock_guard lock(mutex_);
      const bool may = reading || atomic || !is_sieved(*view_) || (gate_ && pass.emplace(*gate_, run.bytes, &blocking_).given());
      if (may) run.offset = take_run(call, run.bytes, taken);
    }
  }
  if (run.offset < 0) {
    pass.reset();
    return access_by_pieces(call, look, entry.cautious());
  }
  Result<i64> moved = look.sink ? move_traced(call, look, run, taken.first_etype)
                      : atomic  ? move_piece_atomically(call.direction, run)
                                : move_piece(call.direction, run);
  IndependentAccesses::of_process().note();
  if (!reading && !dirty_.load()) dirty_.store(true);   // now: a sync of another thread meanwhile may have begun before the bytes were there
  const bool at_pointer = call.positioning == Positioning::kIndividual;
  if (!moved && moved.error().sys_errno == EFAULT) {   // memory of a device, perhaps: once more, at the same place
    pass.reset();
    if (at_pointer) call.positioning = Positioning::kExplicit, call.offset = taken.first_etype;
    moved = access_by_pieces(call, look, entry.cautious());
  }
  if (at_pointer) finish_pointer(taken, moved ? *moved : 0);
  return moved;
}

// `cautious`: see WritesUnderWay.
Result<i64> OpenFile::access_by_pieces(AccessCall& call, Look look, bool cautious) {
  Operation alone;
  prepare(call, look, alone);
  if (cautious) {
    alone.engine.sieved = any_sieves_;
    alone.engine.sieving = Toggle::kDisable;
  }
  if (!alone.entry) return refused(alone);
  if (alone.trace) trace_step(alone, StepForm::kBlocking);
  Result<i64> moved = attempt_memory([&] { return perform_alone(alone); });
  if (alone.trace) trace_access(alone, moved, /*waited=*/true);
  finish_pointer(call, alone, moved);
  return moved;
}

// The same for a collective access where one node holds all ranks (engine/runs.h). Nothing: it goes the long way, with what it has taken.
std::optional<Result<i64>> OpenFile::move_run_together(AccessCall& call, Begun& begun) {
  const i64 bytes = atomic_ ? 0 : bytes_of_run(call);
  if (bytes == 0 || storage_.get() != direct_ || !arena_ || !arena_->whole() || !hold_reserve()) return std::nullopt;
  call.argument_error = attempt([&] { return direct_->flush(); });   // what this rank has kept and can't write: all ranks learn of it
  if (!call.argument_error) return std::nullopt;
  if (context_.buffers) {
    const Result<DeviceMemoryRef> device = attempt([&] { return context_.buffers->find(call.memory, call.direction); });
    if (!device || *device) return std::nullopt;
  }
  Taken taken;
  IoPiece run{-1, call.memory.base, bytes};
  Operation* const watched = begun.watched;
  std::unique_lock lock(mutex_);
  MERCUTIO_HELD(mutex_);
  run.offset = take_run(call, bytes, taken);
  if (run.offset < 0) return std::nullopt;
  const std::shared_ptr<const HintSet> hints = hints_;
  EngineFile engine = engine_file(*hints, *view_, fixed_hints_, /*collective=*/true);
  engine.patterns = &patterns_;
  engine.adapter = adapter_for(engine);
  begun.channel = take_channel(&begun.ticket);
  if (watched) watch_run(call, taken, *watched, engine);
  lock.unlock();
  if (call.positioning == Positioning::kIndividual) {   // as it goes on, if it does
    begun.taken = taken;
    call.positioning = Positioning::kExplicit;
    call.offset = taken.first_etype;
  }
  in_flight_->wait_tag(begun.channel.tag, *context_.progress, *comm_);
  const Pause pausing = [this](i64 looks) { return pause(looks); };
  std::optional<Result<i64>> moved = move_run_at_once(engine, begun.channel, call.direction, run, pausing);
  if (!moved) return std::nullopt;
  if (!*moved && comm_->failed(/*may_call=*/true)) moved = rank_died();   // whatever it broke first
  if (begun.taken) finish_pointer(taken, *moved ? **moved : 0);
  if (watched) {
    watched->channel.number = begun.channel.number;
    trace_step(*watched, StepForm::kBlocking);
    trace_access(*watched, *moved, /*waited=*/true);
  }
  return moved;
}

// A collective access of one rank through a view without holes: there is nobody to agree with and nothing to plan.
bool OpenFile::is_alone(const AccessCall& call) const {
  if (comm_->size() > 1 || call.positioning == Positioning::kShared || storage_.get() != direct_) return false;
  std::lock_guard lock(mutex_);
  return view_->view->contiguous();
}

Result<i64> OpenFile::access(AccessCall call) {
  if (!is_plain(call)) MERCUTIO_TRY(admit(call));
  const Look look = look_at(call);
  const TimedAccess timed(look.passed_over);
  if (call.collective && !is_alone(call)) return access_with_others(call, look);
  call.collective = false;
  return access_alone(call, look);
}

Result<i64> OpenFile::access_with_others(AccessCall& call, Look look) {
  if (publishes_ && call.direction == Direction::kRead) MERCUTIO_TRY(publish_before_read());
  Begun begun;
  if (!look.sink) {   // apart: a run makes no Operation, and even an empty std::optional of one costs it 90 instructions
    if (auto moved = move_run_together(call, begun)) return *std::move(moved);
    Operation together;
    return access_together(call, look, begun, together);
  }
  Operation together;
  begun.watched = &together;
  begin_trace(call, look, together);
  if (auto moved = move_run_together(call, begun)) return *std::move(moved);
  return access_together(call, look, begun, together);
}

Result<i64> OpenFile::access_together(AccessCall& call, Look look, Begun& begun, Operation& together) {
  together.channel = std::move(begun.channel);
  prepare(call, look, together);
  together.engine.adapter = adapter_for(together.engine);
  if (together.ordered) place_together(together);
  in_flight_->wait_tag(together.channel.tag, *context_.progress, *comm_);
  if (together.trace) trace_step(together, StepForm::kBlocking);
  Result<i64> moved = attempt_memory([&] { return wait_for(perform(OperationRef(OperationRef(), &together))); });   // not counted: it outlives the task
  if (together.trace) trace_access(together, moved, /*waited=*/true);
  note_own(together);
  finish_pointer(call, together, moved);
  if (begun.taken) finish_pointer(*begun.taken, moved ? together.file_bytes_moved : 0);
  return moved;
}

}  // namespace mercutio
