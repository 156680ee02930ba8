// StationHost: what the host of a station does with its windows. The aggregator's own station reads and writes the file;
// a station on another node relays its windows to and from the aggregator. Inside engine/ only.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/known_forms.h"
#include "engine/window_station.h"

namespace mercutio {

// What the hosts of a rank's stations found; one for all of them.
struct Outcome {
  Status storage = ok_status();
  Status messages = ok_status();   // after an Error here the partners may be stuck
  i64 end_of_file = INT64_MAX;     // lowest file offset found to be beyond the end of the file
  bool holes = false;              // some window was not filled
};

class StationHost {
 public:
  virtual ~StationHost() = default;
  virtual bool serve() = 0;        // does what can be done now; false: nothing could
  virtual bool over() const = 0;
};

struct HostContext {
  const EngineFile& file;
  Channel channel;
  bool writing;
  bool gapless;   // writing: see AgreedPieces
  i64 form_bytes; // kept of a stream at most
  Outcome& outcome;
};

// `relays`: the hosts of this domain's stations on other nodes that have data in it.
std::unique_ptr<StationHost> make_own_station(WindowStation station, HostContext context, const std::vector<i64>& relays);
std::unique_ptr<StationHost> make_relay_station(WindowStation station, HostContext context, i64 aggregator);

}  // namespace mercutio
