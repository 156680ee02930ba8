// The endpoint on a node without the aggregator. When writing, it sends the bytes of windows to the aggregator. Windows with few
// bytes travel together in parcels, so their slots become free at once; others are sent as one message each. When reading, it
// requests and receives windows in the same way. At most plan.depth + 1 messages with data are in flight.
#include <cstring>
#include <deque>
#include <optional>

#include "base/assert.h"
#include "engine/stream_sender.h"

namespace mercutio {
namespace {

// A window or a parcel in flight. Its messages use its memory, so its address must not change until they are complete.
struct Underway {
  bool in_slot = false;   // the data is in the slot, not in `packed`
  bool in_place = false;  // the data is packed inside the slot, because there is no memory for `packed`
  StreamHeader header;
  std::vector<std::byte> run_list;
  std::vector<StreamRun> runs;
  std::unique_ptr<ScratchBuffer> packed;
  std::vector<std::byte> requests;   // of a parcel
  MessageSet messages;    // last member: cancelled before the memory they use is freed
};

class NodeLeader : public WindowEndpoint {
 public:
  NodeLeader(WindowBuffer buffer, EndpointContext context, i64 aggregator)
      : buffer_(std::move(buffer)), context_(std::move(context)), sender_(context_, aggregator, buffer_.domain()) {
    begin_at_zero(buffer_);
  }

  bool over() const override { return ended_ && underway_.empty(); }

 protected:
  i64 windows() const { return buffer_.windows(); }

  // Describes the valid bytes of a window.
  Underway described(i64 window) {
    MERCUTIO_ASSERT(window >= completed_ && window < windows());
    Underway one;
    one.header = describe(buffer_, window, one.run_list);
    auto runs = runs_of(buffer_, one.header, one.run_list);
    if (runs) one.runs = std::move(*runs);
    one.in_slot = one.runs.size() == 1;
    return one;
  }
  // Announces the next window or parcel. Its data may follow.
  Underway& announce(Underway next) {
    MERCUTIO_ASSERT(underway_.empty() || underway_.back().header.window < next.header.window);   // ascending
    MERCUTIO_ASSERT(std::ssize(underway_) <= buffer_.depth());
    Underway& one = underway_.emplace_back(std::move(next));
    sender_.announce(one.header, one.run_list, one.messages);
    return one;
  }
  std::byte* data_of(Underway& one) {
    std::byte* const slot = buffer_.slot(one.header.window).data;
    if (one.in_slot) return slot + one.runs[0].at;
    if (!one.packed && !one.in_place) one.packed = ScratchBuffer::try_make(one.header.bytes);
    one.in_place = !one.packed;
    return one.packed ? one.packed->data.get() : slot;
  }
  void send_end() {
    Underway& one = underway_.emplace_back();
    one.header.window = windows();
    sender_.announce(one.header, one.run_list, one.messages);
    ended_ = true;
  }
  bool arrived_first() {
    if (underway_.empty() || !underway_.front().messages.done()) return false;
    const Status& status = underway_.front().messages.status();
    if (!status && context_.outcome.messages) context_.outcome.messages = status;
    return status.ok();
  }
  // Publishes that the windows before this one are complete.
  void publish(i64 completed) {
    MERCUTIO_ASSERT(completed >= completed_ && completed <= next_);
    if (completed == completed_) return;
    completed_ = completed;
    buffer_.set_completed(completed);
    buffer_.wake_unfinished();
  }

  WindowBuffer buffer_;
  EndpointContext context_;
  StreamSender sender_;
  // Windows before completed_ are complete; those before next_ are complete or in flight. Only [completed_, completed_ + depth)
  // have slots, so next_ stops there until all ranks have finished the windows beyond, which have no data.
  i64 next_ = 0;
  i64 completed_ = 0;
  bool ended_ = false;
  std::deque<Underway> underway_;
};

class WritingLeader final : public NodeLeader {
 public:
  using NodeLeader::NodeLeader;

  bool advance() override {
    bool moved = false;
    while (context_.outcome.messages && arrived_first()) {
      underway_.pop_front();
      moved = true;
    }
    const i64 finished = buffer_.finished_by_all(), before = next_;
    const i64 limit = std::min(finished, completed_ + buffer_.depth());
    for (; next_ < limit && static_cast<i64>(underway_.size()) < buffer_.depth(); ++next_) take(next_);
    if (next_ == completed_ + buffer_.depth()) next_ = std::max(next_, finished);   // windows without a slot are empty
    MERCUTIO_ASSERT(next_ >= before && next_ <= windows());
    publish(first_in_slot());
    if (next_ >= windows() && !ended_) parcel_ ? send_parcel(/*last=*/true) : send_end();
    return moved || next_ != before;
  }

