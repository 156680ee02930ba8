// libmercutio-remote.so: what the library loads when the first remote file is opened, so that nobody else needs OpenSSL.
// Both come from one build; what the caller says of its own is compared.
#include <cstring>

#include "base/attempt.h"
#include "remote/file.h"
#include "storage/remote_loader.h"

extern "C" __attribute__((visibility("default"))) mercutio::Driver* mercutio_remote_driver(const char* build) {
  if (std::strcmp(build, mercutio::kRemoteBuild) != 0) return nullptr;
  return mercutio::attempt_or<mercutio::Driver*>(nullptr, [] { return mercutio::remote::make_driver().release(); });
}
