#include "storage/library/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/attempt.h"
#include "base/installation.h"
#include "base/utf8.h"

namespace mercutio {

LibraryName library_name_of(const std::string& file_name) {
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  size_t end = 0;
  while (end < file_name.size() && (is_small(file_name[end]) || (end > 0 && file_name[end] >= '0' && file_name[end] <= '9'))) ++end;
  if (end < 2 || end == file_name.size() || file_name[end] != ':') return {};
  const bool certain = file_name.compare(end, 3, "://") == 0;
  return {file_name.substr(0, end), file_name.substr(end + (certain ? 3 : 1)), certain};
}

std::string driver_library_file(const std::string& name) {
  return "libmercutio-driver-" + name + ".so";
}

// A program with the rights of another user takes no code from folders that its caller names.
std::vector<std::string> driver_folders() {
  std::vector<std::string> folders;
  const char* const value = ::secure_getenv("MERCUTIO_DRIVERS");
  const std::string wanted = value ? value : "";
  for (size_t begin = 0; begin < wanted.size();) {
    const size_t end = std::min(wanted.find(':', begin), wanted.size());
    if (wanted[begin] == '/') folders.push_back(wanted.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& folder : library_folders()) folders.push_back(folder + "/mercutio/drivers");
  return folders;
}

std::string find_driver_library(const std::string& name) {
  for (const std::string& folder : driver_folders()) {
    std::string path = folder + "/" + driver_library_file(name);
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  return "";
}

std::vector<std::string> installed_drivers() {
  const std::string before = "libmercutio-driver-", behind = ".so";
  std::set<std::string> names;
  for (const std::string& folder : driver_folders()) {
    std::error_code failed;
    for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
      const std::string file = entry->path().filename();
      if (!file.starts_with(before) || !file.ends_with(behind) || file.size() <= before.size() + behind.size()) continue;
      const std::string name = file.substr(before.size(), file.size() - before.size() - behind.size());
      if (library_name_of(name + ":").driver == name) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

namespace {

Error unusable(const std::string& what) {
  return Error{ErrorClass::kUnsupportedOperation, what};
}

Error not_found(const std::string& name) {
  std::string folders;
  for (const std::string& folder : driver_folders()) folders += (folders.empty() ? "" : ", ") + folder;
  return unusable("there is no " + driver_library_file(name) +
                  ": install it in mercutio/drivers beside Mercutio's libraries, or name its folder in MERCUTIO_DRIVERS (searched: " + folders + ")");
}

struct Function {
  const char* name;
  bool there;
};

// What `given` has, as far as this side knows it. Members it was built without are null.
Result<mercutio_driver> taken(const std::string& path, const mercutio_driver& given) {
  const std::string version = "Mercutio " MERCUTIO_VERSION_TEXT " takes version " + std::to_string(MERCUTIO_DRIVER_ABI) + " of the interface";
  if (given.abi != MERCUTIO_DRIVER_ABI)
    return unusable(path + " is a driver of version " + std::to_string(given.abi) + ", and " + version + ": build the driver with this Mercutio's mercutio/driver.h");
  mercutio_driver driver{};
  std::memcpy(&driver, &given, std::min(given.size, sizeof driver));
  driver.size = sizeof driver;
  const Function required[] = {{"open", driver.open != nullptr},
                               {"close", driver.close != nullptr},
                               {"read", driver.read != nullptr},
                               {"write", driver.write != nullptr},
                               {"get_size", driver.get_size != nullptr},
                               {"lock", driver.lock != nullptr || !driver.unlock},
                               {"unlock", driver.unlock != nullptr || !driver.lock}};
  for (const Function& function : required)
    if (!function.there) return unusable(path + " is no complete driver: the function '" + function.name + "' is missing; mercutio/driver.h says which are required");
  return driver;
}

}  // namespace

Error driver_error(const std::string& name, const char* call, int code, const char* (*explain)()) {
  const std::string where = "driver " + name + ": " + call;
  constexpr int kMostErrno = 4095;
  if (code < 0 || code > kMostErrno)
    return Error{ErrorClass::kIo, where + " returned " + std::to_string(code) + ", which is no value of <errno.h>: this is a defect of the driver", EIO};
  Error error = error_from_errno(where.c_str(), code);
  const std::string more = explain ? attempt_or(std::string(), [&] { return driver_text(explain()); }) : "";
  if (!more.empty()) error.what += "; the driver says: " + more;
  return error;
}

Error driver_defect(const std::string& name, const std::string& what) {
  return Error{ErrorClass::kIo, "driver " + name + ": " + what + ": this is a defect of the driver", EIO};
}

Error driver_threw(const std::string& name, const char* call, Error thrown) {
  thrown.what = "driver " + name + ": " + call + " threw an exception (" + driver_text(thrown.what.c_str()) + "): this is a defect of the driver";
  return thrown;
}

std::string driver_text(const char* text) {
  constexpr size_t kMostBytes = 500;
  if (!text) return "";
  const std::string_view whole(text, ::strnlen(text, kMostBytes + 1));
  if (whole.size() <= kMostBytes) return printable(whole);
  return printable(first_bytes(whole, kMostBytes)) + "...";
}

// A library that was loaded stays: it may have started threads.
Result<mercutio_driver> load_driver(const std::string& name) {
  const std::string path = find_driver_library(name);
  if (path.empty()) return not_found(name);
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const why = ::dlerror();
    return unusable("driver " + name + " can't be loaded: " + (why ? why : path.c_str()) + "; `ldd` shows what it needs");
  }
  const auto init = reinterpret_cast<decltype(&mercutio_driver_init)>(::dlsym(library, "mercutio_driver_init"));
  if (!init) return unusable(path + " is no driver: it doesn't export mercutio_driver_init (mercutio/driver.h)");
  static const mercutio_driver_host host{MERCUTIO_DRIVER_ABI, sizeof host, MERCUTIO_VERSION_TEXT, sizeof(mercutio_driver)};
  const mercutio_driver* given = nullptr;
  int code = 0;
  const Status called = attempt([&] {
    code = init(&host, &given);
    return ok_status();
  });
  if (!called) return driver_threw(name, "mercutio_driver_init", called.error());
  if (code == 0 && !given) return unusable(path + " is no complete driver: mercutio_driver_init gave none");
  if (code == 0) return taken(path, *given);
  const bool explains = given && given->abi == MERCUTIO_DRIVER_ABI && MERCUTIO_DRIVER_HAS(mercutio_driver, given, explain);
  return driver_error(name, "mercutio_driver_init", code, explains ? given->explain : nullptr);
}

}  // namespace mercutio
