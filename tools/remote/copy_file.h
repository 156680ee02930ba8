// Copies one file. Under a name of its own beside the target until it is whole, and then renamed: at no time does the target's name
// stand for a part of the copy. Between two servers the data goes straight from one to the other where they can.
#pragma once

#include <functional>

#include "remote/copy.h"
#include "tree.h"

namespace mercutio::remote {

struct CopyView {                                          // what its user sees
  bool shown = false;                                        // a progress bar
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

// Holes stay holes; permissions and times are kept. A source that is changed meanwhile is an Error, and `target` stays as it was.
Status copy_file(const Trees::Place& source, const Trees::Place& target, const CopySettings& settings, const CopyView& view = {});

// What a copy is called until it is whole.
std::string part_name(const std::string& target);

}  // namespace mercutio::remote
