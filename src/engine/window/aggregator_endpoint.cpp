// The endpoint on the aggregator's node. Its windows are filled by the ranks of this node, and by the node streams of other nodes.
#include <algorithm>
#include <cstring>
#include <deque>

#include "base/assert.h"
#include "base/attempt.h"
#include "engine/window/node_stream.h"
#include "engine/window/pending_io.h"
#include "engine/window/throttle.h"
#include "engine/window/window_io.h"

namespace mercutio {
namespace {

class AggregatorEndpoint final : public WindowEndpoint {
 public:
  AggregatorEndpoint(WindowBuffer buffer, EndpointContext context, const std::vector<i64>& leaders)
      : buffer_(std::move(buffer)),
        context_(std::move(context)),
        pending_(context_.file, context_.writing ? Direction::kWrite : Direction::kRead),
        throttle_(context_.channel, buffer_.plan(), buffer_.domain()) {
    buffer_.begin();
    if (context_.channel.counters) context_.channel.counters->saw_in_degree(static_cast<i64>(leaders.size()));
    for (const i64 leader : leaders) streams_.emplace_back(buffer_, context_, packed_, leader);
  }

  bool over() const override {
    return completed_ >= buffer_.windows() && left_ && std::ranges::all_of(streams_, &NodeStream::over);
  }

  bool advance() override {
    bool moved = false;
    for (NodeStream& stream : streams_) moved |= stream.advance(sparse() ? buffer_.available() : completed_ + buffer_.depth());
    moved |= advance_file();
    if (completed_ >= buffer_.windows()) left_ = throttle_.leave();
    return moved;
  }

 private:
  // The number of windows that every rank has finished, on this node and on the others. Reading: the same of those for
  // which all ranks have set their requests.
  i64 finished_by_all() const { return lowest(buffer_.finished_by_all(), &NodeStream::finished); }
  i64 requested_by_all() const { return lowest(buffer_.requested_by_all(), &NodeStream::requested); }
  i64 lowest(i64 here, i64 (NodeStream::*there)() const) const {
    for (const NodeStream& stream : streams_) here = std::min(here, (stream.*there)());
    return here;
  }

  // Skips the windows before this one, which have no data.
  void skip_to(i64 number) {
    MERCUTIO_ASSERT(number > next_);
    context_.outcome.holes = true;
    next_ = number;
  }
  bool sparse() const { return buffer_.plan().sparse; }
  // Windows before `completed_` are complete; those before `next_` have been started.
  bool advance_file() {
    const i64 next_before = next_, completed_before = completed_;
    throttle_.advance();
    context_.writing ? write_finished(finished_by_all()) : read_ahead(finished_by_all());
    while (auto completed = pending_.next_completed()) take_in(std::move(*completed));
    if (!throttle_.status() && context_.outcome.messages) context_.outcome.messages = throttle_.status();
    completed_ = pending_.empty() ? next_ : pending_.first_window();
    MERCUTIO_ASSERT(completed_before <= completed_ && completed_ <= next_ && next_ <= buffer_.windows());
    buffer_.set_completed(completed_);
    return next_ != next_before || completed_ != completed_before;
  }

  // Of some windows at a time, which are few messages to servers and no large list. There may be any number of them without data.
  void lock_ahead() {
    constexpr size_t kMostRanges = 256;
    constexpr i64 kMostWindows = 4096;
    std::vector<IoPiece> ranges;
    announced_ = std::max(announced_, next_);
    const i64 end = std::min(buffer_.windows(), announced_ + kMostWindows);
    (void)attempt([&] {
      for (; announced_ < end; ++announced_) {
        const FileRange window = buffer_.window(announced_);
        const bool follows = !ranges.empty() && ranges.back().offset + ranges.back().bytes == window.begin;
        if (!follows && ranges.size() == kMostRanges) break;
        if (follows) ranges.back().bytes += window.bytes();
        else ranges.push_back({window.begin, nullptr, window.bytes()});
      }
      if (!ranges.empty()) context_.file.storage->will_write(ranges);
      return ok_status();
    });
  }

