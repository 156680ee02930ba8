// The leader's end of a node stream (engine/window/stream_format.h): announces windows, and sends the run lists that the aggregator has
// not cached. Inside engine/ only.
#pragma once

#include <vector>

#include "engine/agreement/messages.h"
#include "engine/window/stream_format.h"
#include "engine/window/window_endpoint.h"

namespace mercutio {

class StreamSender {
 public:
  StreamSender(const EndpointContext& context, i64 aggregator, i64 domain) : channel_(context.channel), aggregator_(aggregator) {
    if (!context.file.run_lists) return;
    cache_ = &context.file.run_lists->sent(aggregator_, domain);
    cache_->begin(context.cache_bytes);
  }

  // What is sent must live until the messages are complete.
  void announce(StreamHeader& header, std::vector<std::byte>& run_list, MessageSet& messages) {
    shorten(header, run_list);
    send(const_bytes_of(std::span(&header, 1)), messages);
    if (run_list.empty()) return;
    send(run_list, messages);
    channel_.described(header.list_bytes);
  }
  // Removes a run list that the aggregator has cached. Call it once per window, in the order in which windows are sent.
  void shorten(StreamHeader& header, std::vector<std::byte>& run_list) {
    if (run_list.empty() || !cache_) return;
    header.cache_index = cache_->find(run_list);
    if (header.cache_index == RunListCache::kNone) {
      header.cache_index = cache_->keep(run_list);
      return;
    }
    run_list.clear();
    header.list_bytes = 0;
  }
  void send(ConstBytes data, MessageSet& messages) const { messages.add(channel_.send(aggregator_, data)); }
  // Receives the aggregator's reply to an announcement.
  void receive(Bytes data, MessageSet& messages) const { messages.add(channel_.receive(aggregator_, data, 1)); }

 private:
  const Channel& channel_;
  i64 aggregator_;
  RunListCache* cache_ = nullptr;   // null: run lists are not cached
};

}  // namespace mercutio
