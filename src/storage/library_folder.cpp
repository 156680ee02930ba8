#include "storage/library_folder.h"

#include <dlfcn.h>

#include <cstdlib>

namespace mercutio {

std::string library_folder() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&library_folder), &self) == 0 || !self.dli_fname) return ".";
  char* real = ::realpath(self.dli_fname, nullptr);
  const std::string path = real ? real : self.dli_fname;
  std::free(real);
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace mercutio