  // Only windows with a slot can contain data. Later windows that all ranks have finished are empty.
  void write_finished(i64 finished) {
    const i64 limit = completed_ + buffer_.depth();
    const bool all_announced = !buffer_.plan().lock_ahead || announced_ == buffer_.windows();
    if (!all_announced && next_ + buffer_.depth() >= announced_) lock_ahead();
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

  // Windows that all ranks have finished are not read: no rank needs them. One that is being read nonetheless still has its slot.
  void read_ahead(i64 finished) {
    if (next_ < finished) skip_to(finished);
    i64 limit = std::min(buffer_.windows(), std::min(finished, completed_) + buffer_.depth());   // at most all: the next operation counts from there
    if (sparse()) {
      buffer_.set_available(limit);
      limit = std::min(limit, requested_by_all());
    }
    for (bool first = true; next_ < limit && (first || pending_.overlaps()); first = false) {
      if (!throttle_.may_start()) return;
      read_slot(next_++);
    }
    if (next_ >= limit) throttle_.withdraw();
  }

  // The range of the valid bytes of a window if they are one run; otherwise empty.
  static FileRange only_run(FileRange window, const ValidMap& valid) {
    const i64 begin = valid.next_valid(0), end = valid.next_hole(begin);
    if (begin == end || valid.next_valid(end) != valid.bytes) return {};
    return FileRange{window.begin + begin, window.begin + end};
  }

  void start_write(i64 number, FileRange run, std::byte* data, Status& written) {
    auto guard = attempt([&] { return guard_against_sieving(context_.file, run.begin, run.end); });
    if (!guard) written = std::move(guard).error();
    if (written) pending_.start(number, IoPiece{run.begin, data, run.bytes()}, std::move(*guard));
  }

  void write_slot(i64 number) {
    const FileRange window = buffer_.window(number);
    const Slot slot = buffer_.slot(number);
    const ValidMap valid = buffer_.valid_map(number);
    const i64 filled = slot.filled.load(std::memory_order_relaxed);
    MERCUTIO_ASSERT(filled > 0 && number < completed_ + buffer_.depth());
    slot.filled.store(0, std::memory_order_relaxed);
    const FileRange run = context_.dense ? window : only_run(window, valid);
    if (run.bytes() < window.bytes()) context_.outcome.holes = true;
    Status written = context_.outcome.storage;
    if (!written) {   // after a failed write nothing is written any more; the first error is reported
    } else if (context_.dense && filled < window.bytes()) {   // more where ranks overlap
      written = Error{ErrorClass::kIntern, "ranks left holes in a pattern that they all said has none"};
    } else if (!run.empty()) {
      start_write(number, run, slot.data + (run.begin - window.begin), written);
    } else {
      written = attempt([&] { return write_valid(context_.file, window, slot.data, valid); });
    }
    if (!written && context_.outcome.storage) context_.outcome.storage = std::move(written).error();
    if (!context_.dense) valid.clear();
    if (pending_.empty() || pending_.last_window() != number) throttle_.return_token();
  }

  // Reads the whole window, or, if the plan is sparse, the requested bytes and those holes that are cheaper to read than to skip. Beyond
  // the end of the file and after an error the data is zero.
  void read_slot(i64 number) {
    const FileRange window = buffer_.window(number);
    std::byte* const data = buffer_.slot(number).data;
    const ValidMap valid = buffer_.valid_map(number);
    Outcome& outcome = context_.outcome;
    const bool has_data = outcome.storage && window.begin < outcome.end_of_file;
    const FileRange run = !has_data ? FileRange{} : sparse() ? only_run(window, valid) : window;
    if (!run.empty()) {
      pending_.start(number, IoPiece{run.begin, data + (run.begin - window.begin), run.bytes()});
    } else {
      Result<i64> found = has_data ? attempt([&] { return read_needed(context_.file, window, data, valid); }) : Result<i64>(outcome.end_of_file);
      if (!found || !has_data) std::memset(data, 0, static_cast<size_t>(window.bytes()));
      if (found) outcome.end_of_file = std::min(outcome.end_of_file, *found);
      else outcome.storage = std::move(found).error();
      throttle_.return_token();
    }
    if (sparse()) valid.clear();
  }

  // Takes the result of a completed transfer.
  void take_in(PendingIo::Completed completed) {
    Outcome& outcome = context_.outcome;
    MERCUTIO_ASSERT(completed.window >= completed_ && completed.window < next_);
    throttle_.return_token();
    const i64 moved = completed.moved ? *completed.moved : 0;
    if (!completed.moved && outcome.storage) outcome.storage = std::move(completed.moved).error();
    if (context_.writing || moved == completed.piece.bytes) return;
    if (outcome.storage) outcome.end_of_file = std::min(outcome.end_of_file, completed.piece.offset + moved);
    std::memset(completed.piece.data + moved, 0, static_cast<size_t>(completed.piece.bytes - moved));
  }

  WindowBuffer buffer_;
  EndpointContext context_;
  i64 next_ = 0, completed_ = 0;
  i64 announced_ = 0;   // the storage was told of the windows before this one, where the plan says so
  PackedMemory packed_;
  bool left_ = false;   // this aggregator has left the throttle
  PendingIo pending_;
  Throttle throttle_;
  std::deque<NodeStream> streams_;   // they refer to the members above
};

}  // namespace

std::unique_ptr<WindowEndpoint> make_aggregator_endpoint(WindowBuffer buffer, EndpointContext context, const std::vector<i64>& leaders) {
  return std::make_unique<AggregatorEndpoint>(std::move(buffer), std::move(context), leaders);
}

}  // namespace mercutio
