// Driver libraries (include/mercutio/driver.h): their names, where they are searched, and the checks when one is loaded.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "mercutio/driver.h"

namespace mercutio {

// A file name as one of a driver in a library: NAME:path or NAME://path, NAME being [a-z][a-z0-9]+.
struct LibraryName {
  std::string driver;     // NAME; empty: the name has another form
  std::string path;
  bool certain = false;   // with "://"; otherwise it may be a file whose name has a colon
};
LibraryName library_name_of(const std::string& file_name);

std::string driver_library_file(const std::string& name);    // "libmercutio-driver-NAME.so"
std::vector<std::string> driver_folders();                   // the folders that are searched
std::vector<std::string> installed_drivers();                // the names of all driver libraries in them, without repetition
std::string find_driver_library(const std::string& name);    // its path; empty: not found

// The functions of a driver; null if the library lacks one.
Result<mercutio_driver> load_driver(const std::string& name);

// The Error for a call of the driver that returned `code`, with the driver's text.
Error driver_error(const std::string& name, const char* call, int code, const char* (*explain)());
// The Error for an answer that can't be.
Error driver_defect(const std::string& name, const std::string& what);
// The Error for a call of the driver that ended with an exception, of which current_error() made `thrown`.
Error driver_threw(const std::string& name, const char* call, Error thrown);
// A text of a driver as a part of a message: on one line, not without end, and "" for null.
std::string driver_text(const char* text);

}  // namespace mercutio
