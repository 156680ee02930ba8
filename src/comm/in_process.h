// A Comm for ranks that are threads of one process, for tests of the core and for threaded programs without a message-passing
// library.
//
// Messages are numbered per (from, to, tag). Receive number n takes message number n, so a cancelled receive never shifts later
// ones. Small messages are copied when sent. Large ones are copied once, by the receiver, from the sender's buffer. Cost: one mutex
// per receiving rank, one map entry per (from, tag) in use.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "comm/comm.h"

namespace mercutio {

inline constexpr i64 kInProcessEagerBytes = 4096;

// The ranks of a new world, in order. An empty topology: all ranks on one node. `shared_memory`: those of a node share a segment.
std::vector<std::unique_ptr<Comm>> make_in_process_world(i64 ranks, Topology topology = {}, bool shared_memory = true);

// Runs `body` once per rank, each in a thread of its own, and returns when all have returned.
void run_ranks(i64 ranks, const std::function<void(Comm&)>& body, Topology topology = {}, bool shared_memory = true);

}  // namespace mercutio
