// libmercutio-remote.so: loaded by the library when the first remote file is opened, so only programs with remote files need
// OpenSSL. Both must be of the same build, which is checked.
#include <cstring>

#include "base/attempt.h"
#include "remote/file.h"
#include "storage/remote_loader.h"

extern "C" __attribute__((visibility("default"))) mercutio::Driver* mercutio_remote_driver(const char* build) {
  if (std::strcmp(build, mercutio::kRemoteBuild) != 0) return nullptr;
  return mercutio::attempt_or<mercutio::Driver*>(nullptr, [] { return mercutio::remote::make_driver().release(); });
}
