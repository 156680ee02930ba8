// What an open file tells the trace: what it is, which hints it has, and each access with its place and its time. A few
// clock readings and two or three O(depth) looks at the view an access.
#include <algorithm>
#include <cerrno>

#include "file/open_file.h"
#include "model/access_sketch.h"

namespace mercutio {
namespace {

std::string text_of(const Amode& amode) {
  std::string text = amode.read_only ? "rdonly" : amode.write_only ? "wronly" : "rdwr";
  const std::pair<bool, const char*> flags[] = {
      {amode.create, "create"},           {amode.exclusive, "excl"},        {amode.delete_on_close, "delete_on_close"},
      {amode.unique_open, "unique_open"}, {amode.sequential, "sequential"}, {amode.append, "append"}};
  for (const auto& [set, name] : flags) {
    if (set) text += std::string("|") + name;
  }
  return text;
}

// A hint's value may hold anything.
std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// Who opens, how, what, and the program's hints, a line each: docs/engineers/trace.md. No name has a zero, which stands for its line breaks.
std::string text_of_opening(const OpenCall& call, std::string name, const std::string& amode) {
  std::replace(name.begin(), name.end(), '\n', '\0');
  std::string text = call.members + "\n" + amode + "\n" + name + "\n";
  for (const auto& [key, value] : call.info) text += on_one_line(key + "=" + value) + "\n";
  return text;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

}  // namespace

void OpenFile::trace_open(const OpenCall& call, const Arrival& arrival) {
  if (!context_.tracer) return;
  const i64 end_ns = now_ns();   // what follows is no part of opening
  FileFacts facts;
  facts.name = name_;
  facts.amode = text_of(amode_);
  facts.ranks = comm_->size();
  facts.rank = comm_->rank();
  facts.nodes = comm_->topology().nodes();
  const Traits& traits = storage_->traits();
  facts.file_system = traits.file_system;
  facts.block_bytes = traits.block_bytes;
  const Layout layout = storage_->layout();
  facts.stripe_bytes = layout.stripe_bytes;
  facts.stripe_count = layout.stripe_count;   // where stripes differ by range, the most that any has
  for (const LayoutComponent& component : layout.components) facts.stripe_count = std::max(facts.stripe_count, component.stripe_count);
  facts.first_server = layout.first_server;
  trace_ = context_.tracer->file(facts);
  storage_->trace_to(trace_.get());
  if (trace_->keeps_steps()) {
    TraceStep step;
    step.kind = StepKind::kOpen;
    step.collective = true;
    step.start_ns = arrival.start_ns;
    const std::string opening = text_of_opening(call, name_, facts.amode);
    step.shape = trace_->shape("open " + opening, [&](i64) { return bytes_of(opening); });
    trace_->step(step);
  }
  const bool given = trace_->keeps_steps() && !call.info.empty();   // other hints of a file are known from its first open
  if (trace_->wants_hints() || given) trace_hints();
  TraceEvent event{TraceKind::kOpen, arrival.start_ns, end_ns, 0, -1, name_};
  event.late_ns = arrival.late_ns;
  trace_->record(event);
}

// Of the first rank only: hints that matter are the same on all.
void OpenFile::trace_hints() const {
  if (comm_->rank() != 0) return;
  std::string text;
  if (trace_->keeps_texts()) {
    for (const auto& [key, value] : info()) text += on_one_line(key + "=" + value) + "\n";
    trace_->note("hints", text);
  }
  std::shared_ptr<const HintSet> hints;
  {
    std::lock_guard lock(mutex_);
    hints = hints_;
  }
  text.clear();
  for (const HintNote& note : hints->notes) {
    text += on_one_line(note.key + "=" + note.value + " (" + origin_text(note.origin) + "): " + (note.applied() ? "applied" : "not applied, " + note.why_not)) + "\n";
  }
  if (facts_) text += "deferred open: rank 0 and the aggregators have the file open, another rank opens it when it needs it\n";
  text += std::string("nonblocking collective accesses are driven by ") + context_.progress->who(sends_messages(hints->values)) + "\n";
  trace_->note("notes", text);
}

// The filetype goes into the trace as it goes to other ranks: a tree, whose irregular parts are compressed.
void OpenFile::trace_view(i64 start_ns) const {
  if (!trace_->keeps_steps()) return;
  const View& view = *view_->view;
  const FlatType& type = *view.filetype;
  TraceStep step;
  step.kind = StepKind::kView;
  step.collective = true;
  step.offset = view.displacement;
  step.bytes = view_->etype_bytes();
  step.start_ns = start_ns;
  const std::string key = "type " + std::to_string(type.hash()) + " " + std::to_string(type.size()) + " " +
                          std::to_string(type.lb()) + " " + std::to_string(type.extent());
  step.shape = trace_->shape(key, [&](i64 room) {
    std::vector<std::byte> bytes;
    return type.serialize(bytes, room) ? std::optional(std::move(bytes)) : std::nullopt;
  });
  trace_->step(step);
}

void OpenFile::trace_step(const Operation& operation, StepForm form) const {
  if (!trace_->keeps_steps()) return;
  TraceStep step;
  step.form = form;
  step.write = operation.direction == Direction::kWrite;
  step.collective = operation.collective || operation.asked_together;
  step.offset = operation.entry ? operation.first_etype : 0;
  step.bytes = operation.entry ? operation.file_bytes : 0;
  step.start_ns = operation.start_ns;
  trace_->step(step);
}

void OpenFile::trace_step(StepKind kind, i64 start_ns, i64 value) const {
  if (!trace_ || !trace_->keeps_steps()) return;
  TraceStep step;
  step.kind = kind;
  step.collective = kind != StepKind::kEnd;
  step.offset = kind == StepKind::kAtomicity ? value : 0;
  step.bytes = kind == StepKind::kAtomicity ? 0 : value;
  step.start_ns = start_ns;
  trace_->step(step);
}

void OpenFile::begin_trace(const AccessCall& call, Look look, Operation& operation) const {
  operation.trace = look.sink;
  operation.asked_together = look.together;
  operation.name = call.name;
  operation.start_ns = now_ns();
  operation.counters.clock.start(operation.start_ns);
}

// Of a collective access that begins as a run: what trace_step() and trace_access() need.
void OpenFile::watch_run(const AccessCall& call, const Taken& taken, Operation& operation, EngineFile& engine) const {
  operation.direction = call.direction;
  operation.collective = true;
  operation.view = view_;
  operation.first_etype = taken.first_etype;
  operation.file_bytes = taken.etypes * taken.etype_bytes;
  engine.trace = operation.trace;
  engine.counters = &operation.counters;
}

void OpenFile::trace_access(Operation& operation, const Result<i64>& result, bool waited) const {
  operation.counters.clock.stop();
  AccessFacts facts;
  facts.direction = operation.direction;
  facts.collective = operation.collective || operation.asked_together;
  facts.waited = waited;
  facts.failed = !result.ok();
  facts.shared = operation.shared;
  TraceEvent event{TraceKind::kAccess, operation.start_ns, operation.counters.clock.last_ns(), result ? *result : result.error().moved};
  event.detail = operation.name;
  event.counters = &operation.counters;
  event.access = &facts;
  if (operation.entry && operation.file_bytes > 0) {
    const View& view = *operation.view->view;
    const i64 position = operation.first_etype * operation.view->etype_bytes(), end = position + operation.file_bytes;
    const FileRange range = view.range_of(position, end);
    event.offset = range.begin;
    facts.end_offset = range.end;
    const bool whole = view.sorted() && range.bytes() == operation.file_bytes;
    facts.piece_bytes = whole ? operation.file_bytes : view.cursor(position, end).next().bytes;
  }
  if (operation.collective && operation.entry && trace_->keeps_steps()) trace_sketch(operation);
  operation.trace->record(event);
}

void OpenFile::trace_refused(const AccessCall& call, i64 start_ns) const {
  const Look look = look_at(call);
  if (!look.sink) return;
  Counters counters;
  counters.clock.start(start_ns);
  counters.clock.stop();
  const AccessFacts facts{call.direction, look.together, /*waited=*/true, /*failed=*/true};
  look.sink->record({TraceKind::kAccess, start_ns, counters.clock.last_ns(), 0, -1, call.name, &counters, &facts});
}

// An access that is one request of the storage. It takes the way of those that nobody looks at, so that it can stand for them.
Result<i64> OpenFile::move_traced(const AccessCall& call, Look look, const IoPiece& run, i64 first_etype) {
  const bool reading = call.direction == Direction::kRead;
  const CacheProbe probe(storage_->cache_stats());
  const i64 start_ns = now_ns();
  Result<i64> moved = move_piece(call.direction, run);
  if (!moved && moved.error().sys_errno == EFAULT) return moved;   // it may be tried once more
  Counters counters;
  counters.clock.start(start_ns);
  counters.clock.call_it(probe.copied_only() ? Phase::kCopy : Phase::kStorage);
  counters.clock.stop();
  const i64 end_ns = counters.clock.last_ns(), bytes = moved ? *moved : moved.error().moved;
  if (look.sink->keeps_steps()) {
    TraceStep step;
    step.write = !reading;
    step.collective = look.together;
    step.offset = first_etype;
    step.bytes = run.bytes;
    step.start_ns = start_ns;
    look.sink->step(step);
  }
  if ((reading || bytes > 0) && !probe.absorbed())
    look.sink->record({reading ? TraceKind::kStorageRead : TraceKind::kStorageWrite, start_ns, end_ns, bytes, run.offset, {}, nullptr, nullptr, 1, run.bytes});
  const AccessFacts facts{call.direction, look.together, /*waited=*/true, !moved, run.offset + run.bytes, run.bytes};
  look.sink->record({TraceKind::kAccess, start_ns, end_ns, bytes, run.offset, call.name, &counters, &facts});
  return moved;
}

// Of the first collective accesses: who accesses what.
void OpenFile::trace_sketch(const Operation& operation) const {
  if (sketches_.fetch_add(1, std::memory_order_relaxed) >= kSketchesKept) return;
  AccessSketch sketch = sketch_of(*operation.view->view, operation.first_etype * operation.view->etype_bytes(), operation.file_bytes);
  sketch.number = operation.channel.number;
  sketch.direction = operation.direction;
  trace_->note("sketch", sketch_text(sketch));
}

void OpenFile::trace_since(TraceKind kind, const Arrival& arrival, const char* call) const {
  if (!trace_) return;
  TraceEvent event{kind, arrival.start_ns, now_ns(), 0, -1, call ? std::string_view(call) : name_};
  event.late_ns = arrival.late_ns;
  trace_->record(event);
}

void OpenFile::trace_setting(const char* call, i64 start_ns) {
  trace_since(TraceKind::kSetting, Arrival{start_ns}, call);
}

void OpenFile::trace_short(TraceKind kind, i64 start_ns, i64 end_ns, i64 calls) const {
  TraceEvent event{kind, start_ns, end_ns, 0, -1, kind == TraceKind::kSetting ? "MPI_File_get_position_shared" : ""};
  event.pieces = calls;
  trace_->record(event);
}

void OpenFile::trace_rest(i64 end_ns) {
  if (!trace_) return;
  for (const auto& [kind, calls] : {std::pair(TraceKind::kSize, &sizes_), std::pair(TraceKind::kSetting, &positions_)}) {
    if (const auto [times, ns] = calls->rest(); times > 0) trace_short(kind, end_ns - ns, end_ns, times);
  }
}

}  // namespace mercutio
