// Opening: rank 0 decides (its hints and environment count, it alone creates), the others open what is there then.
// Cost: a broadcast and an agreement, O(log P) messages each; another agreement where rank 0 opens first; one open call of the storage a rank.
#include <algorithm>
#include <atomic>
#include <utility>

#include "base/absolute_path.h"
#include "base/attempt.h"
#include "file/buffers.h"
#include "file/open_file.h"
#include "file/wire.h"
#include "plan/new_file.h"
#include "plan/plan.h"
#include "storage/cache.h"
#include "storage/drivers.h"
#include "storage/dry.h"
#include "storage/library/library.h"

namespace mercutio {
namespace {

i64 bits_of(const Amode& amode) {
  const bool flags[] = {amode.read_only,       amode.write_only,  amode.read_write, amode.create, amode.exclusive,
                        amode.delete_on_close, amode.unique_open, amode.sequential, amode.append};
  i64 bits = 0;
  for (bool flag : flags) bits = bits * 2 + (flag ? 1 : 0);
  return bits;
}

Status check_amode(const Amode& amode) {
  const int ways = int{amode.read_only} + int{amode.write_only} + int{amode.read_write};
  if (ways != 1)
    return Error{ErrorClass::kAmode, "exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR must be given"};
  if (amode.read_only && (amode.create || amode.exclusive))
    return Error{ErrorClass::kAmode, "MPI_MODE_CREATE and MPI_MODE_EXCL need a file that is opened for writing"};
  if (amode.read_write && amode.sequential)
    return Error{ErrorClass::kAmode, "MPI_MODE_SEQUENTIAL can't be combined with MPI_MODE_RDWR"};
  return ok_status();
}

int permissions_from(const Hints& hints) {
  int permissions = 0;
  for (char digit : hints.file_perm) permissions = permissions * 8 + (digit - '0');
  return hints.file_perm.empty() ? 0666 : permissions & 07777;
}

// What hints ask for; a plain Layout{} if none does.
Layout wanted_layout(const Hints& hints) {
  Layout layout{hints.striping_unit, hints.striping_factor, hints.start_iodevice};
  const bool overstriped = hints.mercutio_overstriping > 1 && hints.striping_factor > 0;
  if (hints.mercutio_pool.empty() && !overstriped) return layout;
  LayoutComponent component;
  component.stripe_bytes = hints.striping_unit;
  component.stripe_count = hints.striping_factor * (overstriped ? hints.mercutio_overstriping : 1);
  component.overstriped = overstriped;
  component.pool = hints.mercutio_pool;
  layout.components = {component};
  return layout;
}

}  // namespace

OpenFile::OpenFile(std::unique_ptr<Comm> comm, const OpenCall& call, const Context& context)
    : name_(call.file_name), amode_(call.amode), world_rank_(call.world_rank), context_(context), comm_(std::move(comm)), arena_(NodeArena::of(*comm_)) {
  auto first = std::make_shared<FileView>();
  first->view = default_view();
  dense_view_.set(*first);
  view_ = std::move(first);
  core_each_ = comm_->segment() && comm_->segment()->core_each();
  if (arena_ || comm_->size() == 1) return;
  auto made = NodeArena::make_private(*comm_);
  if (made) arena_ = std::move(*made);
  if (!made) arena_status_ = made.error();
}

OpenFile::~OpenFile() {
  in_flight_->wait_all(*context_.progress, *comm_);
}

// What rank 0 has said of the steps, so that all ranks take the same ones, whatever failed on one of them. `mine`: how this rank fares.
struct OpenFile::Opening {
  Status mine = ok_status();
  i64 met_ns = 0;                 // when all ranks had come, as far as the first steps tell
  bool rank_zero_first = false;   // it makes the file, or hands on what the others need to know of it
  bool rank_zero_last = false;    // it sets the shared pointer, or takes back the file that it has made
  bool defers = false;
};

Status OpenFile::open(const OpenCall& call) {
  Arrival arrival{call.start_ns > 0 ? call.start_ns : trace_time()};
  Opening opening;
  MERCUTIO_TRY(exchange_open(call, opening));
  MERCUTIO_TRY(open_storage(opening));
  MERCUTIO_TRY(finish_open(std::move(opening), arrival));
  warn_of_conflicts(call.info);
  if (comm_->rank() == 0) report_hints();
  trace_open(call, arrival);
  return ok_status();
}

// Everybody learns rank 0's amode and hints. Whether a rank can go on with them is agreed on later.
Status OpenFile::exchange_open(const OpenCall& call, Opening& opening) {
  std::vector<std::byte> message;
  opening.mine = arena_status_ ? call.argument_error : arena_status_;
  if (comm_->rank() == 0 && opening.mine) {
    opening.mine = attempt([&] {
      WireWriter writer;
      const std::string library = driver_library_of(name_);
      const std::vector<AskedHint> outside = hints_from_outside();
      const bool defers = library.empty() && wants_deferral(outside, call.info);   // a library's file is opened by all
      writer.put(bits_of(amode_));
      writer.put(amode_.create || amode_.exclusive || !library.empty() || defers ? 1 : 0);
      writer.put(amode_.append || (amode_.create && amode_.exclusive) ? 1 : 0);
      writer.put(defers ? 1 : 0);
      writer.put(draw_first_mark(comm_->size()));
      writer.put(library);
      writer.put(outside);
      writer.put(call.info);
      message = writer.take();
      return ok_status();
    });
  }
  MERCUTIO_TRY(wait_for(broadcast(blocking_channel(), 0, message)));
  opening.met_ns = trace_time();
  WireReader reader(message);
  const i64 amode_bits = reader.number();
  opening.rank_zero_first = reader.number() == 1;
  opening.rank_zero_last = reader.number() == 1;
  opening.defers = reader.number() == 1;
  if (opening.defers) facts_.emplace();
  if (opening.mine) opening.mine = attempt([&] { return take_open(reader, amode_bits, call); });
  return ok_status();
}

// The rest of what rank 0 has sent.
Status OpenFile::take_open(WireReader& reader, i64 amode_bits, const OpenCall& call) {
  first_mark_ = reader.number();
  library_ = reader.text();
  const std::vector<AskedHint> from_outside = reader.asked();
  const InfoItems from_rank_zero = reader.items();
  MERCUTIO_TRY(check_amode(amode_));
  if (reader.failed()) return Error{ErrorClass::kIntern, "what rank 0 said of the file is damaged"};
  if (amode_bits != bits_of(amode_)) return Error{ErrorClass::kNotSame, "the access mode differs from that of rank 0"};
  auto hints = std::make_shared<HintSet>();
  apply_hints(*hints, from_outside, HintTime::kOpen);
  apply_agreed_hints(*hints, from_rank_zero, call.info, HintTime::kOpen);
  if (facts_ && hints->values.romio_no_indep_rw) {   // each rank moves no data of its own
    for (Toggle* const buffering : {&hints->values.romio_cb_read, &hints->values.romio_cb_write})
      if (*buffering == Toggle::kAutomatic) *buffering = Toggle::kEnable;
  }
  hints_ = std::move(hints);
  last_info_ = call.info;
  for (const AskedHint& asked : from_outside) {
    if (asked.origin.source != HintSource::kMeasured && asked.origin.source != HintSource::kTuner) fix_hint(fixed_hints_, asked.key);
  }
  for (const auto& [key, value] : from_rank_zero) fix_hint(fixed_hints_, key);
  if (!library_.empty() && library_name_of(name_).driver != library_)
    return Error{ErrorClass::kNotSame, "the file name begins otherwise than that of rank 0, whose driver is '" + library_ + "'"};
  resolved_ = resolve(name_, hints_->values.mercutio_remote, library_);
  const bool called_later = facts_ || amode_.delete_on_close;
  later_path_ = called_later && moves_by_system_calls(*resolved_.driver) ? absolute_path(resolved_.path) : resolved_.path;
  MERCUTIO_TRY(resolved_.driver->load());   // before any rank makes the file
  if (!facts_ || comm_->rank() == 0 || is_usual_aggregator()) resolved_.driver->prepare(resolved_.path);
  return ok_status();
}

OpenOptions OpenFile::options_to_open(bool create, bool exclusive) const {
  const Hints& hints = hints_->values;
  OpenOptions options;
  options.write = amode_.writable();
  options.create = create;
  options.exclusive = exclusive;
  options.permissions = permissions_from(hints);
  options.wanted_layout = wanted_layout(hints);
  if (create && options.wanted_layout == Layout{} && hints.mercutio_striping == WantedStriping::kAuto)
    options.suggested_layout = layout_of_new_file(comm_->topology().nodes(), comm_->size());
  options.async_backend = hints.mercutio_async_backend;
  options.io_threads = hints.mercutio_io_threads;
  options.group = WriterGroup{first_mark_, comm_->rank(), comm_->size()};
  options.handle = handle_;
  options.coherence = hints.mercutio_coherence;
  if (options.coherence == CoherenceWay::kAuto) options.coherence = resolved_.coherence;
  allow_buffering(options);
  return options;
}

Result<std::unique_ptr<Storage>> OpenFile::open_here(bool create, bool exclusive, bool& readable) {
  OpenOptions options = options_to_open(create, exclusive);
  readable = true;
  auto opened = resolved_.driver->open(resolved_.path, options);
  // Write-only programs still gain from sieving, which reads; where reading isn't permitted, it has to go without.
  if (!opened && amode_.write_only && opened.error().cls == ErrorClass::kAccess) {
    options.read = readable = false;
    opened = resolved_.driver->open(resolved_.path, options);
  }
  return opened;
}

// Where each write waits for a server's disk, small ones are kept until the ranks can write them together, if all processes of the job
// have the file open and none of them reads it.
bool OpenFile::writes_lazily(const Traits& traits) const {
  const Hints& hints = hints_->values;
  const bool wanted = hints.mercutio_write_behind != Toggle::kDisable && !hints.mercutio_dry_run && !amode_.sequential;
  const bool everybody = comm_->size() == context_.job_processes || hints.mercutio_write_behind == Toggle::kEnable;
  return wanted && everybody && amode_.write_only && traits.writes_wait && !published_;
}

// The standard lets a rank keep its writes, and what it has read, until it syncs (MPI 14.6.1). Programs that order their accesses
// by other means, as POSIX allows, would notice, and so would other opens of the file, in this job or in another one. Where an
// access is a system call it is therefore done only if a hint asks for it. Never for what may be no file but a device.
CachePolicy OpenFile::cache_of(const Traits& traits) const {
  const Hints& hints = hints_->values;
  const bool possible = !amode_.sequential && !hints.mercutio_dry_run && !traits.remote_cluster;
  const bool writes = possible && amode_.writable() && hints.mercutio_write_behind == Toggle::kEnable;
  const bool reads = possible && amode_.readable() && hints.mercutio_read_ahead == Toggle::kEnable;
  return cache_policy(traits, writes ? hints.mercutio_cache_bytes : 0, reads ? hints.mercutio_cache_bytes : 0);
}

// On another cluster, where an access takes a round trip, also where no other rank of the job reads what is kept, or writes what
// is read.
void OpenFile::allow_buffering(OpenOptions& options) const {
  const Hints& hints = hints_->values;
  const bool possible = !amode_.sequential && !hints.mercutio_dry_run, everybody = comm_->size() == context_.job_processes;
  const bool alone = everybody && comm_->size() == 1;
  const auto wanted = [](Toggle wish, bool automatic) { return wish == Toggle::kAutomatic ? automatic : wish == Toggle::kEnable; };
  options.keeps_writes = possible && wanted(hints.mercutio_write_behind, alone || (everybody && amode_.write_only));
  options.reads_ahead = possible && wanted(hints.mercutio_read_ahead, alone || amode_.read_only);
}

// What a program can do by its access mode.
static Error with_advice(Error error, const Amode& mode) {
  if (error.sys_errno == ENOENT && !mode.create) error.what += ", or open with MPI_MODE_CREATE";
  if (error.sys_errno == EEXIST && mode.exclusive) error.what += ", or open without MPI_MODE_EXCL";
  return error;
}

Status OpenFile::open_and_wrap(bool create, bool exclusive) {
  auto opened = open_here(create, exclusive, readable_);
  if (!opened) return with_advice(opened.error(), amode_);
  made_ = create && exclusive;
  if (comm_->rank() == 0 && facts_) *facts_ = DeferredFacts{(*opened)->traits(), (*opened)->layout()};
  if (comm_->rank() == 0 && !library_.empty()) {
    MERCUTIO_LET(handle_, (*opened)->shared_handle());
  }
  opens_later_ = false;
  return wrap(std::move(*opened));
}

// `opened`: null where it is opened later.
Status OpenFile::wrap(std::unique_ptr<Storage> opened) {
  if (facts_) opened = make_deferred(std::move(opened), [this, options = options_to_open(false, false)] { return open_later(options); }, *facts_);
  storage_ = hints_->values.mercutio_dry_run ? make_dry(std::move(opened)) : std::move(opened);
  published_ = nullptr;
  turned_ = nullptr;
  if (storage_->traits().coherence == Coherence::kAfterPublish) {
    auto published = make_published(std::move(storage_), {.one_rank = comm_->size() == 1, .files = context_.published});
    turned_ = published_ = published.get();
    storage_ = std::move(published);
  } else if (!locks_hold(storage_->traits())) {
    auto turned = std::make_unique<Turned>(std::move(storage_));
    turned_ = turned.get();
    storage_ = std::move(turned);
  }
  direct_ = storage_.get();
  keeps_writes_ = direct_->traits().keeps_writes;
  if (direct_->traits().is_in_memory()) blocking_.expect_copies();
  if (writes_lazily(direct_->traits())) {
    auto lazy = std::make_unique<LazyWrites>(std::move(storage_), std::max(hints_->values.mercutio_cache_bytes, hints_->values.cb_buffer_size));
    lazy_ = lazy.get();
    storage_ = std::move(lazy);
    keeps_writes_ = true;
    return ok_status();
  }
  const CachePolicy policy = cache_of(direct_->traits());
  if (policy.write_bytes == 0 && policy.read_bytes == 0) return ok_status();
  storage_ = make_cached(std::move(storage_), policy);
  keeps_writes_ |= policy.write_bytes > 0;
  return ok_status();
}

// Without MPI_MODE_EXCL, or if that open has failed, the file may be another's.
void OpenFile::take_back() {
  if (!std::exchange(made_, false)) return;
  storage_ = nullptr;
  (void)resolved_.driver->remove(resolved_.path);
}

// What all ranks agree on of an opening that rank 0 begins.
Status OpenFile::share_first_open(const Opening& opening) {
  if (library_.empty() && !opening.defers) return ok_status();
  std::vector<std::byte> message;
  Status mine = ok_status();
  if (comm_->rank() == 0) {
    mine = attempt([&] {
      message = opening.defers ? deferral_message(handle_, *facts_) : handle_;
      return ok_status();
    });
  }
  MERCUTIO_TRY(wait_for(broadcast(blocking_channel(), 0, message)));
  if (comm_->rank() == 0 || !mine) return mine;
  if (opening.defers) return attempt([&] { return take_deferral(message, handle_, *facts_); });
  handle_ = std::move(message);
  return ok_status();
}

// An Error is one of all ranks. Rank 0 makes the file only if all ranks are ready to open it.
Status OpenFile::open_storage(Opening& opening) {
  const auto open_it = [this](bool create, bool exclusive) { return attempt([&] { return open_and_wrap(create, exclusive); }); };
  Status& mine = opening.mine;
  if (opening.rank_zero_first) {
    const ActionOfRankZero open_first = [&](bool all_ok) {
      Status opened = all_ok ? open_it(amode_.create, amode_.exclusive) : ok_status();
      if (!opened) take_back();
      return opened;
    };
    MERCUTIO_TRY(agreed_range(mine, {}, {}, open_first));
    opening.met_ns = trace_time();
    mine = share_first_open(opening);
    opens_later_ = mine && opening.defers && comm_->rank() != 0 && (is_remote(*resolved_.driver) || !is_usual_aggregator());
    if (mine && opens_later_) mine = attempt([&] { return wrap(nullptr); });
    if (mine && comm_->rank() != 0 && !opens_later_) mine = open_it(false, false);
    // A node that has looked for the file before it was made may still hold that there is none.
    const bool makes = amode_.create || amode_.exclusive;
    if (makes && !mine && mine.error().cls == ErrorClass::kNoSuchFile) mine = open_it(true, false);
  } else if (mine) {
    mine = open_it(false, false);
  }
  if (mine) mine = check_coherence();
  if (mine) prepare_shared_locks();
  return ok_status();
}

// Where aggregators are to lock ahead: locks that grew before would be in their way.
void OpenFile::prepare_shared_locks() {
  const Hints& hints = hints_->values;
  const bool shares = hints.mercutio_lock_ahead == Toggle::kEnable || (hints.mercutio_lock_ahead == Toggle::kAutomatic && hints.romio_lustre_co_ratio > 1);
  if (shares && amode_.writable() && comm_->size() > 1) storage_->give_back_locks(/*of_all=*/comm_->rank() == 0);
}

// The nodes, or the ranks, each of which may keep parts of the file to itself.
i64 OpenFile::caches() const {
  return storage_->traits().caches_per_rank ? comm_->size() : comm_->topology().nodes();
}

// Whether all ranks see a lock. Those of another cluster are its server's, for this open and others alike.
bool OpenFile::locks_hold(const Traits& traits) const {
  return traits.remote_cluster || (traits.can_lock && (traits.locks_between_nodes || comm_->topology().nodes() == 1));
}

// Nodes that don't see each other's writes would give wrong bytes without an error, so such a file isn't opened for writing on
// several of them, unless a hint says that the program knows better.
Status OpenFile::check_coherence() const {
  const Traits& traits = storage_->traits();
  const bool known_wrong = traits.coherence == Coherence::kAfterOpen && !traits.remote_cluster && hints_->values.mercutio_coherence != CoherenceWay::kNone;
  if (!known_wrong || !amode_.writable() || caches() == 1) return ok_status();
  const std::string who = traits.caches_per_rank ? "ranks" : "nodes";
  return Error{ErrorClass::kUnsupportedOperation,
               who + " don't see each other's writes on this file system (" + traits.file_system + "). " + traits.coherence_advice +
                   ". Where no two " + who + " write or read near each other, the hint mercutio_coherence=none opens it all the same"};
}

// The same name may stand for a file of each node or rank: in a folder of its own, relative to its own working directory, or where one follows
// a symbolic link as it was before. Copies may be read; what is written would be spread over them.
Status OpenFile::check_same_file(i64 lowest, i64 highest) const {
  const Traits& traits = facts_ ? facts_->traits : storage_->traits();
  const bool known = lowest != 0 && hints_->values.mercutio_coherence != CoherenceWay::kNone;
  const bool copies = !amode_.writable() && !traits.metadata_is_remote;
  if (!known || lowest == highest || copies) return ok_status();
  return Error{ErrorClass::kNotSame,
               "the ranks have different files under this name (" + traits.file_system +
                   "): use a folder that all of them share. Where each one's own file is meant, the hint mercutio_coherence=none opens it all the same"};
}

// Whether a rank that sieves can tell all others. Where a lock also makes writes coherent, or a buffer writes later, all writes lock.
bool OpenFile::can_gate() const {
  const Traits& traits = storage_->traits();
  const bool plain = traits.coherence == Coherence::kImmediate && !traits.metadata_is_remote && !traits.remote_cluster && !keeps_writes_ && storage_.get() == direct_;
  return plain && (arena_ ? arena_->whole() : comm_->size() == 1);
}

// What rank 0 has drawn for the first file that all of MPI_COMM_WORLD open together.
void OpenFile::number_job() {
  i64 none = std::atomic_ref(*context_.job).load();
  if (none <= 0) std::atomic_ref(*context_.job).compare_exchange_strong(none, first_mark_);
}

// All ranks agree that all have opened, and on what they share: the shared pointer, whether storage may be read, where MPI_MODE_APPEND begins.
Status OpenFile::finish_open(Opening opening, Arrival& arrival) {
  Status mine = std::move(opening.mine);
  std::string folder;
  bool may_adapt = false, may_gate = false;
  if (mine) {
    publishes_ = comm_->size() > 1 && amode_.writable() && storage_->traits().coherence == Coherence::kAfterPublish;
    faults_are_errors_ = moves_by_system_calls(*resolved_.driver) && storage_.get() == direct_ && !hints_->values.mercutio_dry_run;
    any_sieves_ = hints_allow_sieving(hints_->values, storage_->traits());
    // Where ranks don't see each other's writes at once, which of them writes what is not to be changed.
    const Traits& traits = storage_->traits();
    may_adapt = comm_->size() > 1 && traits.coherence == Coherence::kImmediate && !traits.keeps_writes && (asks_to_adapt() || !traits.remote_cluster);
    may_gate = any_sieves_ && can_gate();
  }
  if (faults_are_errors_ && context_.buffers) context_.buffers->detect_new_runtimes();
  if (mine && !storage_->traits().remote_cluster && library_.empty()) folder = resolved_.path.substr(0, resolved_.path.rfind('/') + 1);
  auto counter = comm_->make_shared_counter(folder);
  if (counter) counter_ = std::move(*counter);
  if (!counter) counter_status_ = counter.error();
  const Result<i64> end = mine && amode_.append && !opens_later_ ? storage_->size() : Result<i64>(i64{0});
  if (!end) mine = end.error();
  const i64 traced = context_.first_traced && world_rank_ >= 0 ? comm_->size() - world_rank_ : 0;   // the highest of all is the first rank's
  const i64 until_met = opening.met_ns > 0 ? opening.met_ns - arrival.start_ns : INT64_MAX;
  i64 lowest[] = {readable_ ? 1 : 0, counter ? 1 : 0, end ? *end : 0, mine ? storage_->traits().file_number : 0,
                  context_.all_record ? 1 : 0, may_adapt ? 1 : 0, may_gate ? 1 : 0, mine && lazy_ ? 1 : 0, traced, until_met};
  if (opens_later_) lowest[3] = facts_->traits.file_number;
  i64 highest[std::size(lowest)] = {};
  const ActionOfRankZero conclude = [&](bool all_ok) {
    Status done = all_ok ? check_same_file(lowest[3], highest[3]) : ok_status();
    if (all_ok && done && amode_.append && lowest[1] == 1) done = counter_->store(highest[2]);
    if (!all_ok || !done) take_back();
    return done;
  };
  MERCUTIO_TRY(agreed_range(std::move(mine), lowest, highest, opening.rank_zero_last ? conclude : nullptr));
  if (opening.met_ns > 0) arrival.late_ns = until_met - lowest[9];   // the last rank to come did not wait
  if (lowest[4] == 1 && world_rank_ >= 0) *context_.all_record = true;
  if (context_.job && world_rank_ >= 0) number_job();
  if (traced > 0 && lowest[8] == 0) *context_.first_traced = comm_->size() - highest[8];
  readable_ = lowest[0] == 1;
  all_lazy_ = lowest[7] == 1;
  if (lowest[5] == 1 && hints_->values.mercutio_adapt != Toggle::kDisable) adapter_ = std::make_unique<Adapter>();
  if (lowest[6] == 1) gate_.emplace(arena_);
  if (lowest[1] == 0 && counter_status_) {
    counter_status_ = Error{ErrorClass::kUnsupportedOperation, "another rank has no shared file pointer"};
  }
  MERCUTIO_TRY(check_same_file(lowest[3], highest[3]));
  if (amode_.append) pointer_ = highest[2];
  return ok_status();
}

Result<std::unique_ptr<File>> open_file(std::unique_ptr<Comm> comm, const OpenCall& call, const Context& context) {
  const i64 start_ns = call.start_ns > 0 || !context.tracer ? call.start_ns : now_ns();
  auto file = std::make_unique<OpenFile>(std::move(comm), call, context);
  Status opened = file->open(call);
  if (!opened && context.tracer) context.tracer->open_failed(call.file_name, opened.error().what, start_ns);
  if (!opened) return std::move(opened).error();
  return std::unique_ptr<File>(std::move(file));
}

Resolved place_of(const std::string& file_name, const InfoItems& info) {
  HintSet set;
  apply_hints(set, HintSources().asked_for(name_for_hints(file_name)).hints, HintTime::kOpen);
  apply_hints(set, info, HintSource::kInfo, HintTime::kOpen);
  return resolve(file_name, set.values.mercutio_remote);
}

Status delete_file(const std::string& file_name, const InfoItems& info) {
  const Resolved place = place_of(file_name, info);
  return place.driver->remove(place.path);
}

}  // namespace mercutio
