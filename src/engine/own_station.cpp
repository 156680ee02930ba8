// The aggregator's side: its windows are filled by the ranks of its node, and by the streams of other nodes' stations.
#include <cstring>
#include <deque>

#include "engine/messages.h"
#include "engine/relay.h"
#include "engine/station_host.h"
#include "engine/window_io.h"

namespace mercutio {
namespace {

constexpr i64 kPayloadBytes = 4 * MiB;   // what the streams of an aggregator may hold

// The aggregator's end of one relay's stream. Windows come in ascending order, at most as many at a time as have slots; what
// belongs to one is received while the next is announced.
class RelayStream {
 public:
  RelayStream(const WindowStation& station, const HostContext& context, i64 relay)
      : station_(station), context_(context), relay_(relay) {}

  // All windows before this one are done with, as far as this relay is concerned.
  i64 passed() const { return underway_.empty() ? announced_.window : underway_.front()->header.window; }
  bool over() const { return ended_ && underway_.empty(); }
  // Does what can be done now. `payloads`: how many payload buffers may still be taken.
  bool advance(i64& payloads) {
    bool moved = false;
    while (context_.outcome.messages && step(payloads)) moved = true;
    return moved;
  }

 private:
  struct Underway {
    RelayHeader header;
    std::vector<std::byte> form;
    std::unique_ptr<ScratchBuffer> payload;
    bool one_run = false;
    bool answered = false;   // reading: the data are in `payload`, or on their way from the slot
    MessageSet messages;     // last: given up before the memory they use goes
  };

  bool step(i64& payloads) { return take_announcement() || take_up(payloads) || go_on(payloads); }

  // Receives the next header. It comes behind everything that belongs to the one before, so that must be asked for first.
  bool take_announcement() {
    if (ended_ || waiting_) return false;
    if (!header_message_) {
      auto started = context_.channel.comm->receive(relay_, context_.channel.tag, bytes_of(std::span(&next_, 1)));
      if (!started) return fail(std::move(started).error());
      header_message_ = std::move(*started);
    }
    auto done = header_message_->test();
    if (!done) return fail(std::move(done).error());
    if (!*done) return false;
    header_message_.reset();
    if (Status fits = check(station_, next_); !fits) return fail(std::move(fits).error());
    announced_ = next_;
    ended_ = announced_.window == station_.windows();
    waiting_ = !ended_;
    return true;
  }

  // Takes up the announced window, once it has a slot.
  bool take_up(i64& payloads) {
    if (!waiting_ || announced_.window >= station_.served() + station_.depth()) return false;
    const bool one_run = announced_.form_bytes == 0;
    if (context_.writing && !one_run && payloads <= 0) return false;
    underway_.push_back(std::make_unique<Underway>());
    Underway& one = *underway_.back();
    one.header = announced_;
    one.one_run = one_run;
    if (!one_run) {
      if (context_.writing) take_payload(one, payloads);
      one.form.resize(static_cast<size_t>(one.header.form_bytes));
      one.messages.add(context_.channel.comm->receive(relay_, context_.channel.tag, one.form));
    }
    if (context_.writing) one.messages.add(context_.channel.comm->receive(relay_, context_.channel.tag, data_of(one)));
    waiting_ = false;
    announced_.window += 1;   // until the next announcement
    return true;
  }

  // Who holds a payload waits for nothing but its message: else those that hold them could keep it from those that don't.
  static void take_payload(Underway& one, i64& payloads) {
    --payloads;
    one.payload = std::make_unique<ScratchBuffer>(one.header.bytes);
  }

  // Where the bytes of a window are while they travel.
  Bytes data_of(const Underway& one) const {
    std::byte* at = one.one_run ? station_.slot(one.header.window).data + one.header.first : one.payload->data.get();
    return Bytes(at, static_cast<size_t>(one.header.bytes));
  }

  bool go_on(i64& payloads) {
    bool moved = false;
    for (const auto& one : underway_) moved |= !context_.writing && answer(*one, payloads);
    while (!underway_.empty() && (context_.writing || underway_.front()->answered) && underway_.front()->messages.done()) {
      Underway& one = *underway_.front();
      if (!one.messages.status()) return fail(one.messages.status().error());
      if (context_.writing && !leave(one)) return false;
      if (one.payload) ++payloads;
      underway_.pop_front();
      moved = true;
    }
    return moved;
  }

  // Writing: the bytes have come.
  bool leave(const Underway& one) {
    auto runs = runs_of(station_, one.header, one.form);
    if (!runs) return fail(std::move(runs).error());
    const Slot slot = station_.slot(one.header.window);
    if (!one.one_run) unpack_runs(*runs, one.payload->data.get(), slot.data);
    mark_runs(station_, one.header.window, *runs);
    slot.filled.fetch_add(one.header.bytes, std::memory_order_relaxed);
    return true;
  }

  // Reading: sends what was asked for, once the window has been read.
  bool answer(Underway& one, i64& payloads) {
    if (one.answered || station_.served() <= one.header.window || !one.messages.done()) return false;
    if (!one.one_run && payloads <= 0) return false;
    if (!one.messages.status()) return fail(one.messages.status().error());
    auto runs = runs_of(station_, one.header, one.form);
    if (!runs) return fail(std::move(runs).error());
    if (!one.one_run) take_payload(one, payloads);
    if (!one.one_run) pack_runs(*runs, station_.slot(one.header.window).data, one.payload->data.get());
    one.messages.add(context_.channel.comm->send(relay_, context_.channel.tag + 1, data_of(one)));
    one.answered = true;
    return true;
  }

