// `mercutio replay`: what a recorded job did to its files, done again by a program of ours, on other hints or other storage.
#pragma once

#include <string>

#include "launcher.h"

namespace mercutio::tool {

struct ReplayOptions {
  std::string trace, target, scratch;  // empty: beside the files that the job used
  Words hints;                         // key=value
  bool think = false, verify = true, host = false, json = false;
  Words command;  // a launcher and its options; empty: one that is found here
};

// 0; 1 where something was wrong, or what came back from a file was; 2 for options that can't be; or the launcher's code.
int replay(const ReplayOptions& options);

}  // namespace mercutio::tool
