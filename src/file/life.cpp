// Agreement between the ranks of a file, and the collective calls that change the file as a whole: close, sync, sizes,
// atomicity. Each costs one or two reductions of a few words, and what rank 0 does with the storage.
#include <algorithm>
#include <chrono>

#include "base/attempt.h"
#include "base/reserve.h"
#include "file/open_file.h"
#include "storage/cached_file.h"

namespace mercutio {

InFlight::Entered InFlight::enter(i64 tag) {
  std::lock_guard lock(mutex_);
  const i64 number = next_number_++;
  if (tag >= 0) users_.emplace(tag, number);
  ++count_;
  return {tag, number, tag < 0 || first_user(tag) == number};
}

void InFlight::leave(const Entered& one) {
  std::lock_guard lock(mutex_);
  --count_;
  users_.erase({one.tag, one.number});
  changed_.notify_all();
}

bool InFlight::owns_tag(const Entered& one) {
  std::lock_guard lock(mutex_);
  return one.owns_tag || first_user(one.tag) == one.number;
}

template <class Condition>
void InFlight::wait(Progress& progress, Comm& comm, Condition condition) {
  constexpr auto kNap = std::chrono::microseconds(50);
  std::unique_lock lock(mutex_);
  MERCUTIO_HELD(mutex_);
  while (!condition()) {
    lock.unlock();
    progress.progress(/*waits=*/true);
    comm.poll_mpi();
    lock.lock();
    changed_.wait_for(lock, kNap, condition);
  }
}

void InFlight::wait_all(Progress& progress, Comm& comm) {
  wait(progress, comm, [this]() MERCUTIO_REQUIRES(mutex_) { return count_ == 0; });
}

void InFlight::wait_tag(i64 tag, Progress& progress, Comm& comm) {
  if (count_.load(std::memory_order_acquire) == 0) return;
  wait(progress, comm, [&]() MERCUTIO_REQUIRES(mutex_) { return first_user(tag) < 0; });
}

Channel OpenFile::take_channel(std::optional<Ticket>* room) {
  TicketRef ticket;
  if (arena_) ticket = room ? TicketRef(TicketRef(), &room->emplace(*arena_)) : std::allocate_shared<Ticket>(FrameAllocator<Ticket>(), *arena_);
  const i64 number = next_channel_++;
  return Channel{comm_.get(), first_tag(number, comm_->tags()), std::move(ticket), nullptr, number};
}

Channel OpenFile::next_channel() {
  std::lock_guard lock(mutex_);
  return take_channel();
}

Channel OpenFile::blocking_channel() {
  Channel channel = next_channel();
  in_flight_->wait_tag(channel.tag, *context_.progress, *comm_);
  return channel;
}

Status OpenFile::agreed(Status mine, Arrival* arrival) { return agreed_range(std::move(mine), {}, {}, nullptr, arrival); }

Status OpenFile::agreed_range(Status mine, std::span<i64> lowest, std::span<i64> highest, const ActionOfRankZero& action, Arrival* arrival) {
  // One reduction to minima: the maximum of v is the complement of the minimum of ~v.
  i64 room[kMostAgreedValues];
  const size_t work = 2 * lowest.size();   // where the time of each rank's work is, if anybody asks: the lowest is that of the rank that had most to do
  const std::span<i64> values(room, work + (arrival ? 1 : 0));
  const i64 start_ns = arrival ? arrival->start_ns : 0;
  if (arrival) values[work] = start_ns > 0 ? start_ns - now_ns() + arrival->waited_ns : 0;
  const auto take = [&] {
    for (size_t i = 0; i < lowest.size(); ++i) {
      lowest[i] = values[2 * i];
      highest[i] = ~values[2 * i + 1];
    }
  };
  for (size_t i = 0; i < lowest.size(); ++i) {
    values[2 * i] = lowest[i];
    values[2 * i + 1] = ~lowest[i];
  }
  (void)hold_reserve();   // complete again, if there is memory, where earlier calls have used it: from here on other ranks wait for this one
  const Channel channel = blocking_channel();
  if (!action) {
    MERCUTIO_TRY(wait_for(agree(channel, std::move(mine), values)));
  } else {
    const ActionOfRankZero act = [&](bool all_ok) {
      take();
      const i64 begun_ns = start_ns > 0 ? now_ns() : 0;
      Status done = action(all_ok);
      if (start_ns > 0) values[work] -= now_ns() - begun_ns;   // that is no waiting for late ranks
      return done;
    };
    MERCUTIO_TRY(wait_for(agree_after(channel, std::move(mine), values, act)));
  }
  if (start_ns > 0) arrival->late_ns = std::max<i64>(0, now_ns() - start_ns + values[work]);
  take();
  return ok_status();
}

Status OpenFile::agreed_same(Status mine, std::initializer_list<i64> values, const char* what, const std::function<Status()>& on_rank_zero, Arrival* arrival) {
  std::vector<i64> lowest(values), highest(values);
  ActionOfRankZero action;
  if (on_rank_zero) action = [&](bool all_ok) { return all_ok && lowest == highest ? on_rank_zero() : ok_status(); };
  MERCUTIO_TRY(agreed_range(std::move(mine), lowest, highest, action, arrival));
  if (lowest == highest) return ok_status();
  return Error{ErrorClass::kNotSame, std::string(what) + " must be the same on all ranks"};
}

Status OpenFile::no_split(const char* what) const {
  if (!in_split_.load(std::memory_order_acquire)) return ok_status();
  return Error{ErrorClass::kOther,
               std::string(what) + ": a split collective access is active on this file; end it first"};
}

Status OpenFile::run_on_rank_zero(const std::function<Status()>& action) {
  return agreed(comm_->rank() == 0 ? attempt(action) : ok_status());
}

// Also where a rank has failed: then rank 0 forgets what the others have written.
Status OpenFile::publish(Status mine, bool last, Arrival* arrival) {
  const Status written = agreed(std::move(mine), arrival);
  const bool keep = written.ok() && !(last && amode_.delete_on_close);
  const Status published = run_on_rank_zero([&] { return storage_->publish(keep, last); });
  return written ? published : written;
}

Status OpenFile::close() {
  Arrival arrival{trace_time()};
  trace_rest(arrival.start_ns);
  in_flight_->wait_all(*context_.progress, *comm_);
  Status kept = write_kept();
  Status published = ok_status();
  if (publishes_) published = publish(attempt([this] { return write_out(); }), /*last=*/true, &arrival);
  closed_ = true;
  Status mine = attempt([this] { return storage_->close(); });
  note_change();
  if (!published) mine = std::move(published);
  if (!kept) mine = std::move(kept);
  if (adapter_ && comm_->rank() == 0) report_adapting();
  counter_.reset();
  const ActionOfRankZero remove = [this](bool) {
    Status done = resolved_.driver->remove(later_path_);
    const bool gone = !done && done.error().cls == ErrorClass::kNoSuchFile;   // the program or its user was first
    return gone ? ok_status() : done;
  };
  Status all = amode_.delete_on_close ? agreed_range(std::move(mine), {}, {}, remove) : agreed(std::move(mine), publishes_ ? nullptr : &arrival);
  trace_step(StepKind::kClose, arrival.start_ns);
  trace_since(TraceKind::kClose, arrival);
  return all;
}

// Started accesses of this rank are waited for: their data belongs to what the program calls written. An active split
// collective can't be, as its end needs the program, so it is an error; no rank waits for it.
Status OpenFile::sync() {
  Arrival arrival{trace_time()};
  Status mine = no_split("sync");
  if (publishes_) MERCUTIO_TRY(agreed(mine, &arrival));   // what the program may not call yet costs nothing of what was written
  if (mine) in_flight_->wait_all(*context_.progress, *comm_);
  Status kept = write_kept();
  if (mine) mine = std::move(kept);
  if (mine) mine = attempt([this] { return write_out(); });
  Status all = publish_all(std::move(mine), &arrival);
  note_change();
  trace_step(StepKind::kSync, arrival.start_ns);
  trace_since(TraceKind::kSync, arrival);
  return all;
}

namespace {

// A view of these bytes of the file, and where they are in memory, in the same order.
Status describe_pieces(std::span<const IoPiece> pieces, FileView& view, Memory& memory) {
  Numbers lengths, offsets, places;
  for (const IoPiece& piece : pieces) {
    lengths.push_back(piece.bytes);
    offsets.push_back(piece.offset);
    places.push_back(piece.data - pieces.front().data);
  }
  const NumberList all(std::move(lengths));
  auto made = std::make_shared<View>(*default_view());
  MERCUTIO_LET(made->filetype, FlatType::of(*make_hindexed(all, NumberList(std::move(offsets)), byte_type())));
  MERCUTIO_LET(memory.type, FlatType::of(*make_hindexed(all, NumberList(std::move(places)), byte_type())));
  memory.base = pieces.front().data;
  memory.count = 1;
  view.view = std::move(made);
  return ok_status();
}

}  // namespace

// Other threads of the program may write the holes meanwhile, so that these are not read, merged and written back.
Status OpenFile::take_kept(LazyWrites::Kept& kept, Operation& together) {
  auto view = std::make_shared<FileView>();
  auto hints = std::make_shared<HintSet>(*together.hints);
  hints->values.romio_ds_write = Toggle::kDisable;
  view->view = default_view();
  view->scattered = together.view->scattered;
  kept = lazy_->take();
  if (kept.bytes > 0) MERCUTIO_TRY(describe_pieces(kept.pieces, *view, together.memory));
  together.hints = std::move(hints);
  together.view = std::move(view);
  return ok_status();
}

// Collective: what the ranks keep of their small writes, as one collective write. If that fails, each rank writes its own.
Status OpenFile::write_kept() {
  if (!all_lazy_) return ok_status();
  Operation together;
  LazyWrites::Kept kept;
  FixedHints fixed_hints;
  together.view = current_view();
  {
    std::lock_guard lock(mutex_);
    together.hints = hints_;
    fixed_hints = fixed_hints_;
  }
  together.direction = Direction::kWrite;
  together.collective = true;
  together.entry = hold_reserve();
  if (together.entry) together.entry = attempt([&] { return take_kept(kept, together); });
  if (together.entry) together.etypes = together.file_bytes = kept.bytes;
  const Status entry = together.entry;
  together.engine = engine_file(*together.hints, *together.view, fixed_hints, /*collective=*/true);
  together.engine.trace = together.trace = trace_.get();
  together.engine.counters = together.trace ? &together.counters : nullptr;
  together.buffer = together.engine.storage;
  together.channel = blocking_channel();
  Result<i64> moved = wait_for(perform(OperationRef(OperationRef(), &together)));   // not counted: it outlives the task
  const bool alone = !moved && kept.bytes > 0;
  if (alone) dirty_ = true;
  const Status written = alone ? lazy_->write_alone(kept) : ok_status();
  lazy_->written();
  if (comm_->failed(/*may_call=*/true)) return rank_died();
  if (kept.bytes == 0) return entry;
  return written;   // an Error of other ranks is theirs to tell
}

Status OpenFile::write_out() {
  MERCUTIO_TRY(storage_->flush());
  if (!dirty_.exchange(false) && !publishes_) return ok_status();   // it may know of bytes that were written through another open
  Status mine = storage_->sync();
  if (!mine) dirty_ = true;
  return mine;
}

// What all ranks have written out is what each of them sees from now on.
Status OpenFile::publish_all(Status mine, Arrival* arrival) {
  const auto look_again = [this] { return attempt([this] { return storage_->refresh(); }); };
  if (!publishes_) return agreed(mine ? look_again() : std::move(mine), arrival);
  MERCUTIO_TRY(publish(std::move(mine), /*last=*/false));
  return agreed(look_again());
}

// Another rank may read what this one has written, so all of it is published before a collective read.
Status OpenFile::publish_before_read() {
  i64 written[] = {dirty_ || published_->written_alone() ? 1 : 0}, most[1] = {};
  MERCUTIO_TRY(agreed_range(ok_status(), written, most));
  if (most[0] == 0) return ok_status();
  in_flight_->wait_all(*context_.progress, *comm_);
  return publish_all(attempt([this] { return write_out(); }));
}

namespace {

Status check_resize(const Amode& amode, i64 bytes) {
  if (!amode.writable()) return Error{ErrorClass::kReadOnly, "the file was opened with MPI_MODE_RDONLY"};
  if (amode.sequential)
    return Error{ErrorClass::kUnsupportedOperation, "not possible for a file opened with MPI_MODE_SEQUENTIAL"};
  if (bytes < 0) return Error{ErrorClass::kArg, "the size is negative: " + std::to_string(bytes)};
  return ok_status();
}

}  // namespace

Status OpenFile::set_size(i64 bytes) {
  Arrival arrival{trace_time()};
  Status mine = check_resize(amode_, bytes);
  if (mine) mine = no_split("set_size");
  if (mine) in_flight_->wait_all(*context_.progress, *comm_);
  Status kept = write_kept();
  if (mine) mine = std::move(kept);
  if (mine) mine = attempt([this] { return storage_->flush(); });   // what a rank keeps of its writes must not come after the change
  MERCUTIO_TRY(resize(std::move(mine), bytes, [&] { return storage_->set_size(bytes); }, arrival));
  trace_step(StepKind::kSetSize, arrival.start_ns, bytes);
  Status seen = publishes_ ? ok_status() : attempt([this] { return storage_->refresh(); });   // each rank forgets what it has in advance
  if (!publishes_ && storage_->traits().metadata_is_remote) seen = agreed(std::move(seen));   // a server may fail to answer one of them
  trace_since(TraceKind::kResize, arrival);
  return seen;
}

// Rank 0 acts if all ranks name the same size. Where ranks publish, what they wrote before comes before the change, and what they write
// later after it.
Status OpenFile::resize(Status mine, i64 bytes, const std::function<Status()>& change, Arrival& arrival) {
  const std::function<Status()> on_rank_zero = [&] {
    dirty_ = true;
    Status changed = change();
    note_change();
    return changed;
  };
  if (!publishes_) return agreed_same(std::move(mine), {bytes}, "the size", on_rank_zero, &arrival);
  MERCUTIO_TRY(agreed_same(std::move(mine), {bytes}, "the size", nullptr, &arrival));
  MERCUTIO_TRY(publish_all(attempt([this] { return write_out(); })));
  MERCUTIO_TRY(run_on_rank_zero(on_rank_zero));
  return publish_all(attempt([this] { return write_out(); }));
}

Status OpenFile::preallocate(i64 bytes) {
  Arrival arrival{trace_time()};
  Status mine = check_resize(amode_, bytes);
  if (mine) mine = no_split("preallocate");
  if (mine) in_flight_->wait_all(*context_.progress, *comm_);
  if (mine) mine = attempt([this] { return storage_->flush(); });   // a driver may set a size, which must not cut off what is written meanwhile
  MERCUTIO_TRY(resize(std::move(mine), bytes, [&] { return storage_->preallocate(bytes); }, arrival));
  trace_step(StepKind::kPreallocate, arrival.start_ns, bytes);
  trace_since(TraceKind::kResize, arrival);
  return ok_status();
}

Result<i64> OpenFile::size() {
  return short_call(TraceKind::kSize, sizes_, [this] { return bytes_now(); });
}

}  // namespace mercutio
