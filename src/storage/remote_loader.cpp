#include "storage/remote_loader.h"

#include <dlfcn.h>

#include <mutex>

#include "base/installation.h"
#include "storage/drivers.h"

namespace mercutio {
namespace {

constexpr char kLibrary[] = "libmercutio-remote.so";
using MakeDriver = Driver* (*)(const char* build);

struct Loaded {
  std::unique_ptr<Driver> driver;
  std::string why_not;
};

Loaded load_library() {
  Loaded loaded;
  for (const std::string& directory : library_folders()) {
    void* const library = ::dlopen((directory + "/" + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* const why = ::dlerror();
      if (loaded.why_not.empty()) loaded.why_not = why ? why : "not found";
      continue;
    }
    const auto make = reinterpret_cast<MakeDriver>(::dlsym(library, "mercutio_remote_driver"));
    loaded.driver.reset(make ? make(kRemoteBuild) : nullptr);
    if (loaded.driver) return loaded;
    loaded.why_not = directory + "/" + kLibrary + " is of another build of Mercutio: install them together";
    return loaded;
  }
  return loaded;
}

class RemoteDriver final : public Driver {
 public:
  const char* name() const override { return "mercutio"; }
  void prepare(const std::string& path) override {
    if (const Loaded& loaded = there(); loaded.driver) loaded.driver->prepare(path);
  }
  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) override {
    Loaded& loaded = there();
    return loaded.driver ? loaded.driver->open(path, options) : Result<std::unique_ptr<Storage>>(not_there(loaded));
  }
  Status remove(const std::string& path) override {
    Loaded& loaded = there();
    return loaded.driver ? loaded.driver->remove(path) : Status(not_there(loaded));
  }

 private:
  Loaded& there() {
    std::call_once(once_, [this] { loaded_ = load_library(); });
    return loaded_;
  }
  static Error not_there(const Loaded& loaded) {
    return Error{ErrorClass::kUnsupportedOperation, "remote files need libmercutio-remote.so and OpenSSL 3: " + loaded.why_not};
  }

  std::once_flag once_;
  Loaded loaded_;
};

}  // namespace

std::unique_ptr<Driver> make_remote_driver() {
  return std::make_unique<RemoteDriver>();
}

}  // namespace mercutio
