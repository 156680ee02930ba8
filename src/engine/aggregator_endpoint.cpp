// The endpoint on the aggregator's node. Its windows are filled by the ranks of this node, and by the node streams of other nodes.
#include <cstring>

#include "base/assert.h"
#include "base/attempt.h"
#include "engine/node_stream.h"
#include "engine/pending_io.h"
#include "engine/throttle.h"
#include "engine/window_io.h"

namespace mercutio {
namespace {

class AggregatorEndpoint final : public WindowEndpoint {
 public:
  AggregatorEndpoint(WindowBuffer buffer, EndpointContext context, const std::vector<i64>& leaders)
      : buffer_(std::move(buffer)),
        context_(std::move(context)),
        pending_(context_.file, context_.writing ? Direction::kWrite : Direction::kRead),
        throttle_(context_.channel, buffer_.plan(), buffer_.domain()) {
    begin_at_zero(buffer_);
    if (context_.channel.counters) context_.channel.counters->saw_in_degree(static_cast<i64>(leaders.size()));
    for (const i64 leader : leaders) streams_.push_back(std::make_unique<NodeStream>(buffer_, context_, leader));
  }

  bool over() const override {
    for (const auto& stream : streams_) {
      if (!stream->over()) return false;
    }
    return completed_ >= buffer_.windows() && left_;
  }

  bool advance() override {
    bool moved = false;
    for (const auto& stream : streams_) moved |= stream->advance(packed_, sparse() ? available_ : completed_ + buffer_.depth());
    moved |= advance_file();
    if (completed_ >= buffer_.windows()) left_ = throttle_.leave();
    return moved;
  }

 private:
  // The number of windows that every rank has finished, on this node and on the others.
  i64 finished_by_all() const {
    i64 lowest = buffer_.finished_by_all();
    for (const auto& stream : streams_) lowest = std::min(lowest, stream->finished());
    return lowest;
  }

  void write_slot(i64 number);
  void start_write(i64 number, FileRange run, std::byte* data, Status& written);
  void read_slot(i64 number);
  void take_in(PendingIo::Completed completed);
  // Skips the windows before this one, which have no data.
  void skip_to(i64 number) {
    MERCUTIO_ASSERT(number > next_);
    context_.outcome.holes = true;
    next_ = number;
  }
  // Reading: the number of windows for which all ranks have set their requests.
  i64 requested_by_all() const {
    i64 lowest = buffer_.requested_by_all();
    for (const auto& stream : streams_) lowest = std::min(lowest, stream->requested());
    return lowest;
  }
  bool sparse() const { return buffer_.plan().sparse; }
  void make_available(i64 windows);
  FileRange only_run(FileRange window, const Slot& slot) const;
  Coverage covered_in(FileRange window, const Slot& slot) const;
  void read_requested(i64 number);

  void write_finished(i64 finished);
  void lock_ahead();
  void read_ahead(i64 finished);
  bool is_full(FileRange window, const Slot& slot, i64 filled) const;

  // Windows before `completed_` are complete; those before `next_` have been started.
  bool advance_file() {
    const i64 next_before = next_, completed_before = completed_;
    throttle_.advance();
    context_.writing ? write_finished(finished_by_all()) : read_ahead(finished_by_all());
    while (auto completed = pending_.next_completed()) take_in(std::move(*completed));
    if (!throttle_.status() && context_.outcome.messages) context_.outcome.messages = throttle_.status();
    completed_ = pending_.empty() ? next_ : pending_.first_window();
    MERCUTIO_ASSERT(completed_before <= completed_ && completed_ <= next_ && next_ <= buffer_.windows());
    if (completed_ != completed_before) {
      buffer_.set_completed(completed_);
      buffer_.wake_unfinished();
    }
    return next_ != next_before || completed_ != completed_before;
  }

