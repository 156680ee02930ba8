// WindowEndpoint: what the leader of a node buffer does with its windows. The aggregator's own node buffer reads and writes the file;
// a node buffer on another node streams its windows to and from the aggregator. Inside engine/ only.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/run_list_cache.h"
#include "engine/window_buffer.h"

namespace mercutio {

// What the endpoints of a rank's node buffers found; one for all of them.
struct Outcome {
  Status storage = ok_status();
  Status messages = ok_status();   // after an Error here the partners may be stuck
  i64 end_of_file = INT64_MAX;     // lowest file offset found to be beyond the end of the file
  bool holes = false;              // some window was not filled
};

class WindowEndpoint {
 public:
  virtual ~WindowEndpoint() = default;
  virtual bool advance() = 0;        // does what can be done now; false: nothing could
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

// `leaders`: the leaders of this domain's node buffers on other nodes that have data in it.
std::unique_ptr<WindowEndpoint> make_aggregator_endpoint(WindowBuffer buffer, EndpointContext context, const std::vector<i64>& leaders);
std::unique_ptr<WindowEndpoint> make_node_leader(WindowBuffer buffer, EndpointContext context, i64 aggregator);

}  // namespace mercutio
