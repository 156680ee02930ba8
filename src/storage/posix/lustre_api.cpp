#include "storage/posix/lustre_api.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdint>

namespace mercutio::posix {
namespace {

struct llapi_layout;   // opaque

// The library's functions, by its manual pages. All return 0, or -1 and errno.
struct Library {
  llapi_layout* (*alloc)() = nullptr;
  void (*free)(llapi_layout*) = nullptr;
  int (*stripe_count_set)(llapi_layout*, std::uint64_t) = nullptr;
  int (*stripe_size_set)(llapi_layout*, std::uint64_t) = nullptr;
  int (*pattern_set)(llapi_layout*, std::uint64_t) = nullptr;
  int (*pool_name_set)(llapi_layout*, const char*) = nullptr;
  int (*ost_index_set)(llapi_layout*, int, std::uint64_t) = nullptr;
  int (*comp_extent_set)(llapi_layout*, std::uint64_t, std::uint64_t) = nullptr;
  int (*comp_add)(llapi_layout*) = nullptr;
  int (*file_create)(char*, int, int, const llapi_layout*) = nullptr;
  bool complete = false;
};

constexpr std::uint64_t kOverstriping = 4, kEnd = ~std::uint64_t{0};

Library load() {
  Library library;
  void* const handle = ::dlopen("liblustreapi.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return library;
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    complete = complete && function;
  };
  find(library.alloc, "llapi_layout_alloc");
  find(library.free, "llapi_layout_free");
  find(library.stripe_count_set, "llapi_layout_stripe_count_set");
  find(library.stripe_size_set, "llapi_layout_stripe_size_set");
  find(library.pattern_set, "llapi_layout_pattern_set");
  find(library.pool_name_set, "llapi_layout_pool_name_set");
  find(library.ost_index_set, "llapi_layout_ost_index_set");
  find(library.comp_extent_set, "llapi_layout_comp_extent_set");
  find(library.comp_add, "llapi_layout_comp_add");
  find(library.file_create, "llapi_layout_file_create");
  library.complete = complete;
  return library;
}

// The component that the library is at. What isn't said is left to the file system.
bool set_component(const Library& library, llapi_layout* layout, const LayoutComponent& component, bool composite) {
  bool done = true;
  if (composite) done = library.comp_extent_set(layout, static_cast<std::uint64_t>(component.begin), component.end == kEndOfFile ? kEnd : static_cast<std::uint64_t>(component.end)) == 0;
  if (done && component.stripe_bytes > 0) done = library.stripe_size_set(layout, static_cast<std::uint64_t>(component.stripe_bytes)) == 0;
  if (done && component.overstriped) done = library.pattern_set(layout, kOverstriping) == 0;
  if (done && component.stripe_count > 0) done = library.stripe_count_set(layout, static_cast<std::uint64_t>(component.stripe_count)) == 0;
  if (done && !component.pool.empty()) done = library.pool_name_set(layout, component.pool.c_str()) == 0;
  for (size_t i = 0; done && i < component.servers.size(); ++i) done = library.ost_index_set(layout, static_cast<int>(i), static_cast<std::uint64_t>(component.servers[i])) == 0;
  return done;
}

}  // namespace

int create_by_library(const std::string& path, int flags, int permissions, const Layout& wanted) {
  static const Library library = load();
  errno = ENOSYS;
  if (!library.complete || wanted.components.empty()) return -1;
  llapi_layout* const layout = library.alloc();
  if (!layout) return -1;
  bool made = true;
  for (size_t i = 0; made && i < wanted.components.size(); ++i) {
    if (i > 0) made = library.comp_add(layout) == 0;
    made = made && set_component(library, layout, wanted.components[i], wanted.components.size() > 1);
  }
  if (made && wanted.first_server >= 0 && wanted.components[0].servers.empty()) made = library.ost_index_set(layout, 0, static_cast<std::uint64_t>(wanted.first_server)) == 0;
  std::string name = path;
  const int fd = made ? library.file_create(name.data(), flags, permissions, layout) : -1;
  const int failed = errno;
  library.free(layout);
  errno = failed;
  return fd;
}

}  // namespace mercutio::posix
