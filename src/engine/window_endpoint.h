// WindowEndpoint: what the leader of a node buffer does with its windows. The leader on the aggregator's node reads and
// writes the file. A leader on another node sends and receives the windows through a node stream. Inside engine/ only.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/run_list_cache.h"
#include "engine/window_buffer.h"

namespace mercutio {

// The results of all endpoints of one rank.
struct Outcome {
  Status storage = ok_status();
  Status messages = ok_status();   // after an Error the partners may wait forever
  i64 end_of_file = INT64_MAX;     // lowest file offset found beyond the end of the file
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
  Channel channel;
  bool writing;
  bool dense;   // writing: see AgreedPieces
  i64 cache_bytes;   // of a stream's run lists, at most
  Outcome& outcome;
};

// `leaders`: the leaders on the other nodes that have data in this domain.
std::unique_ptr<WindowEndpoint> make_aggregator_endpoint(WindowBuffer buffer, EndpointContext context, const std::vector<i64>& leaders);
std::unique_ptr<WindowEndpoint> make_node_leader(WindowBuffer buffer, EndpointContext context, i64 aggregator);

}  // namespace mercutio
