// Writes a profile: hints for later runs, as `mercutio tune` writes them (docs/users/tuning.md), of what mercutio_adapt has found.
#pragma once

#include <string>

#include "base/result.h"
#include "model/hints.h"

namespace mercutio {

struct FoundHints {
  std::string program;
  i64 ranks = 0;
  std::string path;      // of the file: the profile is for all with its ending, on such a file system
  InfoItems hints;
  std::string evidence;  // lines of text
};

std::string profile_text(const FoundHints& found);
// Into mercutio/tuned of the user's configuration, at once or not at all. One that is frozen is left alone.
Status write_profile(const FoundHints& found);

}  // namespace mercutio