 private:
  void take(i64 window) {
    MERCUTIO_ASSERT(window < completed_ + buffer_.depth());   // it has a slot
    const Slot slot = buffer_.slot(window);
    if (slot.filled.exchange(0, std::memory_order_relaxed) == 0) return;
    Underway next = described(window);
    if (fits_parcel(buffer_.plan(), next.header) && add_to_parcel(next, slot)) return buffer_.valid_map(window).clear();
    if (parcel_) send_parcel(/*last=*/false);
    Underway& one = announce(std::move(next));
    std::byte* data = data_of(one);
    if (!one.in_slot) {
      context_.channel.copied(one.header.bytes);
      pack_runs(one.runs, slot.data, data);
    }
    buffer_.valid_map(window).clear();
    sender_.send(ConstBytes(data, static_cast<size_t>(one.header.bytes)), one.messages);
  }
  // False: no memory for a parcel.
  bool add_to_parcel(Underway& window, const Slot& slot) {
    const i64 most = static_cast<i64>(sizeof window.header) + window.header.list_bytes + window.header.bytes;
    if (parcel_ && parcel_bytes_ + most > parcel_->bytes) send_parcel(/*last=*/false);
    if (!parcel_) parcel_ = ScratchBuffer::try_make(buffer_.plan().parcel_bytes);
    if (!parcel_) return false;
    if (parcel_bytes_ == 0) parcel_window_ = window.header.window;
    sender_.shorten(window.header, window.run_list);
    append(const_bytes_of(std::span(&window.header, 1)));
    append(window.run_list);
    context_.channel.described(std::ssize(window.run_list));
    context_.channel.copied(window.header.bytes);
    pack_runs(window.runs, slot.data, parcel_->data.get() + parcel_bytes_);
    parcel_bytes_ += window.header.bytes;
    return true;
  }
  void append(ConstBytes bytes) {
    if (!bytes.empty()) std::memcpy(parcel_->data.get() + parcel_bytes_, bytes.data(), bytes.size());
    parcel_bytes_ += std::ssize(bytes);
  }
  // `last`: no window follows.
  void send_parcel(bool last) {
    Underway parcel;
    parcel.header.window = parcel_window_;
    parcel.header.bytes = parcel_bytes_;
    parcel.header.parcel = last ? 2 : 1;
    parcel.packed = std::move(parcel_);
    Underway& one = announce(std::move(parcel));
    sender_.send(one.packed->first(one.header.bytes), one.messages);
    parcel_bytes_ = 0;
    ended_ = last;
  }
  i64 first_in_slot() const {
    for (const Underway& one : underway_) {
      if (one.in_slot || one.in_place) return one.header.window;
    }
    return next_;
  }

  // The parcel that is being filled.
  std::unique_ptr<ScratchBuffer> parcel_;
  i64 parcel_bytes_ = 0, parcel_window_ = 0;
};

class ReadingLeader final : public NodeLeader {
 public:
  using NodeLeader::NodeLeader;

  bool advance() override {
    finished_ = buffer_.finished_by_all();
    bool moved = false;
    while (context_.outcome.messages && arrived_first() && deliver_first()) moved = true;
    // No rank needs windows that all ranks have finished before they were completed.
    const i64 requested = buffer_.requested_by_all(), before = next_;
    next_ = std::max(next_, std::min(finished_, windows()));
    // The valid map of a window is free for another one as soon as it has been described.
    const i64 available = std::min(next_ + buffer_.depth(), windows());   // at most all: the next operation counts from there
    if (available != available_) {
      available_ = available;
      buffer_.set_available(available);
      buffer_.wake_unfinished();
      moved = true;
    }
    for (const i64 limit = std::min({requested, available_, windows()}); next_ < limit && ask(next_); ++next_) {
    }
    if (next_ == available_) next_ = std::max(next_, std::min(requested, windows()));   // no rank has requested bytes of these windows
    MERCUTIO_ASSERT(next_ >= before && next_ <= windows());
    if (next_ >= windows() && !ended_) parcel_.items.empty() ? send_end() : send_parcel(/*last=*/true);
    publish(first_undelivered());
    return moved || next_ != before;
  }

 private:
  // A parcel of requests, and how much of its reply has been delivered.
  struct Parcel {
    std::vector<Underway> items;
    std::vector<std::byte> requests;   // a header and a run list for each window, until they are sent
    i64 answer_bytes = 0;
    size_t delivered = 0;
    i64 delivered_bytes = 0;
  };

