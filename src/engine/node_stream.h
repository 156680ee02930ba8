// The aggregator's end of the stream of one leader (engine/stream_format.h). Windows arrive in ascending order: alone, at most
// as many at a time as there are slots, or in a parcel, out of which they are taken as slots become free. The data of a window is received while the next one is announced. Inside
// engine/ only.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/messages.h"
#include "engine/packed_memory.h"
#include "engine/stream_format.h"
#include "engine/window_endpoint.h"

namespace mercutio {

class NodeStream {
 public:
  NodeStream(const WindowBuffer& buffer, const EndpointContext& context, i64 leader)
      : buffer_(buffer), context_(context), leader_(leader) {
    if (context.file.run_lists) cache_ = &context.file.run_lists->received(leader, buffer.domain());
  }

  // The leader of this stream has finished all windows before this one.
  i64 finished() const { return underway_.empty() ? announced_.window : underway_.front()->header.window; }
  bool over() const { return ended_ && underway_.empty() && answers_.empty(); }
  // Sparse reading: what is asked for of all windows before this one is in their valid maps.
  i64 requested() const;
  // Does what can be done now. `available`: windows before this one have a slot.
  bool advance(PackedMemory& packed, i64 available);

 private:
  // The bytes of the windows of a parcel of requests.
  struct Answer {
    std::unique_ptr<ScratchBuffer> packed;
    i64 bytes = 0;         // packed so far
    MessageSet messages;   // last: given up before the memory they use goes
  };
  struct Underway {
    StreamHeader header;
    std::vector<std::byte> run_list;
    std::unique_ptr<ScratchBuffer> payload;   // it waits for nothing but its message, so that others get the memory
    std::vector<StreamRun> runs;   // once its run list is here, until they are no longer needed
    bool runs_known = false;
    bool answered = false;   // reading: the data are in `payload`, in the answer of the parcel, or on their way from the slot
    bool in_parcel = false;
    MessageSet messages;     // last: given up before the memory they use goes
  };

  bool step(PackedMemory& packed, i64 available) { return take_announcement() || take_up(packed, available) || go_on(packed); }

  // Receives the next header. It follows all messages of the window before, whose receives must be posted first.
  bool take_announcement();
  bool receive_header();
  // Takes the next header from the parcel.
  bool unwrap_header();
  // Whether the header in `next_` may follow; if so, it is the announced one.
  bool accept_header();
  // Takes up the announced window, once it has a slot.
  bool take_up(PackedMemory& packed, i64 available);
  bool unwrap_window();
  // Whether an announced run list is one that this end keeps, or may.
  bool index_fits();
  // Where the bytes of a window are while they travel.
  Bytes data_of(const Underway& one) const;
  // Finds the runs of a window, once its run list is here; sparse reading: and sets them in its valid map.
  bool take_runs(Underway& one);
  bool go_on(PackedMemory& packed);
  // Writing: the bytes have come. `packed`: null if to the slot.
  bool leave(Underway& one, const std::byte* packed);
  // Reading: sends what was asked for, once the window has been read.
  bool answer(Underway& one, PackedMemory& packed);
  bool answer_parcel(Underway& one);

  bool fail(Error error);

  const WindowBuffer& buffer_;
  const EndpointContext& context_;
  i64 leader_;
  RunListCache* cache_ = nullptr;   // null: no run list is cached
  StreamHeader announced_;    // the last header; once its window is taken up, the number of the next window
  bool waiting_ = false;     // the announced window is not taken up yet
  bool ended_ = false;       // no window follows
  StreamHeader next_;
  std::unique_ptr<Message> header_message_;
  std::unique_ptr<ScratchBuffer> parcel_;   // null: windows come alone
  i64 parcel_at_ = 0;        // what has been taken from it
  bool parcel_is_last_ = false;
  std::deque<Answer> answers_;   // the last one is that of the parcel, until it is sent
  MessageSet parcel_message_;   // given up before the memory it uses goes
  std::deque<std::unique_ptr<Underway>> underway_;
};

}  // namespace mercutio
