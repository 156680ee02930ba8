// Copies one file by pieces, several at once. Under a name of its own beside the target until it is whole, and then renamed: at no
// time does the target's name stand for a part of the copy.
#pragma once

#include "tree.h"

namespace mercutio::remote {

struct CopySettings {
  bool resume = false, verify = true, shown = false;
  i64 parallel = 4;
};

// `status` is the source's. Holes stay holes; permissions and times are kept.
Status copy_file(const Trees::Place& source, const Trees::Place& target, const FileStatus& status, const CopySettings& settings);

// What a copy is called until it is whole.
std::string part_name(const std::string& target);

}  // namespace mercutio::remote
