// The aggregator's end of the stream of one leader (engine/stream_format.h). Windows come in ascending order, at most as many at a time
// as have slots; what belongs to one is received while the next is announced. Inside engine/ only.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/messages.h"
#include "engine/stream_format.h"
#include "engine/window_endpoint.h"

namespace mercutio {

class NodeStream {
 public:
  NodeStream(const WindowBuffer& buffer, const EndpointContext& context, i64 leader)
      : buffer_(buffer), context_(context), leader_(leader) {
    if (context.file.run_lists) cache_ = &context.file.run_lists->received(leader, buffer.domain());
  }

  // All windows before this one are done with, as far as this leader is concerned.
  i64 finished() const { return underway_.empty() ? announced_.window : underway_.front()->header.window; }
  bool over() const { return ended_ && underway_.empty(); }
  // Does what can be done now. `payloads`: how many payload buffers may still be taken.
  bool advance(i64& payloads);

 private:
  struct Underway {
    StreamHeader header;
    std::vector<std::byte> run_list;
    std::unique_ptr<ScratchBuffer> payload;
    bool answered = false;   // reading: the data are in `payload`, or on their way from the slot
    MessageSet messages;     // last: given up before the memory they use goes
  };

  bool step(i64& payloads) { return take_announcement() || take_up(payloads) || go_on(payloads); }

  // Receives the next header. It comes behind everything that belongs to the one before, so that must be asked for first.
  bool take_announcement();
  // Takes up the announced window, once it has a slot.
  bool take_up(i64& payloads);
  // Who holds a payload waits for nothing but its message: else those that hold them could keep it from those that don't.
  // Whether an announced run list is one that this end keeps, or may.
  bool index_fits();
  static void take_payload(Underway& one, i64& payloads);
  // Where the bytes of a window are while they travel.
  Bytes data_of(const Underway& one) const;
  // Its run list is here, or it needs none.
  bool has_run_list(const Underway& one) const;
  // The runs of a window that has it.
  Result<std::vector<StreamRun>> take_runs(Underway& one);
  bool go_on(i64& payloads);
  // Writing: the bytes have come.
  bool leave(Underway& one);
  // Reading: sends what was asked for, once the window has been read.
  bool answer(Underway& one, i64& payloads);

  bool fail(Error error);

  const WindowBuffer& buffer_;
  const EndpointContext& context_;
  i64 leader_;
  RunListCache* cache_ = nullptr;   // null: no run list is kept
  StreamHeader announced_;    // the last, with its window; once taken up, the one behind it
  bool waiting_ = false;     // it is not taken up yet
  bool ended_ = false;       // there will be no other
  StreamHeader next_;
  std::unique_ptr<Message> header_message_;
  std::deque<std::unique_ptr<Underway>> underway_;
};

}  // namespace mercutio
