// Hints of an open file. Rank 0's value counts where all ranks must agree; the others' own values count elsewhere.
// Items travel in one broadcast whatever each rank gave, so keys on one rank only can't hang.
#include <algorithm>
#include <iterator>

#include "base/attempt.h"
#include "base/program.h"
#include "file/open_file.h"
#include "file/wire.h"
#include "model/hints_environment.h"
#include "model/hints_files.h"
#include "model/profile_file.h"
#include "model/memory_kinds.h"
#include "plan/plan.h"
#include "storage/drivers.h"

namespace mercutio {

void OpenFile::apply_agreed_hints(HintSet& set, const InfoItems& rank_zero, const InfoItems& own, HintTime time) {
  InfoItems common, mine;
  for (const auto& item : rank_zero)
    if (hint_must_agree(item.first)) common.push_back(item);
  for (const auto& item : own)
    if (!hint_must_agree(item.first)) mine.push_back(item);
  apply_hints(set, common, HintSource::kInfo, time);
  apply_hints(set, mine, HintSource::kInfo, time);
  for (const auto& item : own) {
    if (!hint_must_agree(item.first) || std::find(common.begin(), common.end(), item) != common.end()) continue;
    const auto same_key = [&item](const auto& other) { return other.first == item.first; };
    const bool given = std::any_of(common.begin(), common.end(), same_key);
    add_note(set, HintNote{item.first, item.second, HintOrigin{HintSource::kInfo, "of this rank", false, false}, HintStatus::kOverruled,
                           given ? "rank 0 decides, and gave another value" : "rank 0 decides, and gave none"});
  }
}

// What was measured of the file system is the weakest.
std::vector<AskedHint> OpenFile::hints_from_outside() {
  HintSources none_kept;
  AskedHints asked = (context_.hints ? context_.hints->sources : none_kept).asked_for(name_for_hints(name_), comm_->size());
  HintSet outside;
  apply_hints(outside, asked.hints, HintTime::kOpen);
  const Resolved resolved = resolve(name_, outside.values.mercutio_remote);
  std::vector<AskedHint> all;
  if (moves_by_system_calls(*resolved.driver)) all = std::move(asked.measured);
  std::move(asked.hints.begin(), asked.hints.end(), std::back_inserter(all));
  if (speaks_of_hints()) context_.hints->reporter.warn(asked.problems);
  return all;
}

bool OpenFile::speaks_of_hints() const {
  return context_.hints && comm_->rank() == 0 && (comm_->size() > 1 || context_.leads);
}

// Of a program's Info, nothing else is surely a mistake: keys that mean nothing here may be meant for another library. A program that
// changes a value in what info() returned need not know of the other names in it.
void OpenFile::warn_of_conflicts(InfoItems info) const {
  if (!speaks_of_hints() || info.empty()) return;
  for (const std::string_view name : kOtherNames) std::erase_if(info, [&](const auto& item) { return item.first == name; });
  context_.hints->reporter.warn(conflicts_of(own_names_last(std::move(info)), "MPI_Info"));
}

// Marks what was asked for and is not in effect. Costs a plan, where anybody asked for anything.
void OpenFile::resolve_hints(HintSet& set) const {
  const auto applied = [](const HintNote& note) { return note.applied() && note.origin.source > HintSource::kMeasured; };
  if (std::none_of(set.notes.begin(), set.notes.end(), applied)) return;
  note_ineffective(set, in_effect(set.values), amode_.create);
}

// On rank 0, once the file is open.
void OpenFile::report_hints() {
  auto resolved = std::make_shared<HintSet>(*hints_);
  resolve_hints(*resolved);
  {
    std::lock_guard lock(mutex_);
    hints_ = resolved;
    ++hints_edition_;
  }
  if (!speaks_of_hints()) return;
  HintReporter& reporter = context_.hints->reporter;
  reporter.warn(*resolved);
  const Traits& traits = storage_->traits();
  const bool unsure = traits.coherence == Coherence::kUnknown && resolved->values.mercutio_coherence != CoherenceWay::kNone;
  if (unsure && amode_.writable() && caches() > 1)
    reporter.warn({"'" + name_ + "' is on " + traits.file_system + ": " + traits.coherence_advice + " (mercutio_coherence=none: no such message)"});
  if (reporter.shows_tables())
    reporter.show("hints of '" + name_ + "', " + std::to_string(comm_->size()) + (comm_->size() == 1 ? " rank" : " ranks"), *resolved, info());
}

// For an access with a ticket.
Adapter* OpenFile::adapter_for(const EngineFile& engine) const {
  return adapter_ && (engine.hints->mercutio_adapt == Toggle::kEnable || !engine.fixed_hints.any()) ? adapter_.get() : nullptr;
}

static std::string text_of(const Adapter::Found& one) {
  using State = Adapter::Found::State;
  std::string text = one.direction == Direction::kRead ? "access=read\n" : "access=write\n";
  text += "way=" + one.way + "\n";
  text += one.state == State::kDecided ? "state=decided\n" : one.state == State::kEnded ? "state=ended\n" : "state=undecided\n";
  const std::pair<const char*, i64> numbers[] = {{"bytes", one.bytes}, {"gain_percent", one.gain_percent}, {"ns", one.ns},
                                                 {"default_ns", one.default_ns}, {"calls", one.calls}, {"trials", one.tried},
                                                 {"spent_ns", one.spent_ns}};
  for (const auto& [name, value] : numbers) text += std::string(name) + "=" + std::to_string(value) + "\n";
  return text;
}

// On rank 0, at the end. A profile that can't be written is none: the program has nothing to do with it.
void OpenFile::report_adapting() {
  const std::optional<InfoItems> winner = adapter_->winner();
  if (trace_ && (winner || asks_to_adapt())) {
    for (const Adapter::Found& one : adapter_->found()) trace_->note("adapted", text_of(one));
  }
  if (!winner || !asks_to_adapt() || !environment("MERCUTIO_PROFILE").empty()) return;
  (void)attempt([&] { return write_profile({program_name(), comm_->size(), resolved_.path, *winner, adapter_->report()}); });
  if (context_.hints) context_.hints->sources.forget();   // the next open has it
}

// Whether these hints of this rank hold already: libraries give those of the open with each view.
bool OpenFile::holds(const InfoItems& info) const {
  std::lock_guard lock(mutex_);
  return info == last_info_;
}

Status OpenFile::set_info(const InfoItems& info, Status argument_error) {
  Arrival arrival{trace_time()};
  Status done = change_info(info, std::move(argument_error), arrival);
  trace_since(TraceKind::kSetting, arrival, "MPI_File_set_info");
  return done;
}

Status OpenFile::change_info(const InfoItems& info, Status argument_error, Arrival& arrival) {
  std::vector<std::byte> message;   // empty: rank 0 has failed
  Status mine = std::move(argument_error);
  if (comm_->rank() == 0 && mine) {
    mine = attempt([&] {
      WireWriter writer;
      writer.put(info);
      message = writer.take();
      return ok_status();
    });
  }
  const i64 begun_ns = arrival.start_ns > 0 ? now_ns() : 0;
  MERCUTIO_TRY(wait_for(broadcast(blocking_channel(), 0, message)));
  if (arrival.start_ns > 0 && comm_->rank() > 0) arrival.waited_ns = now_ns() - begun_ns;
  std::shared_ptr<HintSet> changed;
  FixedHints fixed;
  if (mine && !message.empty()) mine = attempt([&] { return make_hints(message, info, changed, fixed); });
  MERCUTIO_TRY(agreed(std::move(mine), &arrival));
  {
    std::lock_guard lock(mutex_);
    hints_ = std::move(changed);
    ++hints_edition_;
    fixed_hints_ = fixed;
    last_info_ = info;
  }
  if (trace_ && (trace_->wants_hints() || trace_->keeps_steps())) (void)attempt([&] { return trace_hints(), ok_status(); });
  return ok_status();
}

// The hints as the call changes them. They take effect when all ranks have made theirs, as plans made of different ones differ.
Status OpenFile::make_hints(std::span<const std::byte> message, const InfoItems& info, std::shared_ptr<HintSet>& changed, FixedHints& fixed) const {
  WireReader reader(message);
  const InfoItems from_rank_zero = reader.items();
  if (reader.failed()) return Error{ErrorClass::kIntern, "the hints of rank 0 arrived damaged"};
  {
    std::lock_guard lock(mutex_);
    changed = std::make_shared<HintSet>(*hints_);
    fixed = fixed_hints_;
  }
  apply_agreed_hints(*changed, from_rank_zero, info, HintTime::kAnyTime);
  if (comm_->rank() == 0) resolve_hints(*changed);
  if (speaks_of_hints()) context_.hints->reporter.warn(*changed);
  warn_of_conflicts(info);
  for (const auto& [key, value] : from_rank_zero) fix_hint(fixed, key);
  return ok_status();
}

namespace {

// Numbers with a blank between them, as ROMIO has it; no longer than any MPI lets a value be.
std::string list_of(const std::vector<i64>& numbers) {
  constexpr size_t kLongest = 240;
  std::string out;
  for (const i64 number : numbers) {
    const std::string next = std::to_string(number);
    if (out.size() + next.size() > kLongest) return out + " ...";
    out += (out.empty() ? "" : " ") + next;
  }
  return out;
}

// Where a server has several; 1: not known, too.
i64 stripes_of_a_server(const Layout& layout) {
  i64 most = 1;
  for (const LayoutComponent& component : layout.components) {
    for (const i64 server : component.servers) most = std::max<i64>(most, std::count(component.servers.begin(), component.servers.end(), server));
  }
  return most;
}

}  // namespace

std::shared_ptr<const HintSet> OpenFile::hint_notes() const {
  std::lock_guard lock(mutex_);
  return hints_;
}

InfoItems OpenFile::info() const {
  return in_effect(hint_notes()->values);
}

// What holds for this file: what the file has, not what was asked for; the aggregators that there are.
InfoItems OpenFile::in_effect(Hints hints) const {
  const Traits& traits = storage_->traits();
  hints.romio_visibility_immediate = traits.coherence == Coherence::kImmediate && (!keeps_writes_ || comm_->size() == 1);
  hints.romio_filesystem_type = traits.file_system;
  if (hints.mercutio_async_backend == AsyncBackend::kUring) hints.mercutio_async_backend = choice_named<AsyncBackend>(traits.transfers).value_or(AsyncBackend::kUring);
  hints.mercutio_coherence = traits.way;
  const Layout layout = layout_with_hints(storage_->layout(), hints);   // as file domains take it
  const std::string kinds = comm_->memory_kinds();
  std::string& asserted = hints.mpi_assert_memory_alloc_kinds;
  if (!kinds_cover(kinds, asserted)) asserted.clear();
  hints.mpi_memory_alloc_kinds = asserted.empty() ? kinds : asserted;
  const std::vector<i64> aggregators = usual_aggregators(hints, comm_->topology(), layout);
  hints.romio_aggregator_list = list_of(aggregators);
  if (!aggregators.empty()) hints.cb_nodes = static_cast<i64>(aggregators.size());
  hints.striping_unit = layout.stripe_bytes;
  hints.striping_factor = layout.stripe_count;
  hints.start_iodevice = layout.first_server;
  hints.mercutio_pool = layout.components.empty() ? "" : layout.components.back().pool;
  hints.mercutio_overstriping = stripes_of_a_server(layout);
  if (hints.cb_nodes == 0) hints.cb_nodes = most_aggregators(comm_->topology(), hints);
  hints.cb_nodes = std::min(hints.cb_nodes, comm_->size());
  return effective_hints(hints);
}

}  // namespace mercutio
