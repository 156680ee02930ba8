// The registry: the one table from the prefix of a file name to its driver.
//
// A prefix counts only when it is whole, in lower case, and first: "ufs:/a:b" is "/a:b" for posix, while "u:x",
// "n:foo", "UFS:x" and "dir/ufs:x" are plain names. Only one prefix is stripped. A prefix wins over a file that is
// literally called like that; "./memory:foo" names such a file. The prefixes are ROMIO's, so that programs written for
// it keep working ("nfs:" asks for byte-range locks, as there), and "mercutio://" for the files of other clusters.
//
// A driver in a library of its own comes after the table. Names of files have colons, too ("out:1", the times in WRF's), so its
// prefix counts only where there is that library, or where "//" follows.
#include <array>
#include <map>
#include <mutex>
#include <string_view>

#include "base/thread_annotations.h"
#include "model/path_mapping.h"
#include "storage/drivers.h"
#include "storage/library/library.h"

namespace mercutio {
namespace {

enum DriverIndex { kPosix, kMemory, kNull, kRemote, kDriverCount };

struct Row {
  std::string_view prefix;
  DriverIndex driver;
  CoherenceWay coherence = CoherenceWay::kAuto;
};

constexpr Row kTable[] = {
    {"posix:", kPosix}, {"ufs:", kPosix},   {"nfs:", kPosix, CoherenceWay::kLocks}, {"lustre:", kPosix},  {"xfs:", kPosix},
    {"gpfs:", kPosix},  {"panfs:", kPosix}, {"testfs:", kPosix}, {"memory:", kMemory}, {"null:", kNull},
    {"mercutio://", kRemote},
};

using Drivers = std::array<std::unique_ptr<Driver>, kDriverCount>;

// Made at the first use and never destroyed: files may still be open while the process runs its exit handlers.
Drivers& drivers() {
  static Drivers* const all = new Drivers{make_posix_driver(), make_memory_driver(), make_null_driver(), make_remote_driver()};
  return *all;
}

const Row* row_of(const std::string& file_name) {
  for (const Row& row : kTable)
    if (file_name.starts_with(row.prefix)) return &row;
  return nullptr;
}

// Those in libraries, by name: made when one is named, and never destroyed.
class LibraryDrivers {
 public:
  Driver* of(const std::string& name) {
    std::lock_guard guard(mutex_);
    std::unique_ptr<Driver>& driver = drivers_[name];
    if (!driver) driver = make_library_driver(name);
    return driver.get();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Driver>> drivers_ MERCUTIO_GUARDED_BY(mutex_);
};

Driver* library_driver(const std::string& name) {
  static LibraryDrivers* const all = new LibraryDrivers;
  return all->of(name);
}

Resolved resolve_unmapped(const std::string& file_name, const std::string& library) {
  if (const Row* const row = row_of(file_name)) return {drivers()[row->driver].get(), file_name.substr(row->prefix.size()), row->coherence};
  if (library.empty()) return {drivers()[kPosix].get(), file_name, CoherenceWay::kAuto};
  return {library_driver(library), library_name_of(file_name).path, CoherenceWay::kAuto};
}

}  // namespace

bool moves_by_system_calls(const Driver& driver) { return &driver == drivers()[kPosix].get(); }
bool is_remote(const Driver& driver) { return &driver == drivers()[kRemote].get(); }

std::string driver_library_of(const std::string& file_name) {
  if (row_of(file_name)) return "";
  const LibraryName name = library_name_of(file_name);
  return name.certain || (!name.driver.empty() && !find_driver_library(name.driver).empty()) ? name.driver : "";
}

Resolved resolve(const std::string& file_name) {
  return resolve_unmapped(file_name, driver_library_of(file_name));
}

std::string name_for_hints(const std::string& file_name) {
  const Resolved resolved = resolve(file_name);
  return moves_by_system_calls(*resolved.driver) ? resolved.path : file_name;
}

Resolved resolve(const std::string& file_name, const std::string& mercutio_remote) {
  return resolve(file_name, mercutio_remote, driver_library_of(file_name));
}

Resolved resolve(const std::string& file_name, const std::string& mercutio_remote, const std::string& library) {
  const Resolved here = resolve_unmapped(file_name, library);
  if (mercutio_remote.empty() || here.driver != drivers()[kPosix].get()) return here;
  const std::string there = map_path(mercutio_remote, here.path);
  return there.empty() ? here : resolve_unmapped(there, "");
}

}  // namespace mercutio
