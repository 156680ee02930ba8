// The OpenMP runtime that the program has loaded: GCC's libgomp, LLVM's libomp or Intel's libiomp5. Their functions are weak
// references, so the library depends on none of them and never loads a second one. A runtime that is loaded after the library, as by a
// Python module, is looked for by its name. Threads meet as in compiled code for `single copyprivate`: GOMP_single_copy_start returns
// null to one thread, and to the others the pointer that this thread passes to GOMP_single_copy_end. libgomp defines these functions;
// LLVM and Intel have them for code compiled by GCC.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "omp/team.h"

extern "C" {
[[gnu::weak]] int omp_get_num_threads(void);
[[gnu::weak]] int omp_get_thread_num(void);
[[gnu::weak]] int omp_get_level(void);
[[gnu::weak]] int omp_get_ancestor_thread_num(int level);
[[gnu::weak]] void* GOMP_single_copy_start(void);
[[gnu::weak]] void GOMP_single_copy_end(void* data);
}

namespace mercutio::omp {
namespace {

struct Runtime {
  int (*threads)() = nullptr;   // null: there is no runtime
  int (*number)() = nullptr;
  int (*level)() = nullptr;
  int (*ancestor)(int level) = nullptr;
  void* (*copy_start)() = nullptr;   // null, or both: threads can meet
  void (*copy_end)(void* data) = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

std::vector<std::string> loaded_runtimes() {
  std::vector<std::string> paths;
  dl_iterate_phdr([](dl_phdr_info* info, std::size_t, void* found) {
    const std::string_view path = info->dlpi_name;
    const std::string_view file = path.substr(path.rfind('/') + 1);
    for (const std::string_view name : {"libgomp", "libomp", "libiomp5"})   // with a version, or what a wheel adds: libgomp-a34b3233.so.1
      if (file.starts_with(name) && file.find(".so") != file.npos && !file.starts_with("libompt")) static_cast<std::vector<std::string>*>(found)->emplace_back(path);
    return 0;
  }, &paths);
  return paths;
}

// Of several, that in which the calling thread is one of a team.
Runtime find_runtime() {
  Runtime found;
  for (const std::string& path : loaded_runtimes()) {
    void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);   // stays: its functions are called from now on
    if (!library) continue;
    Runtime one;
    find(library, "omp_get_num_threads", one.threads);
    find(library, "omp_get_thread_num", one.number);
    find(library, "omp_get_level", one.level);
    find(library, "omp_get_ancestor_thread_num", one.ancestor);
    find(library, "GOMP_single_copy_start", one.copy_start);
    find(library, "GOMP_single_copy_end", one.copy_end);
    if (one.threads && (!found.threads || one.threads() > 1)) found = one;
  }
  return found;
}

// A runtime without a team may not be the only one that the program will have.
Runtime runtime() {
  static const Runtime linked{omp_get_num_threads, omp_get_thread_num, omp_get_level, omp_get_ancestor_thread_num, GOMP_single_copy_start, GOMP_single_copy_end};
  static std::atomic<const Runtime*> later{nullptr};
  if (linked.threads) return linked;
  if (const Runtime* const known = later.load(std::memory_order_acquire)) return *known;
  const Runtime found = find_runtime();
  if (const Runtime* none = nullptr; found.threads && found.threads() > 1) {
    const auto* const kept = new Runtime(found);
    if (!later.compare_exchange_strong(none, kept, std::memory_order_acq_rel)) delete kept;
  }
  return found;
}

class RuntimeTeam final : public Team {
 public:
  TeamId id() const override {
    const Runtime omp = runtime();
    TeamId id;
    if (omp.threads) id.size = omp.threads();
    if (!omp.level || !omp.ancestor) return id;
    id.level = omp.level();
    constexpr std::uint64_t kPrime = 1099511628211U;
    std::uint64_t place = 0;
    for (int level = 1; level < id.level; ++level)
      place = place * kPrime + static_cast<std::uint64_t>(omp.ancestor(level)) + 1;
    id.place = static_cast<i64>(place);
    return id;
  }

  i64 number() const override {
    const Runtime omp = runtime();
    return omp.number ? omp.number() : 0;
  }

  bool can_meet() const override {
    const Runtime omp = runtime();
    return !omp.threads || omp.threads() == 1 || (omp.copy_start && omp.copy_end);
  }

  void* meet(const std::function<void*()>& make) override {
    const Runtime omp = runtime();
    if (!omp.threads || omp.threads() == 1) return make();
    if (void* const given = omp.copy_start()) return given;
    void* const mine = make();
    omp.copy_end(mine);
    return mine;
  }
};

}  // namespace

Team& runtime_team() {
  static RuntimeTeam* const team = new RuntimeTeam;
  return *team;
}

}  // namespace mercutio::omp
