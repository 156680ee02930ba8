// The hints from which all ranks make the same plan.
#pragma once

#include <memory>

#include "model/hints.h"
#include "model/pattern.h"

namespace mercutio {

// Hints that might differ between ranks although the standard requires them to be equal; those of rank 0 are used.
struct ChosenHints {
  i64 buffering = 0;   // a Toggle: romio_cb_read or romio_cb_write
  i64 buffer_bytes = 0;
  i64 aggregators = 0;
  bool operator==(const ChosenHints&) const = default;
};

// `disorderly`: some rank can only move its own data. Null: those of this rank.
std::unique_ptr<const Hints> agreed_hints(const Hints& mine, const ChosenHints& chosen, const Pattern& pattern, bool remote_cluster, bool disorderly);

}  // namespace mercutio
