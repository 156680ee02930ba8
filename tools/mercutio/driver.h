// `mercutio driver check`: the contract of a storage driver, run on any driver by whoever has written it.
#pragma once

#include <string>

namespace mercutio::tool {

struct DriverOptions {
  std::string file;   // NAME:path; the names of what is made are longer
  int processes = 3;
  int seconds = 60;   // that a check may take
};

int check_driver(const DriverOptions& options);

}  // namespace mercutio::tool
