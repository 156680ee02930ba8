// The aggregator's end of the stream of one leader (engine/stream_format.h). Windows arrive in ascending order, at most
// as many at a time as there are slots. The data of a window is received while the next one is announced. Inside
// engine/ only.
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

  // The leader of this stream has finished all windows before this one.
  i64 finished() const { return underway_.empty() ? announced_.window : underway_.front()->header.window; }
  bool over() const { return ended_ && underway_.empty(); }
  // Makes progress without blocking. `payloads`: how many payload buffers may still be allocated.
  bool advance(i64& payloads);

 private:
  struct Underway {
    StreamHeader header;
    std::vector<std::byte> run_list;
    std::unique_ptr<ScratchBuffer> payload;
    bool answered = false;   // reading: the data has been sent, from `payload` or from the slot
    MessageSet messages;     // last: cancelled before the memory they use is freed
  };

  bool step(i64& payloads) { return take_announcement() || take_up(payloads) || go_on(payloads); }

  // Receives the next header. It follows all messages of the window before, whose receives must be posted first.
  bool take_announcement();
  // Starts to receive the announced window once it has a slot.
  bool take_up(i64& payloads);
  // A window that holds a payload buffer waits only for its own messages. Otherwise windows with buffers could wait for
  // windows without. index_fits() says whether a header may refer to its index in the cache.
  bool index_fits();
  static void take_payload(Underway& one, i64& payloads);
  // The memory of a window's bytes while they are sent or received.
  Bytes data_of(const Underway& one) const;
  // Whether its run list has arrived or is not needed.
  bool has_run_list(const Underway& one) const;
  // The runs of a window that has its run list.
  Result<std::vector<StreamRun>> take_runs(Underway& one);
  bool go_on(i64& payloads);
  // Writing: takes the bytes that have arrived.
  bool leave(Underway& one);
  // Reading: sends the requested bytes once the window has been read.
  bool answer(Underway& one, i64& payloads);

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
  std::deque<std::unique_ptr<Underway>> underway_;
};

}  // namespace mercutio
