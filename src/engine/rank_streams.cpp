// The streams of a rank that shares no memory with others: to every aggregator but itself, of what it has in that domain. It is the
// only rank of its node, so its bytes go from the user's memory to the aggregator, packed where they don't lie in one run, without
// a window in between.
//
// Windows are started in order of their number, and a stream that has to wait for that tells how far it is. Why it cannot deadlock:
// take the unfinished window with the lowest number of any domain. All before it are finished, so no stream has plan.depth of them
// under way, and what holds memory is of that number, which its aggregator takes, as it knows that nobody needs earlier ones.
//
// Memory: that of PackedMemory. Time beyond the copies: O(log domains) and two O(depth log n) look-ups a window.
#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

#include "base/assert.h"
#include "engine/packed_memory.h"
#include "engine/stream_sender.h"
#include "engine/window_parts.h"

namespace mercutio {
namespace {

// Where `bytes` from stream position `begin` on lie, if that is one run of memory; else null.
std::byte* contiguous_at(const Memory& memory, i64 begin, i64 bytes) {
  if (!memory.type->monotone() || memory.type->overlapping()) return nullptr;
  const i64 first = memory.type->offset_of(begin), last = memory.type->offset_of(begin + bytes - 1);
  return last - first == bytes - 1 ? memory.base + first : nullptr;
}

class RankStreams final : public WindowEndpoint {
 public:
  RankStreams(const std::vector<WindowBuffer>& buffers, const EndpointContext& context, const RankAccess& mine, const std::vector<i64>& domains)
      : context_(context), mine_(mine), me_(context.channel.comm->rank()) {
    for (const i64 domain : domains) {
      const WindowBuffer& buffer = buffers[static_cast<size_t>(domain)];
      const i64 step = static_cast<i64>(streams_.size());
      streams_.push_back(std::make_unique<Stream>(buffer, StreamSender(context_, buffer.leader(), domain)));
      go_to_next(step, 0);
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
    if (moved || !std::exchange(begun_, true)) {   // else nothing has made room
      while (context_.outcome.messages && start_next()) moved = true;
    }
    for (const auto& stream : streams_) tell_position(*stream);
    return moved;
  }

 private:
  // A window on its way. Its messages use its memory, so it stays where it is until they are complete.
  struct Underway {
    StreamHeader header;
    i64 begin = 0;         // in the access's stream
    std::vector<std::byte> run_list;
    std::unique_ptr<ScratchBuffer> packed;   // null: straight from or into the user's memory
    MessageSet messages;   // last: given up before the memory they use goes
  };
  struct Stream {
    Stream(const WindowBuffer& b, StreamSender s) : buffer(b), sender(s) {}
    const WindowBuffer& buffer;   // of its windows only where they lie counts here
    StreamSender sender;
    WindowPart next;
    std::deque<Underway> underway;
    i64 told = 0;                   // the aggregator knows that all windows before this one are finished, but for those under way
    Underway position;              // on its way
  };
  // Window number and stream, the lowest first.
  using Start = std::pair<i64, i64>;

  void go_to_next(i64 number, i64 from) {
    Stream& stream = *streams_[static_cast<size_t>(number)];
    stream.next = next_part(stream.buffer.plan(), stream.buffer.domain(), me_, mine_.part, from);
    if (!stream.next.empty()) return waiting_.push({stream.next.window, number});
    Underway& end = stream.underway.emplace_back();
    stream.told = end.header.window = stream.buffer.windows();
    stream.sender.announce(end.header, end.run_list, end.messages);
  }

  // Starts the next window, if its stream and the memory allow it. The windows of one number may pass each other.
  bool start_next() {
    std::vector<Start> passed;
    bool started = false;
    while (!started && !waiting_.empty() && (passed.empty() || waiting_.top().first == passed.front().first)) {
      const Start start = waiting_.top();
      waiting_.pop();
      Stream& stream = *streams_[static_cast<size_t>(start.second)];
      if (std::ssize(stream.underway) < stream.buffer.depth()) {
        started = begin(stream);
        if (started) go_to_next(start.second, stream.next.window + 1);
      }
      if (started) break;
      passed.push_back(start);
    }
    for (const Start& start : passed) waiting_.push(start);
    return started;
  }

  bool begin(Stream& stream) {
    const WindowPart& part = stream.next;
    const i64 bytes = part.end - part.begin;
    std::byte* straight = contiguous_at(*mine_.memory, part.begin - mine_.memory_begin, bytes);
    std::unique_ptr<ScratchBuffer> packed;
    if (!straight) packed = packed_.take(bytes);
    if (!straight && !packed) return false;
    Underway& one = stream.underway.emplace_back();
    one.begin = part.begin;
    stream.told = part.window + 1;
    one.header = describe(stream.buffer, part, mine_.part, one.run_list);
    MERCUTIO_ASSERT(one.header.bytes == bytes);
    one.packed = std::move(packed);
    const Bytes data(straight ? straight : one.packed->data.get(), static_cast<size_t>(bytes));
    if (context_.writing && one.packed) copy_packed(one);
    stream.sender.announce(one.header, one.run_list, one.messages);
    context_.writing ? stream.sender.send(data, one.messages) : stream.sender.receive(data, one.messages);
    return true;
  }

  // Of a stream that could go on, were it not for other streams' windows or the memory.
  void tell_position(Stream& stream) {
    const bool known = stream.next.window <= stream.told || std::ssize(stream.underway) >= stream.buffer.depth();
    if (!stream.position.messages.done() || !context_.outcome.messages) return;
    if (const Status& status = stream.position.messages.status(); !status) context_.outcome.messages = status;
    if (known || !context_.outcome.messages) return;
    stream.told = stream.position.header.window = stream.next.window;
    stream.sender.announce(stream.position.header, stream.position.run_list, stream.position.messages);
  }

  void copy_packed(Underway& one) {
    const PhaseScope phase(context_.channel.counters, Phase::kCopy);
    context_.channel.copied(one.header.bytes);
    Cursor memory = mine_.memory->cursor();
    memory.seek(one.begin - mine_.memory_begin);
    context_.writing ? pack(memory, one.packed->first(one.header.bytes)) : unpack(memory, one.packed->first(one.header.bytes));
  }

  // Ends the first window of a stream that is under way, if its messages are complete.
  bool take_first(Stream& stream) {
    if (stream.underway.empty() || !stream.underway.front().messages.done()) return false;
    Underway& one = stream.underway.front();
    if (const Status& status = one.messages.status(); !status) {
      context_.outcome.messages = status;
      return false;
    }
    if (one.packed && !context_.writing) copy_packed(one);
    packed_.give_back(std::move(one.packed));
    stream.underway.pop_front();
    return true;
  }

  EndpointContext context_;
  const RankAccess mine_;
  const i64 me_;
  std::vector<std::unique_ptr<Stream>> streams_;   // in the order of the exchange schedule
  std::priority_queue<Start, std::vector<Start>, std::greater<>> waiting_;
  PackedMemory packed_;
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<WindowEndpoint> make_rank_streams(const std::vector<WindowBuffer>& buffers, const EndpointContext& context, const RankAccess& mine,
                                                  const std::vector<i64>& domains) {
  return std::make_unique<RankStreams>(buffers, context, mine, domains);
}

}  // namespace mercutio
