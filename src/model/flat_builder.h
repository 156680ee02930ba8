// Makes FlatTypes from canonical data and bounds; nothing else does. Internal to src/model.
#pragma once

#include "model/flat_node.h"

namespace mercutio {

struct FlatParts {
  Placed data;
  i64 lb = 0, ub = 0;
  bool keep_kinds = false;
};

class FlatBuilder {
 public:
  static Result<FlatTypeRef> make(FlatParts parts);
};

}  // namespace mercutio
