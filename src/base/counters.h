// Counters: what one collective access of one rank cost beyond moving its bytes. Part of the trace.
#pragma once

#include <algorithm>

#include "base/types.h"

namespace mercutio {

struct Counters {
  i64 metadata_bytes = 0;   // sent to say which bytes are meant: filetypes, and lists or maps of pieces
  i64 messages = 0;         // sent, those of the agreements among them
  i64 message_bytes = 0;
  i64 in_degree = 0;        // others who sent to, or asked, this rank as an aggregator in one step; the most of all steps
  i64 copied_bytes = 0;     // between user's buffers, windows and messages
  i64 merged_bytes = 0;     // read from the file only to be written back around new data
  i64 plans_reused = 0;     // 1: nothing was planned

  void saw_in_degree(i64 others) { in_degree = std::max(in_degree, others); }
};

}  // namespace mercutio
