// A link with a round trip and a rate, where the kernel can't delay packets: a port that passes its streams on to another one. Every byte is held for
// half a round trip, and all streams of a link together pass on so many bytes a second each way.
#pragma once

#include <mutex>
#include <string>

#include "base/types.h"
#include "remote/link.h"

namespace mercutio::remote {

class SlowLink {
 public:
  void set(i64 round_trip_ms, i64 mb_per_s);   // before its first stream. 0 MB/s: as fast as it can
  // A port at `address` that leads to `target`, for the life of the process.
  Result<int> leads_to(const std::string& address, const Endpoint& target);
  i64 delay_ns() const { return delay_ns_; }
  i64 bytes_per_s() const { return bytes_per_s_; }
  i64 carried();                               // bytes so far, both ways

 private:
  i64 due(int way, i64 bytes);
  void pass(int client, int server);

  i64 delay_ns_ = 0, bytes_per_s_ = 0;
  std::mutex mutex_;
  i64 free_ns_[2] = {0, 0};                    // when the link has passed on all it has, each way
  i64 carried_ = 0;
};

}  // namespace mercutio::remote