  WindowBuffer buffer_;
  EndpointContext context_;
  i64 next_ = 0, completed_ = 0;
  i64 announced_ = 0;   // the storage was told of the windows before this one, where the plan says so
  i64 available_ = 0;   // sparse reading: windows before this one have a slot for requests
  PackedMemory packed_;
  bool left_ = false;   // this aggregator has left the throttle
  PendingIo pending_;
  Throttle throttle_;
  std::vector<std::unique_ptr<NodeStream>> streams_;   // they refer to the members above
};

// Of some windows at a time, which are few messages to servers and no large list.
void AggregatorEndpoint::lock_ahead() {
  constexpr size_t kMostRanges = 256;
  std::vector<IoPiece> ranges;
  (void)attempt([&] {
    for (; announced_ < buffer_.windows(); ++announced_) {
      const FileRange window = buffer_.window(announced_);
      const bool follows = !ranges.empty() && ranges.back().offset + ranges.back().bytes == window.begin;
      if (!follows && ranges.size() == kMostRanges) break;
      if (follows) ranges.back().bytes += window.bytes();
      else ranges.push_back({window.begin, nullptr, window.bytes()});
    }
    context_.file.storage->will_write(ranges);
    return ok_status();
  });
}

// Only windows with a slot can contain data. Later windows that all ranks have finished are empty.
void AggregatorEndpoint::write_finished(i64 finished) {
  const i64 limit = completed_ + buffer_.depth();
  if (buffer_.plan().lock_ahead && announced_ < buffer_.windows() && next_ + buffer_.depth() >= announced_) lock_ahead();
  while (next_ < finished) {
    if (next_ >= limit) {
      skip_to(finished);
    } else if (buffer_.slot(next_).filled.load(std::memory_order_relaxed) == 0) {
      skip_to(next_ + 1);
    } else if (throttle_.may_start()) {
      write_slot(next_++);
    } else {
      return;
    }
  }
}

// Windows that all ranks have finished are not read: no rank needs them.
void AggregatorEndpoint::read_ahead(i64 finished) {
  if (next_ < finished) skip_to(finished);
  i64 limit = std::min(buffer_.windows(), finished + buffer_.depth());
  if (sparse()) {
    make_available(std::min(finished + buffer_.depth(), buffer_.windows()));   // at most all: the next operation counts from there
    limit = std::min(limit, requested_by_all());
  }
  for (bool first = true; next_ < limit && (first || pending_.overlaps()); first = false) {
    if (!throttle_.may_start()) return;
    read_slot(next_++);
  }
  if (next_ >= limit) throttle_.withdraw();
}

// Several ranks may write the same bytes, so the number of bytes alone does not show that a window is full.
bool AggregatorEndpoint::is_full(FileRange window, const Slot& slot, i64 filled) const {
  const i64 units = buffer_.units_of(window);
  return filled >= window.bytes() && (context_.dense || first_other(slot.valid, 0, units, std::byte{1}) == units);
}

// The range of the valid bytes of a window if they are one run; otherwise empty.
FileRange AggregatorEndpoint::only_run(FileRange window, const Slot& slot) const {
  const i64 unit = buffer_.unit_of(window), units = buffer_.units_of(window);
  const i64 begin = first_other(slot.valid, 0, units, std::byte{0}), end = first_other(slot.valid, begin, units, std::byte{1});
  if (begin == units || first_other(slot.valid, end, units, std::byte{0}) != units) return {};
  return FileRange{window.begin + begin * unit, window.begin + end * unit};
}

Coverage AggregatorEndpoint::covered_in(FileRange window, const Slot& slot) const {
  const i64 unit = buffer_.unit_of(window);
  Coverage covered;
  covered.reset(window.bytes());
  for_each_run(slot.valid, buffer_.units_of(window), [&](i64 begin, i64 end) { covered.add(begin * unit, end * unit); });
  return covered;
}

void AggregatorEndpoint::start_write(i64 number, FileRange run, std::byte* data, Status& written) {
  auto guard = attempt([&] { return guard_against_sieving(context_.file, run.begin, run.end); });
  if (!guard) written = std::move(guard).error();
  if (written) pending_.start(number, IoPiece{run.begin, data, run.bytes()}, std::move(*guard));
}

void AggregatorEndpoint::make_available(i64 windows) {
  if (windows == available_) return;
  available_ = windows;
  buffer_.set_available(windows);
  buffer_.wake_unfinished();
}

void AggregatorEndpoint::write_slot(i64 number) {
  const FileRange window = buffer_.window(number);
  const Slot slot = buffer_.slot(number);
  const i64 filled = slot.filled.load(std::memory_order_relaxed);
  MERCUTIO_ASSERT(filled > 0 && number < completed_ + buffer_.depth());
  slot.filled.store(0, std::memory_order_relaxed);
  const EngineFile& file = context_.file;
  Status written = context_.outcome.storage;
  if (!written) {   // after a failed write nothing is written any more; the first error is reported
  } else if (is_full(window, slot, filled)) {
    start_write(number, window, slot.data, written);
  } else if (context_.dense) {
    written = Error{ErrorClass::kIntern, "ranks left holes in a pattern that they all said has none"};
  } else if (const FileRange run = only_run(window, slot); !run.empty()) {
    context_.outcome.holes = true;
    start_write(number, run, slot.data + (run.begin - window.begin), written);
  } else {
    context_.outcome.holes = true;
    written = attempt([&] { return write_window(file, window, slot.data, covered_in(window, slot)); });
  }
  if (!written && context_.outcome.storage) context_.outcome.storage = std::move(written).error();
  if (!context_.dense) buffer_.clear_valid(number);
  if (pending_.empty() || pending_.last_window() != number) throttle_.return_token();
}

// Reads the requested bytes of a window, and those holes that are cheaper to read than to skip.
void AggregatorEndpoint::read_requested(i64 number) {
  const FileRange window = buffer_.window(number);
  const Slot slot = buffer_.slot(number);
  const FileRange run = only_run(window, slot);
  if (!run.empty()) {
    pending_.start(number, IoPiece{run.begin, slot.data + (run.begin - window.begin), run.bytes()});
  } else {
    auto found = attempt([&] { return read_window(context_.file, window, slot.data, covered_in(window, slot)); });
    if (found) context_.outcome.end_of_file = std::min(context_.outcome.end_of_file, *found);
    if (!found) context_.outcome.storage = std::move(found).error();
    if (!found) std::memset(slot.data, 0, static_cast<size_t>(window.bytes()));
    throttle_.return_token();
  }
}

// Reads the whole window, or, if the plan is sparse, the requested bytes. Beyond the end of the file and after an error the data is
// zero.
void AggregatorEndpoint::read_slot(i64 number) {
  const FileRange window = buffer_.window(number);
  std::byte* data = buffer_.slot(number).data;
  if (!context_.outcome.storage || window.begin >= context_.outcome.end_of_file) {
    std::memset(data, 0, static_cast<size_t>(window.bytes()));
    throttle_.return_token();
  } else if (sparse()) {
    read_requested(number);
  } else {
    pending_.start(number, IoPiece{window.begin, data, window.bytes()});
  }
  if (sparse()) buffer_.clear_valid(number);
}

// Takes the result of a completed transfer.
void AggregatorEndpoint::take_in(PendingIo::Completed completed) {
  Outcome& outcome = context_.outcome;
  MERCUTIO_ASSERT(completed.window >= completed_ && completed.window < next_);
  throttle_.return_token();
  const i64 moved = completed.moved ? *completed.moved : 0;
  if (!completed.moved && outcome.storage) outcome.storage = std::move(completed.moved).error();
  if (context_.writing || moved == completed.piece.bytes) return;
  if (outcome.storage) outcome.end_of_file = std::min(outcome.end_of_file, completed.piece.offset + moved);
  std::memset(completed.piece.data + moved, 0, static_cast<size_t>(completed.piece.bytes - moved));
}

}  // namespace

std::unique_ptr<WindowEndpoint> make_aggregator_endpoint(WindowBuffer buffer, EndpointContext context, const std::vector<i64>& leaders) {
  return std::make_unique<AggregatorEndpoint>(std::move(buffer), std::move(context), leaders);
}

}  // namespace mercutio
