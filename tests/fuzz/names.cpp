// File names (src/storage/registry.cpp): which driver a name goes to, and what is left of it. The table stands here a second
// time, and so does what names a driver in a library; there is none here. Names inside the process are used as well: what was made
// under a name is found under it, and gone when removed.
#include <algorithm>
#include <map>

#include "fuzz.h"
#include "storage/library/library.h"
#include "storage/storage.h"

namespace mercutio::fuzz {
namespace {

const std::map<std::string, std::string>& drivers_by_prefix() {
  static const std::map<std::string, std::string> drivers = {{"posix", "posix"}, {"ufs", "posix"},   {"nfs", "posix"},     {"lustre", "posix"},  {"xfs", "posix"},
                                                             {"gpfs", "posix"},  {"panfs", "posix"}, {"testfs", "posix"}, {"memory", "memory"}, {"null", "null"}};
  return drivers;
}

// "name://path" in any case.
bool names_library(const std::string& name, std::size_t colon) {
  const std::string_view letters = "abcdefghijklmnopqrstuvwxyz", more = "abcdefghijklmnopqrstuvwxyz0123456789";
  const std::string prefix = name.substr(0, colon);
  return colon >= 2 && name.substr(colon).starts_with("://") && letters.find(prefix[0]) != letters.npos && prefix.find_first_not_of(more) == prefix.npos;
}

bool is_installed(const std::string& driver) {
  static const std::vector<std::string> all = installed_drivers();
  return std::find(all.begin(), all.end(), driver) != all.end();
}

void check_use(const Resolved& resolved) {
  OpenOptions options;
  options.write = options.create = true;
  std::byte data[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  const IoPiece piece{5, data, 3};
  {
    auto made = resolved.driver->open(resolved.path, options);
    FUZZ_CHECK(made.ok(), "can't make " + resolved.path);
    FUZZ_CHECK((*made)->write({&piece, 1}).ok(), "can't write " + resolved.path);
  }
  options.create = false;
  {
    auto found = resolved.driver->open(resolved.path, options);
    FUZZ_CHECK(found.ok() && (*found)->size().ok(), "not found again: " + resolved.path);
    FUZZ_CHECK(*(*found)->size() == 8, "another file: " + resolved.path);
  }
  FUZZ_CHECK(resolved.driver->remove(resolved.path).ok(), "can't remove " + resolved.path);
  FUZZ_CHECK(!resolved.driver->open(resolved.path, options).ok(), "still there: " + resolved.path);
}

}  // namespace

Input example(Random& random) {
  static const char* const kParts[] = {"posix:", "ufs:", "nfs:", "lustre:", "xfs:", "gpfs:", "panfs:", "testfs:", "memory:", "null:",
                                       "a",      "/",    ":",    "..",      "UFS:", "pvfs2:", "./",    "c:\\",  "s3",  "://", "mercutio://"};
  std::string text;
  for (i64 i = pick(random, 0, 4); i > 0; --i) text += kParts[pick(random, 0, 20)];
  return input_of(text);
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio;
  using namespace mercutio::fuzz;
  const std::string name(reinterpret_cast<const char*>(data), size);
  const Resolved resolved = resolve(name);
  std::string driver = "posix", path = name;
  const std::size_t colon = name.find(':');
  if (colon != std::string::npos) {
    const auto known = drivers_by_prefix().find(name.substr(0, colon));
    if (known != drivers_by_prefix().end()) {
      driver = known->second, path = name.substr(colon + 1);
    } else if (names_library(name, colon)) {
      driver = name.substr(0, colon), path = name.substr(colon + 3);
    } else if (is_installed(name.substr(0, colon))) {
      driver = name.substr(0, colon), path = name.substr(colon + 1);
    }
  }
  FUZZ_CHECK(resolved.driver != nullptr && resolved.driver->name() == driver, name + " went to another driver than " + driver);
  FUZZ_CHECK(resolved.path == path, name + " became " + resolved.path);
  if (driver == "memory") check_use(resolved);
  return 0;
}
