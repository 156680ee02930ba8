// WindowEndpoint: the accesses of a leader to the windows of its node buffer. On the aggregator's node it reads and writes the
// file. On another node it sends and receives the windows through a node stream. Inside engine/ only.
#pragma once

#include <memory>

#include "engine/io/engine_file.h"
#include "engine/window/run_list_cache.h"
#include "engine/window/window_buffer.h"
#include "engine/window/window_parts.h"

namespace mercutio {

// The combined results of all endpoints of one rank.
struct Outcome {
  Outcome() = default;
  explicit Outcome(Error thrown) : messages(std::move(thrown)) {}   // by the task
  Status storage = ok_status();
  Status messages = ok_status();   // after an Error the partners may wait for ever
  i64 end_of_file = INT64_MAX;     // the lowest file offset found to be beyond the end of the file
  bool holes = false;              // some window had a hole
};

class WindowEndpoint {
 public:
  virtual ~WindowEndpoint() = default;
  virtual bool advance() = 0;        // makes progress without blocking; false: none was possible
  virtual bool over() const = 0;
};

struct EndpointContext {
  const EngineFile& file;
  const Channel& channel;
  bool writing;
  bool dense;   // writing: see Agreed
  i64 cache_bytes;   // limit for the cached run lists of one stream
  Outcome& outcome;
};

// `leaders`: the leaders on other nodes that have data of this domain.
std::unique_ptr<WindowEndpoint> make_aggregator_endpoint(WindowBuffer buffer, EndpointContext context, const std::vector<i64>& leaders);
std::unique_ptr<WindowEndpoint> make_node_leader(WindowBuffer buffer, EndpointContext context, i64 aggregator);
// For a rank that is a node of its own: its streams to the aggregators of these windows, in the order of the exchange
// schedule.
std::unique_ptr<WindowEndpoint> make_rank_streams(const std::vector<const WindowBuffer*>& buffers,
                                                  const EndpointContext& context, const RankAccess& mine);

}  // namespace mercutio
