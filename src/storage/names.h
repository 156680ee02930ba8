// What a storage driver can do with names beside opening and deleting files. Drivers in libraries have it (include/mercutio/driver.h), as
// far as their library does; what it can't is an error that says so.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace mercutio {

// What has a name.
struct NamedFile {
  std::string name;   // its last part
  bool is_folder = false;
  i64 bytes = 0;
  i64 modified_ns = 0;   // 0: not known
  i64 file_number = 0;   // as in Traits
};

class Names {
 public:
  virtual ~Names() = default;
  virtual bool can_look() = 0;
  virtual bool can_rename() = 0;
  virtual Result<NamedFile> look(const std::string& path) = 0;
  virtual Status list(const std::string& path, const std::function<bool(NamedFile)>& take) = 0;   // until `take` says no
  virtual Status rename(const std::string& path, const std::string& other, bool replace) = 0;
  virtual Status make_folder(const std::string& path) = 0;
  virtual Status remove_folder(const std::string& path) = 0;
};

}  // namespace mercutio
