// WindowEndpoint: what the leader of a node buffer does with its windows. The leader on the aggregator's node reads and
// writes the file. A leader on another node sends and receives the windows through a node stream. Inside engine/ only.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/peer_access.h"
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
  const Channel& channel;
  bool writing;
  bool dense;   // writing: see AgreedAccess
  i64 cache_bytes;   // of a stream's run lists, at most
  Outcome& outcome;
};

// What one rank moves.
struct RankAccess {
  Direction direction = Direction::kRead;
  PeerAccess part;
  const Memory* memory = nullptr;
  i64 memory_begin = 0;   // the position in the access's stream of the memory's first byte
};

// `leaders`: the leaders of this domain's node buffers on other nodes that have data in it.
std::unique_ptr<WindowEndpoint> make_aggregator_endpoint(WindowBuffer buffer, EndpointContext context, const std::vector<i64>& leaders);
std::unique_ptr<WindowEndpoint> make_node_leader(WindowBuffer buffer, EndpointContext context, i64 aggregator);
// Of a rank that is a node of its own, to the aggregators of `domains`, in the order in which it turns to them. `buffers`: by domain.
std::unique_ptr<WindowEndpoint> make_rank_streams(const std::vector<WindowBuffer>& buffers, const EndpointContext& context, const RankAccess& mine,
                                                  const std::vector<i64>& domains);

}  // namespace mercutio
