// The aggregator's side: its windows are filled by the ranks of its node, and by the streams of other nodes' stations.
#include <cstring>

#include "engine/messages.h"
#include "engine/relay.h"
#include "engine/station_host.h"
#include "engine/window_io.h"

namespace mercutio {
namespace {

constexpr i64 kPayloadBytes = 4 * MiB;   // what the streams of an aggregator may hold

// The aggregator's end of one relay's stream. Windows come in ascending order.
class RelayStream {
 public:
  RelayStream(const WindowStation& station, const HostContext& context, i64 relay)
      : station_(station), context_(context), relay_(relay) {}

  i64 passed() const { return passed_; }
  bool over() const { return stage_ == Stage::kOver; }
  // Does what can be done now. `payloads`: how many payload buffers may still be taken.
  bool advance(i64& payloads) {
    bool moved = false;
    while (context_.outcome.messages && stage_ != Stage::kOver && step(payloads)) moved = true;
    return moved;
  }

 private:
  enum class Stage { kHeader, kForm, kData, kOver };

  bool step(i64& payloads) {
    switch (stage_) {
      case Stage::kHeader: return take_header();
      case Stage::kForm: return take_form();
      case Stage::kData: return context_.writing ? take_data(payloads) : answer(payloads);
      case Stage::kOver: return false;
    }
    return false;
  }

  bool arrived(Bytes into) {
    if (!message_) {
      auto started = context_.channel.comm->receive(relay_, context_.channel.tag, into);
      if (!started) return fail(std::move(started).error());
      message_ = std::move(*started);
    }
    return finished();
  }
  bool finished() {
    auto done = message_->test();
    if (!done) return fail(std::move(done).error());
    if (*done) message_.reset();
    return *done;
  }
  bool fail(Error error) {
    if (context_.outcome.messages) context_.outcome.messages = std::move(error);
    return false;
  }

  bool take_header() {
    if (!arrived(bytes_of(std::span(&header_, 1)))) return false;
    passed_ = header_.window;
    if (header_.window >= station_.windows()) {
      stage_ = Stage::kOver;
      return true;
    }
    form_.resize(static_cast<size_t>(header_.form_bytes));
    stage_ = Stage::kForm;
    return true;
  }

  bool take_form() {
    if (!form_.empty() && !arrived(form_)) return false;
    auto runs = runs_of(station_, header_, form_);
    if (!runs) return fail(std::move(runs).error());
    runs_ = std::move(*runs);
    stage_ = Stage::kData;
    return true;
  }

  bool take_payload(i64& payloads) {
    if (payload_) return true;
    if (payloads <= 0) return false;
    --payloads;
    payload_ = std::make_unique<ScratchBuffer>(header_.bytes);
    return true;
  }
  void give_payload(i64& payloads) {
    if (payload_) ++payloads;
    payload_.reset();
  }

  bool take_data(i64& payloads) {
    if (header_.window >= station_.served() + station_.depth()) return false;   // its slot is not free yet
    const Slot slot = station_.slot(header_.window);
    const bool one_run = runs_.size() == 1;
    if (!one_run && !take_payload(payloads)) return false;
    std::byte* into = one_run ? slot.data + runs_[0].at : payload_->data.get();
    if (!arrived(Bytes(into, static_cast<size_t>(header_.bytes)))) return false;
    if (!one_run) unpack_runs(runs_, into, slot.data);
    mark_runs(station_, header_.window, runs_);
    slot.filled.fetch_add(header_.bytes, std::memory_order_relaxed);
    give_payload(payloads);
    passed_ = header_.window + 1;
    stage_ = Stage::kHeader;
    return true;
  }

  bool answer(i64& payloads) {
    if (!message_) {
      if (station_.served() <= header_.window) return false;
      const std::byte* data = station_.slot(header_.window).data;
      const bool one_run = runs_.size() == 1;
      if (!one_run && !take_payload(payloads)) return false;
      if (!one_run) {
        pack_runs(runs_, data, payload_->data.get());
        passed_ = header_.window + 1;
      }
      const std::byte* from = one_run ? data + runs_[0].at : payload_->data.get();
      auto started = context_.channel.comm->send(relay_, context_.channel.tag + 1, ConstBytes(from, static_cast<size_t>(header_.bytes)));
      if (!started) return fail(std::move(started).error());
      message_ = std::move(*started);
    }
    if (!finished()) return false;
    give_payload(payloads);
    passed_ = header_.window + 1;
    stage_ = Stage::kHeader;
    return true;
  }

  const WindowStation& station_;
  const HostContext& context_;
  i64 relay_;
  Stage stage_ = Stage::kHeader;
  i64 passed_ = 0;
  RelayHeader header_;
  std::vector<std::byte> form_;
  std::vector<RelayRun> runs_;
  std::unique_ptr<ScratchBuffer> payload_;
  std::unique_ptr<Message> message_;   // last: given up before the memory it uses goes
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
