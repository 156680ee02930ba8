#include "mpi/environment.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>

namespace mercutio {

SharedPointerWay shared_pointer_way() {
  const char* value = std::getenv("MERCUTIO_SHARED_POINTER");
  const std::string way = value ? value : "";
  if (way == "window") return SharedPointerWay::kWindow;
  return way == "file" ? SharedPointerWay::kFile : SharedPointerWay::kMemory;
}

// The default is the working directory, which the nodes of a job share as a rule. Absolute, as programs may change theirs.
std::string shared_pointer_directory() {
  const char* value = std::getenv("MERCUTIO_SHARED_POINTER_DIR");
  if (value && *value) return value;
  char here[PATH_MAX] = "";
  return getcwd(here, sizeof here) ? here : "/tmp";
}

bool progress_stays_bound() {
  const char* value = std::getenv("MERCUTIO_PROGRESS");
  return value && std::string(value) == "bound";
}

}  // namespace mercutio
