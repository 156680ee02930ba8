#include "mpi/environment.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

namespace mercutio {

SharedPointerWay shared_pointer_way() {
  const char* value = std::getenv("MERCUTIO_SHARED_POINTER");
  const std::string way = value ? value : "";
  if (way == "window") return SharedPointerWay::kWindow;
  return way == "file" ? SharedPointerWay::kFile : SharedPointerWay::kMemory;
}

// The folder of the data, which all ranks can access; then the working directory, which the nodes of a job usually share. Absolute
// paths, because programs may change their working directory.
std::vector<std::string> shared_pointer_directories(const std::string& folder) {
  const char* value = std::getenv("MERCUTIO_SHARED_POINTER_DIR");
  if (value && *value) return {value};
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  std::vector<std::string> directories;
  if (!folder.empty() && !failed) directories.push_back((here / folder).parent_path());
  directories.push_back(failed ? "/tmp" : here.string());
  return directories;
}

bool mpi_divides_nodes() {
  constexpr const char* kVariables[] = {"MPIR_CVAR_NOLOCAL", "MPIR_CVAR_ODD_EVEN_CLIQUES", "MPIR_CVAR_NUM_CLIQUES"};
  return std::any_of(std::begin(kVariables), std::end(kVariables), [](const char* variable) { return std::getenv(variable) != nullptr; });
}

bool progress_stays_bound() {
  const char* value = std::getenv("MERCUTIO_PROGRESS");
  return value && std::string(value) == "bound";
}

}  // namespace mercutio
