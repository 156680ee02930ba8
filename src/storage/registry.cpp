// The registry: the one table from the prefix of a file name to its driver.
//
// A prefix counts only when it is whole, in lower case, and first: "ufs:/a:b" is "/a:b" for posix, while "u:x",
// "n:foo", "UFS:x" and "dir/ufs:x" are plain names. Only one prefix is stripped. A prefix wins over a file that is
// literally called like that; "./memory:foo" names such a file. The prefixes are ROMIO's, so that programs written for
// it keep working ("nfs:" asks for byte-range locks, as there), and "mercutio://" for the files of other clusters.
#include <array>
#include <string_view>

#include "model/elsewhere.h"
#include "storage/drivers.h"

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

}  // namespace

Resolved resolve(const std::string& file_name) {
  for (const Row& row : kTable)
    if (file_name.starts_with(row.prefix)) return {drivers()[row.driver].get(), file_name.substr(row.prefix.size()), row.coherence};
  return {drivers()[kPosix].get(), file_name, CoherenceWay::kAuto};
}

Resolved resolve(const std::string& file_name, const std::string& mercutio_remote) {
  const Resolved here = resolve(file_name);
  if (mercutio_remote.empty() || here.driver != drivers()[kPosix].get()) return here;
  const std::string there = place_elsewhere(mercutio_remote, here.path);
  return there.empty() ? here : resolve(there);
}

}  // namespace mercutio
