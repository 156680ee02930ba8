// The endpoint on a node without the aggregator. When writing, it sends the bytes of windows to the aggregator. Windows with few
// bytes travel together in parcels, so their slots become free at once; others are sent as one message each. When reading, it
// requests and receives windows in the same way. At most plan.depth + 1 messages with data are in flight.
#include <cstring>
#include <deque>
#include <optional>

#include "base/assert.h"
#include "engine/window/stream_sender.h"

namespace mercutio {
namespace {

// A window or a parcel in flight. Its messages use its memory, so its address must not change until they are complete.
struct Underway {
  bool in_place = false;  // the data is packed inside the slot, because there is no memory for `packed`
  StreamHeader header;
  std::vector<std::byte> run_list;
  std::vector<StreamRun> runs;
  std::unique_ptr<ScratchBuffer> packed;   // unless the data is in the slot
  // Of a parcel of requests: a header and a run list for each window, the windows, and how much of the reply has been delivered.
  std::vector<std::byte> requests;
  std::vector<Underway> items;
  size_t delivered = 0;
  i64 delivered_bytes = 0;
  MessageSet messages;    // last member: cancelled before the memory they use is freed

  bool in_slot() const { return runs.size() == 1; }
};

class NodeLeader : public WindowEndpoint {
 public:
  NodeLeader(WindowBuffer buffer, EndpointContext context, i64 aggregator)
      : buffer_(std::move(buffer)), context_(std::move(context)), sender_(context_, aggregator, buffer_.domain()) {
    buffer_.begin();
  }

  bool over() const override { return ended_ && underway_.empty(); }

 protected:
  i64 windows() const { return buffer_.windows(); }

  // Describes the valid bytes of a window.
  Underway described(i64 window) {
    MERCUTIO_ASSERT(window >= completed_ && window < windows());
    Underway one;
    one.header = describe(buffer_, window, one.run_list, one.runs);
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
    if (one.in_slot()) return slot + one.runs[0].at;
    if (!one.packed && !one.in_place) one.packed = ScratchBuffer::try_make(one.header.bytes);
    one.in_place = !one.packed;
    return one.packed ? one.packed->data.get() : slot;
  }
  // Announces the parcel that is being filled. `last`: no window follows.
  Underway& announce_parcel(bool last) {
    parcel_.header.parcel = last ? 2 : 1;
    ended_ = last;
    return announce(std::exchange(parcel_, Underway()));
  }
  void send_end() {
    Underway& one = underway_.emplace_back();
    one.header.window = windows();
    sender_.announce(one.header, one.run_list, one.messages);
    ended_ = true;
  }
  bool arrived_first() { return !underway_.empty() && underway_.front().messages.arrived(context_.outcome.messages); }
  // Publishes that the windows before this one are complete.
  void publish(i64 completed) {
    MERCUTIO_ASSERT(completed >= completed_ && completed <= next_);
    completed_ = completed;
    buffer_.set_completed(completed);
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
  Underway parcel_;   // the one that is being filled
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
    if (next_ >= windows() && !ended_) parcel_.packed ? send_parcel(/*last=*/true) : send_end();
    return moved || next_ != before;
  }

