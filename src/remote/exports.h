// The directories a server lets clients see. A path never leaves its root: the kernel resolves it beneath (openat2), so
// that neither `..` nor a symbolic link gets out, whatever changes meanwhile. Only regular files are served.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace mercutio::remote {

struct Export {
  std::string name, directory;
  bool writable = false;
};
Result<Export> parse_export(const std::string& text);   // name=/directory, name=/directory:rw

class Exports {
 public:
  static Result<Exports> open(const std::vector<Export>& wanted);
  Exports(Exports&&) = default;

  // `path` is root/name/in/it.
  Result<std::unique_ptr<Storage>> open_file(const std::string& path, const OpenOptions& options) const;
  Status remove(const std::string& path) const;

 private:
  struct Root {
    std::shared_ptr<const int> fd;
    bool writable = false;
  };
  struct Place {
    Root root;
    std::string inside;
  };
  Exports() = default;
  Result<Place> find(const std::string& path) const;

  std::map<std::string, Root> roots_;
};

}  // namespace mercutio::remote