  bool fail(Error error) {
    if (context_.outcome.messages) context_.outcome.messages = std::move(error);
    return false;
  }

  const WindowStation& station_;
  const HostContext& context_;
  i64 relay_;
  RelayHeader announced_;    // the last, with its window; once taken up, the one behind it
  bool waiting_ = false;     // it is not taken up yet
  bool ended_ = false;       // there will be no other
  RelayHeader next_;
  std::unique_ptr<Message> header_message_;
  std::deque<std::unique_ptr<Underway>> underway_;
};

class OwnStation final : public StationHost {
 public:
  OwnStation(WindowStation station, HostContext context, const std::vector<i64>& relays)
      : station_(std::move(station)), context_(std::move(context)) {
    station_.set_served(0);   // after an operation that failed it may lag behind
    payloads_ = std::max<i64>(1, kPayloadBytes / station_.largest());
    for (const i64 relay : relays) streams_.push_back(std::make_unique<RelayStream>(station_, context_, relay));
  }

  bool over() const override {
    for (const auto& stream : streams_) {
      if (!stream->over()) return false;
    }
    return served_ >= station_.windows();
  }

  bool serve() override {
    bool moved = false;
    for (const auto& stream : streams_) moved |= stream->advance(payloads_);
    return serve_file() || moved;
  }

 private:
  // Windows that every rank has passed.
  i64 passed_by_all() const {
    i64 lowest = station_.passed_by_all();
    for (const auto& stream : streams_) lowest = std::min(lowest, stream->passed());
    return lowest;
  }

  void write_slot(i64 number);
  void read_slot(i64 number);

  bool serve_file() {
    if (served_ >= station_.windows()) return false;
    const i64 passed = passed_by_all();
    i64 next = served_;
    if (context_.writing) {
      // Only the windows that have a slot can hold anything; what all have passed beyond them is empty.
      for (; next < std::min(passed, served_ + station_.depth()); ++next) write_slot(next);
      next = std::max(next, passed);
    } else if (passed >= served_) {   // nobody has anything left to take: what all have passed is needed by nobody
      next = passed;
      if (next < station_.windows()) read_slot(next);
      next = std::min(next + 1, station_.windows());
    } else if (served_ < passed + station_.depth()) {   // ahead of the slowest
      read_slot(served_);
      ++next;
    }
    if (next == served_) return false;
    served_ = next;
    station_.set_served(served_);
    station_.wake_others();
    return true;
  }

  WindowStation station_;
  HostContext context_;
  i64 served_ = 0;
  i64 payloads_ = 1;
  std::vector<std::unique_ptr<RelayStream>> streams_;   // they refer to the members above
};

void OwnStation::write_slot(i64 number) {
  const FileRange window = station_.window(number);
  const Slot slot = station_.slot(number);
  const i64 filled = slot.filled.load(std::memory_order_relaxed);
  if (filled == 0) return;
  slot.filled.store(0, std::memory_order_relaxed);
  const EngineFile& file = context_.file;
  const i64 unit = station_.unit_of(window), units = window.bytes() / unit;
  Status written = context_.outcome.storage;
  if (!written) {   // what could not be written once is not tried again: the caller is told about the first
  } else if (filled >= window.bytes() && first_other(slot.marks, 0, units, std::byte{1}) == units) {
    const IoPiece whole{window.begin, slot.data, window.bytes()};
    auto guard = guard_against_sieving(file, window.begin, window.end);
    written = guard ? write_pieces(file, std::span(&whole, 1)) : Status(std::move(guard).error());
  } else {
    Coverage covered;
    covered.reset(window.bytes());
    for_each_run(slot.marks, units, [&](i64 begin, i64 end) { covered.mark(begin * unit, end * unit); });
    written = write_window(file, window, slot.data, covered);
  }
  if (!written && context_.outcome.storage) context_.outcome.storage = std::move(written).error();
  std::memset(slot.marks, 0, static_cast<size_t>(units));
}

// The whole window: dense patterns need nearly all of it. Behind the end of the file and after an error: zeros.
void OwnStation::read_slot(i64 number) {
  const FileRange window = station_.window(number);
  const Slot slot = station_.slot(number);
  const IoPiece whole{window.begin, slot.data, window.bytes()};
  Outcome& outcome = context_.outcome;
  i64 got = 0;
  if (outcome.storage && window.begin < outcome.end_of_file) {
    Result<i64> moved = read_pieces(context_.file, std::span(&whole, 1));
    if (moved) got = *moved;
    if (!moved) outcome.storage = std::move(moved).error();
  }
  if (got == window.bytes()) return;
  if (outcome.storage) outcome.end_of_file = std::min(outcome.end_of_file, window.begin + got);
  std::memset(slot.data + got, 0, static_cast<size_t>(window.bytes() - got));
}

}  // namespace

std::unique_ptr<StationHost> make_own_station(WindowStation station, HostContext context, const std::vector<i64>& relays) {
  return std::make_unique<OwnStation>(std::move(station), std::move(context), relays);
}

}  // namespace mercutio
