// The libraries of drivers that others have written (include/mercutio/driver.h): what they are called, where they are, and what
// is checked when one is loaded.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "mercutio/driver.h"

namespace mercutio {

// A file name as one of a driver in a library: NAME:path or NAME://path, NAME being [a-z][a-z0-9]+.
struct LibraryName {
  std::string driver;     // NAME; empty: the name isn't like that
  std::string path;
  bool certain = false;   // with "://"; otherwise it may be a file whose name has a colon
};
LibraryName library_name_of(const std::string& file_name);

std::string driver_library_file(const std::string& name);    // "libmercutio-driver-NAME.so"
std::vector<std::string> driver_folders();                   // where it is looked for
std::vector<std::string> installed_drivers();                // the names of all that are there, without repetition
std::string find_driver_library(const std::string& name);    // its path; empty: it isn't there

// The functions of a driver; what the library doesn't have is null.
Result<mercutio_driver> load_driver(const std::string& name);

// The Error of a call of the driver that returned `code`, with the text that the driver has for it.
Error driver_error(const std::string& name, const char* call, int code, const char* (*explain)());

}  // namespace mercutio
