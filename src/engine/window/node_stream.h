// The aggregator's end of the stream of one leader (engine/window/stream_format.h). Windows arrive in ascending order, each alone or
// several in a parcel. At most as many windows are received at a time as there are slots; those of a parcel are taken out of it as
// slots become free. The data of one window is received while the next one is announced. Inside engine/ only.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/agreement/messages.h"
#include "engine/window/packed_memory.h"
#include "engine/window/stream_format.h"
#include "engine/window/window_endpoint.h"

namespace mercutio {

class NodeStream {
 public:
  // `packed`: of all streams of this aggregator.
  NodeStream(const WindowBuffer& buffer, const EndpointContext& context, PackedMemory& packed, i64 leader)
      : buffer_(buffer), context_(context), packed_(packed), leader_(leader) {
    if (context.file.run_lists) cache_ = &context.file.run_lists->received(leader, buffer.domain());
  }

  // The leader of this stream has finished all windows before this one.
  i64 finished() const { return underway_.empty() ? announced_.window : underway_.front().header.window; }
  bool over() const { return ended_ && underway_.empty() && answers_.empty(); }
  // Sparse reading: the valid maps of all windows before this one contain the leader's requests.
  i64 requested() const;
  // Makes progress without blocking. `available`: windows before this one have a slot.
  bool advance(i64 available);

 private:
  // The reply to a parcel of requests: the bytes of all its windows.
  struct Answer {
    std::unique_ptr<ScratchBuffer> packed;
    i64 bytes = 0;         // packed so far
    MessageSet messages;   // last member: cancelled before the memory they use is freed
  };
  struct Underway {
    StreamHeader header;
    std::vector<std::byte> run_list;
    std::unique_ptr<ScratchBuffer> payload;   // depends only on its own message, so the memory becomes free for other streams
    std::vector<StreamRun> runs;   // from the arrival of the run list until the runs are no longer needed
    bool runs_known = false;
    bool answered = false;   // reading: the data is in `payload` or in the reply of the parcel, or is being sent from the slot
    bool in_parcel = false;
    MessageSet messages;     // last member: cancelled before the memory they use is freed
  };

  // Receives the next header. It follows all messages of the previous window, whose receives must be posted first.
  bool take_announcement();
  bool receive_header();
  // Reads the next header from the parcel.
  bool unwrap_header();
  // Checks whether the header in `next_` is valid here, and makes it the announced one.
  bool accept_header();
  // Starts receiving the announced window, if it has a slot.
  bool take_up(i64 available);
  bool unwrap_window();
  // Whether the cache index of the announced run list is valid.
  bool index_fits();
  // The memory that holds the bytes of a window in transit.
  Bytes data_of(const Underway& one) const;
  // Decodes the runs of a window once its run list has arrived. Sparse reading: also sets them in the valid map.
  bool take_runs(Underway& one);
  bool go_on();
  // Writing: the data has arrived; copies it into the slot. `packed` is null if it was received into the slot.
  bool leave(Underway& one, const std::byte* packed);
  // Reading: sends the requested bytes once the window has been read.
  bool answer(Underway& one);
  bool answer_parcel(Underway& one);

  bool fail(Error error);

  const WindowBuffer& buffer_;
  const EndpointContext& context_;
  PackedMemory& packed_;
  i64 leader_;
  RunListCache* cache_ = nullptr;   // null: no run list is cached
  StreamHeader announced_;    // the last header; after its window has been taken, `window` is the number of the next one
  bool waiting_ = false;     // the announced window has not been taken yet
  bool ended_ = false;       // no window follows
  Incoming<StreamHeader> next_;
  std::unique_ptr<ScratchBuffer> parcel_;   // null: no parcel is being read
  i64 parcel_at_ = 0;        // bytes already read from it
  bool parcel_is_last_ = false;
  std::deque<Answer> answers_;   // the last one belongs to the current parcel until it is sent
  MessageSet parcel_message_;   // cancelled before the memory it uses is freed
  std::deque<Underway> underway_;
};

}  // namespace mercutio
