// The streams of a rank that shares no memory: one to each aggregator except itself, with the rank's data of that domain. The data
// goes directly between the user's memory and the aggregator. It is packed if it is not one run in memory. There is no window in
// between.
//
// Windows are started in ascending order of their numbers over all streams. A stream that must wait for others announces how many
// windows it has finished. Why this cannot deadlock: take the unfinished window with the lowest number in any domain. All windows
// before it are finished, so its stream has fewer than plan.depth windows in flight, and only windows of the same number hold
// packed memory. Their aggregators receive these, because they know that no rank has data in earlier windows.
//
// Memory: that of PackedMemory. Time besides the copies: O(log domains) and three look-ups of O(depth log n) per window.
#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

#include "base/assert.h"
#include "engine/window/packed_memory.h"
#include "engine/window/stream_sender.h"
#include "engine/window/window_parts.h"

namespace mercutio {
namespace {

// The address of `bytes` from stream position `begin` on if they are contiguous in memory; otherwise null.
std::byte* contiguous_at(const Memory& memory, i64 begin, i64 bytes) {
  if (!memory.type->monotone() || memory.type->overlapping()) return nullptr;
  const i64 first = memory.type->offset_of(begin), last = memory.type->offset_of(begin + bytes - 1);
  return last - first == bytes - 1 ? memory.base + first : nullptr;
}

class RankStreams final : public WindowEndpoint {
 public:
  RankStreams(const std::vector<const WindowBuffer*>& buffers, const EndpointContext& context, const RankAccess& mine)
      : context_(context), mine_(mine), me_(context.channel.comm->rank()) {
    for (const WindowBuffer* const buffer : buffers) {
      streams_.push_back(std::make_unique<Stream>(*buffer, StreamSender(context_, buffer->leader(), buffer->domain())));
      go_to_next(std::ssize(streams_) - 1, 0);
    }
  }

  bool over() const override {
    return waiting_.empty() && std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) {
             return stream->underway.empty() && stream->position.messages.done();
           });
  }

  bool advance() override {
    bool moved = false;
    for (const auto& stream : streams_) {
      while (context_.outcome.messages && take_first(*stream)) moved = true;
    }
    if (moved || !std::exchange(begun_, true)) {   // otherwise nothing has become possible since the last call
      while (context_.outcome.messages && start_next()) moved = true;
    }
    for (const auto& stream : streams_) announce_position(*stream);
    return moved;
  }

 private:
  // A window in flight. Its messages use its memory, so its address must not change until they are complete.
  struct Underway {
    StreamHeader header;
    i64 begin = 0;         // stream position in the access
    std::vector<std::byte> run_list;
    std::unique_ptr<ScratchBuffer> packed;   // null: directly from or into the user's memory
    MessageSet messages;   // last member: cancelled before the memory they use is freed
  };
  struct Stream {
    Stream(const WindowBuffer& b, StreamSender s) : buffer(b), sender(s) {}
    const WindowBuffer& buffer;   // only the file ranges of its windows are used here
    StreamSender sender;
    WindowPart next;
    std::deque<Underway> underway;
    i64 announced = 0;                   // the aggregator knows that all windows before this one are finished or in flight
    Underway position;              // the announcement in flight
  };
  // Window number and stream; the lowest number first.
  using Start = std::pair<i64, i64>;

  void go_to_next(i64 number, i64 from) {
    Stream& stream = *streams_[static_cast<size_t>(number)];
    stream.next = next_part(stream.buffer.plan(), stream.buffer.domain(), me_, mine_, from);
    if (!stream.next.empty()) return waiting_.push({stream.next.window, number});
    Underway& end = stream.underway.emplace_back();
    stream.announced = end.header.window = stream.buffer.windows();
    stream.sender.announce(end.header, end.run_list, end.messages);
  }

  // Starts the next window if its stream and the memory permit it. Windows of one number may overtake each other.
  bool start_next() {
    std::vector<Start> passed;
    bool started = false;
    while (!started && !waiting_.empty() && (passed.empty() || waiting_.top().first == passed.front().first)) {
      const Start start = waiting_.top();
      waiting_.pop();
      Stream& stream = *streams_[static_cast<size_t>(start.second)];
      started = std::ssize(stream.underway) < stream.buffer.depth() && begin(stream);
      started ? go_to_next(start.second, stream.next.window + 1) : passed.push_back(start);
    }
    for (const Start& start : passed) waiting_.push(start);
    return started;
  }

  bool begin(Stream& stream) {
    const WindowPart& part = stream.next;
    const i64 bytes = part.end - part.begin;
    std::byte* direct = contiguous_at(*mine_.memory, part.begin - mine_.begin, bytes);
    std::unique_ptr<ScratchBuffer> packed;
    if (!direct) packed = packed_.take(bytes);
    if (!direct && !packed) return false;
    Underway& one = stream.underway.emplace_back();
    one.begin = part.begin;
    stream.announced = part.window + 1;
    one.header = describe(stream.buffer, part, mine_, one.run_list);
    MERCUTIO_ASSERT(one.header.bytes == bytes);
    one.packed = std::move(packed);
    const Bytes data(direct ? direct : one.packed->data.get(), static_cast<size_t>(bytes));
    if (context_.writing && one.packed) copy_packed(one);
    stream.sender.announce(one.header, one.run_list, one.messages);
    context_.writing ? stream.sender.send(data, one.messages) : stream.sender.receive(data, one.messages);
    return true;
  }

  // Announces the position of a stream that is held up by the windows of other streams or by the memory limit.
  void announce_position(Stream& stream) {
    const bool known = stream.next.window <= stream.announced || std::ssize(stream.underway) >= stream.buffer.depth();
    if (!stream.position.messages.arrived(context_.outcome.messages) || !context_.outcome.messages || known) return;
    stream.announced = stream.position.header.window = stream.next.window;
    stream.sender.announce(stream.position.header, stream.position.run_list, stream.position.messages);
  }

  void copy_packed(Underway& one) {
    const PhaseScope phase(context_.channel.counters, Phase::kCopy);
    context_.channel.copied(one.header.bytes);
    Cursor memory = mine_.memory_at(one.begin);
    context_.writing ? pack(memory, one.packed->first(one.header.bytes)) : unpack(memory, one.packed->first(one.header.bytes));
  }

  // Removes the first window in flight of a stream, if its messages are complete.
  bool take_first(Stream& stream) {
    if (stream.underway.empty() || !stream.underway.front().messages.arrived(context_.outcome.messages)) return false;
    Underway& one = stream.underway.front();
    if (one.packed && !context_.writing) copy_packed(one);
    packed_.give_back(std::move(one.packed));
    stream.underway.pop_front();
    return true;
  }

  EndpointContext context_;
  const RankAccess& mine_;
  const i64 me_;
  std::vector<std::unique_ptr<Stream>> streams_;   // in the order of the exchange schedule
  std::priority_queue<Start, std::vector<Start>, std::greater<>> waiting_;
  PackedMemory packed_;
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<WindowEndpoint> make_rank_streams(const std::vector<const WindowBuffer*>& buffers,
                                                  const EndpointContext& context, const RankAccess& mine) {
  return std::make_unique<RankStreams>(buffers, context, mine);
}

}  // namespace mercutio