 private:
  void take(i64 window) {
    MERCUTIO_ASSERT(window < completed_ + buffer_.depth());   // it has a slot
    const Slot slot = buffer_.slot(window);
    if (slot.filled.exchange(0, std::memory_order_relaxed) == 0) return;
    Underway next = described(window);
    if (fits_parcel(buffer_.plan(), next.header) && add_to_parcel(next, slot)) return buffer_.valid_map(window).clear();
    if (parcel_.packed) send_parcel(/*last=*/false);
    Underway& one = announce(std::move(next));
    std::byte* data = data_of(one);
    if (!one.in_slot()) {
      context_.channel.copied(one.header.bytes);
      pack_runs(one.runs, slot.data, data);
    }
    buffer_.valid_map(window).clear();
    sender_.send(ConstBytes(data, static_cast<size_t>(one.header.bytes)), one.messages);
  }
  // False: no memory for a parcel.
  bool add_to_parcel(Underway& window, const Slot& slot) {
    const i64 most = static_cast<i64>(sizeof window.header) + window.header.list_bytes + window.header.bytes;
    if (parcel_.packed && parcel_.header.bytes + most > parcel_.packed->bytes) send_parcel(/*last=*/false);
    if (!parcel_.packed) parcel_.packed = ScratchBuffer::try_make(buffer_.plan().parcel_bytes);
    if (!parcel_.packed) return false;
    if (parcel_.header.bytes == 0) parcel_.header.window = window.header.window;
    sender_.shorten(window.header, window.run_list);
    append(const_bytes_of(std::span(&window.header, 1)));
    append(window.run_list);
    context_.channel.described(std::ssize(window.run_list));
    context_.channel.copied(window.header.bytes);
    pack_runs(window.runs, slot.data, parcel_.packed->data.get() + parcel_.header.bytes);
    parcel_.header.bytes += window.header.bytes;
    return true;
  }
  void append(ConstBytes bytes) {
    if (!bytes.empty()) std::memcpy(parcel_.packed->data.get() + parcel_.header.bytes, bytes.data(), bytes.size());
    parcel_.header.bytes += std::ssize(bytes);
  }
  void send_parcel(bool last) {
    Underway& one = announce_parcel(last);
    sender_.send(one.packed->first(one.header.bytes), one.messages);
  }
  i64 first_in_slot() const {
    for (const Underway& one : underway_) {
      if (one.in_slot() || one.in_place) return one.header.window;
    }
    return next_;
  }
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
    moved |= buffer_.set_available(available);
    for (const i64 limit = std::min(requested, available); next_ < limit && ask(next_); ++next_) {
    }
    if (next_ == available) next_ = std::max(next_, std::min(requested, windows()));   // no rank has requested bytes of these windows
    MERCUTIO_ASSERT(next_ >= before && next_ <= windows());
    if (next_ >= windows() && !ended_) parcel_.items.empty() ? send_end() : send_parcel(/*last=*/true);
    publish(first_undelivered());
    return moved || next_ != before;
  }

 private:
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
    const bool full = parcel_.header.first + described_->header.bytes > most ||
                      std::ssize(parcel_.requests) + header_bytes + described_->header.list_bytes > most;
    if (full && std::ssize(underway_) >= buffer_.depth()) return false;
    if (full) send_parcel(/*last=*/false);
    Underway& one = parcel_.items.emplace_back(std::move(*described_));
    parcel_.header.first += one.header.bytes;
    sender_.shorten(one.header, one.run_list);
    context_.channel.described(std::ssize(one.run_list));
    for (const ConstBytes part : {const_bytes_of(std::span(&one.header, 1)), ConstBytes(one.run_list)}) {
      parcel_.requests.insert(parcel_.requests.end(), part.begin(), part.end());
    }
    one.run_list = {};
    return true;
  }

  void send_parcel(bool last) {
    parcel_.header.window = parcel_.items.front().header.window;
    parcel_.header.bytes = std::ssize(parcel_.requests);
    parcel_.packed = std::make_unique<ScratchBuffer>(parcel_.header.first);
    Underway& one = announce_parcel(last);
    sender_.send(one.requests, one.messages);
    sender_.receive(one.packed->first(one.header.first), one.messages);
  }

  // Delivers the first message in flight, which has arrived. Windows of a parcel are delivered as far as they have slots. False:
  // none was.
  bool deliver_first() {
    Underway& one = underway_.front();
    if (one.header.parcel != 0) return deliver_parcel(one);
    if (one.header.window < windows() && !one.in_slot()) {
      context_.channel.copied(one.header.bytes);
      unpack_runs(one.runs, data_of(one), buffer_.slot(one.header.window).data);
    }
    underway_.pop_front();
    return true;
  }

  bool deliver_parcel(Underway& parcel) {
    const size_t before = parcel.delivered;
    for (; parcel.delivered < parcel.items.size(); ++parcel.delivered) {
      Underway& item = parcel.items[parcel.delivered];
      if (item.header.window >= finished_ + buffer_.depth()) return parcel.delivered > before;
      context_.channel.copied(item.header.bytes);
      unpack_runs(item.runs, parcel.packed->data.get() + parcel.delivered_bytes, buffer_.slot(item.header.window).data);
      parcel.delivered_bytes += item.header.bytes;
      item.runs = {};
    }
    underway_.pop_front();
    return true;
  }

  i64 first_undelivered() const {
    if (underway_.empty()) return parcel_.items.empty() ? next_ : parcel_.items.front().header.window;
    const Underway& first = underway_.front();
    return std::min((first.header.parcel == 0 ? first : first.items[first.delivered]).header.window, next_);
  }

  i64 finished_ = 0;
  std::optional<Underway> described_;   // the next window, until it is requested
};

}  // namespace

std::unique_ptr<WindowEndpoint> make_node_leader(WindowBuffer buffer, EndpointContext context, i64 aggregator) {
  if (context.writing) return std::make_unique<WritingLeader>(std::move(buffer), std::move(context), aggregator);
  return std::make_unique<ReadingLeader>(std::move(buffer), std::move(context), aggregator);
}

}  // namespace mercutio
