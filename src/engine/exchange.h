// Exchange: the data movement of one two-phase access with messages, as an explicit state machine that never blocks on
// messages.
//
// Every rank has two sides. Its rank side has a flow for each (round, aggregator) in which the rank has data. Its
// aggregator side, if the rank owns a domain, goes through the domain window by window and has a flow for each rank
// with data in the current window. A flow moves its stream range in chunks, one message at a time, through a slot of
// its own, or without a slot where the bytes are contiguous. Both ends compute the bytes of a flow from the view and
// the plan; sizes are never exchanged.
//
// Why it cannot deadlock. Flows are bounded on both sides (plan.flows) and opened in a fixed order: on the rank side by
// (round, step of the schedule), on the aggregator side by (round, rank). Of all unfinished flows, take the smallest by
// (round, rank, step). Its rank side is open: all smaller flows of that rank are finished, so it is among the first
// plan.flows of them. Its aggregator side is open too: the aggregator has finished all earlier rounds, and in this
// round all flows of lower ranks. Both ends poll all their open flows in every advance(), so it finishes; by induction
// all do. Storage calls of an aggregator may block, but wait for no message.
//
// On storage that blocks its callers (pending_io.h), up to plan.depth windows exist at a time: the next one is filled
// while those before are written, and the next ones are read while one is distributed.
//
// Memory: plan.depth windows of plan.buffer_bytes, one bit for each of their bytes, and at most plan.flows slots of
// plan.chunk_bytes a side. Time beyond the copies: a few O(depth log n) look-ups a flow. Windows without data are
// skipped.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/coverage.h"
#include "engine/engine.h"
#include "engine/peer_views.h"
#include "engine/pending_io.h"
#include "engine/pieces.h"
#include "engine/throttle.h"
#include "engine/window_parts.h"
#include "plan/schedule.h"

namespace mercutio {

class Exchange {
 public:
  // `peers`: the access of every rank, by rank. All of them are needed on aggregators, and this rank's own everywhere.
  // The references must outlive the exchange. `memory_begin`: the stream position of the first byte of `memory`.
  Exchange(const EngineFile& file, Channel channel, const Plan& plan, Direction direction, std::span<const PeerAccess> peers,
           const Memory& memory, i64 memory_begin);

  // Makes progress without blocking. True when this rank has finished its part, or can't.
  bool advance();

  // The status of the messages: after an Error the partners may wait forever.
  const Status& message_status() const { return message_status_; }
  // The status of the storage, on aggregators. The exchange goes on after an Error, so that no rank waits forever.
  const Status& storage_status() const { return storage_status_; }
  // The lowest needed file offset that this aggregator found beyond the end of the file; INT64_MAX: none.
  i64 end_of_file() const { return end_of_file_; }

 private:
  struct Flow {
    i64 peer = 0;           // rank at the other end
    i64 position = 0;       // stream position of the next byte to move
    i64 end = 0;
    std::optional<Cursor> cursor;   // yields addresses in the user's buffer or in the window; none: the window has no memory
    const FlatType* type = nullptr;   // the type of the cursor
    i64 origin = 0, shift = 0;        // address of stream byte p: origin + type->offset_of(p - shift)
    std::byte* in_flight = nullptr;
    i64 in_flight_bytes = 0;
    std::unique_ptr<ScratchBuffer> slot;
    std::unique_ptr<Message> message;   // after the slot: cancelled before the slot's memory is freed
  };
  struct Part {             // of one rank in a window
    i64 rank = 0, begin = 0, end = 0;
  };

  struct Window {
    i64 round = 0;
    FileRange range;
    std::unique_ptr<ScratchBuffer> data;   // null: no memory; its messages are still sent and received
    Coverage coverage;        // the bytes that have been written into it, or must be read
    std::vector<Part> parts;  // of the ranks with data in it
    bool full = false;        // writing: it waits for a token
    bool at_storage = false;  // a transfer is under way
  };

  // Rank side.
  void open_rank_flows();
  bool next_rank_flow(Flow& flow);
  i64 next_round() const;
  void advance_rank_side();
  // Aggregator side.
  void advance_aggregator();
  bool aggregator_is_over();
  bool may_open(i64 limit) const;
  void read_ahead();
  bool take_window();
  Window& open_window();
  void find_parts(Window& window);
  void find_next_window();
  void cover(Window& window);
  void read(Window& window);
  void read_guarded(Window& window);
  void open_window_flows();
  void move_own_part();
  void add_coverage(Window& window, const Flow& flow, i64 begin, i64 end);
  void close_window();
  void write(Window& window);
  void write_full();
  void complete_transfers();
  void fail_storage(Error error);
  // Both.
  bool advance_flow(Flow& flow, bool sending, bool in_window);
  bool take_slot(Flow& flow);
  bool start_chunk(Flow& flow, bool sending);
  std::byte* contiguous_chunk(const Flow& flow, i64 bytes) const;
  void recycle(Flow& flow);

  const EngineFile& file_;
  Channel channel_;
  const Plan& plan_;
  const ExchangeSchedule schedule_;
  bool writing_;
  std::span<const PeerAccess> peers_;
  const Memory& memory_;
  i64 memory_begin_;
  i64 me_;

  // Rank side: the next (round, step) to look at.
  i64 round_ = 0, step_ = 0;
  std::vector<WindowPart> my_parts_;   // by domain, without the own one: the next part with bytes of this rank
  std::optional<Flow> waiting_;   // the next flow: its aggregator still has an earlier flow of this rank
  std::vector<Flow> rank_flows_;

  // Aggregator side.
  i64 domain_ = -1;
  std::vector<WindowPart> rank_parts_;          // by rank: the next part with bytes of that rank
  i64 next_round_ = 0;                          // the next window to open: the first of rank_parts_
  std::deque<std::unique_ptr<Window>> windows_; // open: being read, filled, distributed or written
  Window* current_ = nullptr;                   // the window whose flows are open
  size_t next_part_ = 0;                        // of current_
  std::vector<Flow> window_flows_;
  std::vector<std::unique_ptr<Window>> free_windows_;
  PendingIo pending_;                             // they use the windows' memory
  std::optional<Throttle> throttle_;            // once the domain is known

  std::vector<std::unique_ptr<ScratchBuffer>> free_slots_;
  Status message_status_ = ok_status();
  Status storage_status_ = ok_status();
  i64 end_of_file_ = INT64_MAX;
};

}  // namespace mercutio
