// `mercutio driver check`: the contract of a storage driver, run on any driver by whoever has written it.
#pragma once

#include <string>

namespace mercutio::tool {

struct DriverOptions {
  std::string file;   // NAME:path; nothing may be there
  int processes = 3;
};

int check_driver(const DriverOptions& options);

}  // namespace mercutio::tool