  // Requests a window. False: not possible now.
  bool ask(i64 window) {
    if (!described_) {
      if (buffer_.valid_map(window).empty()) return true;   // no rank needs any byte of it
      described_ = described(window);
    }
    MERCUTIO_ASSERT(described_->header.window == window);
    const bool asked = fits_parcel(buffer_.plan(), described_->header) ? add_to_parcel() : ask_alone();
    if (!asked) return false;
    described_.reset();
    buffer_.valid_map(window).clear();
    return true;
  }

  bool ask_alone() {
    if (std::ssize(underway_) >= buffer_.depth()) return false;
    if (!parcel_.items.empty()) send_parcel(/*last=*/false);   // it may contain the windows before this one
    if (described_->header.window >= finished_ + buffer_.depth()) return false;
    Underway& one = announce(std::move(*described_));
    const Bytes into(data_of(one), static_cast<size_t>(one.header.bytes));
    sender_.receive(into, one.messages);
    return true;
  }

  bool add_to_parcel() {
    const i64 most = buffer_.plan().parcel_bytes, header_bytes = static_cast<i64>(sizeof(StreamHeader));
    const bool full = parcel_.answer_bytes + described_->header.bytes > most ||
                      std::ssize(parcel_.requests) + header_bytes + described_->header.list_bytes > most;
    if (full && std::ssize(underway_) >= buffer_.depth()) return false;
    if (full) send_parcel(/*last=*/false);
    Underway& one = parcel_.items.emplace_back(std::move(*described_));
    parcel_.answer_bytes += one.header.bytes;
    sender_.shorten(one.header, one.run_list);
    context_.channel.described(std::ssize(one.run_list));
    for (const ConstBytes part : {const_bytes_of(std::span(&one.header, 1)), ConstBytes(one.run_list)}) {
      parcel_.requests.insert(parcel_.requests.end(), part.begin(), part.end());
    }
    one.run_list = {};
    return true;
  }

  void send_parcel(bool last) {
    Parcel& parcel = parcels_.emplace_back(std::move(parcel_));
    parcel_ = {};
    Underway next;
    next.header.window = parcel.items.front().header.window;
    next.header.bytes = std::ssize(parcel.requests);
    next.header.first = parcel.answer_bytes;
    next.header.parcel = last ? 2 : 1;
    next.packed = std::make_unique<ScratchBuffer>(parcel.answer_bytes);
    next.requests = std::move(parcel.requests);
    Underway& one = announce(std::move(next));
    sender_.send(one.requests, one.messages);
    sender_.receive(one.packed->first(parcel.answer_bytes), one.messages);
    ended_ = last;
  }

  // Delivers the first message in flight, which has arrived. Windows of a parcel are delivered as far as they have slots. False:
  // none was.
  bool deliver_first() {
    Underway& one = underway_.front();
    if (one.header.parcel != 0) return deliver_parcel(one);
    if (one.header.window < windows() && !one.in_slot) {
      context_.channel.copied(one.header.bytes);
      unpack_runs(one.runs, data_of(one), buffer_.slot(one.header.window).data);
    }
    underway_.pop_front();
    return true;
  }

  bool deliver_parcel(Underway& answer) {
    Parcel& parcel = parcels_.front();
    const size_t before = parcel.delivered;
    for (; parcel.delivered < parcel.items.size(); ++parcel.delivered) {
      Underway& item = parcel.items[parcel.delivered];
      if (item.header.window >= finished_ + buffer_.depth()) return parcel.delivered > before;
      context_.channel.copied(item.header.bytes);
      unpack_runs(item.runs, answer.packed->data.get() + parcel.delivered_bytes, buffer_.slot(item.header.window).data);
      parcel.delivered_bytes += item.header.bytes;
      item.runs = {};
    }
    underway_.pop_front();
    parcels_.pop_front();
    return true;
  }

  i64 first_undelivered() const {
    if (underway_.empty()) return parcel_.items.empty() ? next_ : parcel_.items.front().header.window;
    const Underway& first = underway_.front();
    if (first.header.parcel == 0) return std::min(first.header.window, next_);
    return std::min(parcels_.front().items[parcels_.front().delivered].header.window, next_);
  }

  i64 finished_ = 0;
  i64 available_ = 0;
  std::optional<Underway> described_;   // the next window, until it is requested
  Parcel parcel_;                       // the one that is being filled
  std::deque<Parcel> parcels_;          // in flight
};

}  // namespace

std::unique_ptr<WindowEndpoint> make_node_leader(WindowBuffer buffer, EndpointContext context, i64 aggregator) {
  if (context.writing) return std::make_unique<WritingLeader>(std::move(buffer), std::move(context), aggregator);
  return std::make_unique<ReadingLeader>(std::move(buffer), std::move(context), aggregator);
}

}  // namespace mercutio
