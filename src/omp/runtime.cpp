// The OpenMP runtime that the program has loaded: GCC's libgomp, LLVM's libomp or Intel's libiomp5. Their functions are weak
// references, so the library depends on none of them and never loads a second one. Threads meet as in compiled code for `single
// copyprivate`: GOMP_single_copy_start returns null to one thread, and to the others the pointer that this thread passes to
// GOMP_single_copy_end. libgomp defines these functions; LLVM and Intel have them for code compiled by GCC.
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

class RuntimeTeam final : public Team {
 public:
  TeamId id() const override {
    TeamId id;
    if (omp_get_num_threads) id.size = omp_get_num_threads();
    if (!omp_get_level || !omp_get_ancestor_thread_num) return id;
    id.level = omp_get_level();
    constexpr std::uint64_t kPrime = 1099511628211U;
    std::uint64_t place = 0;
    for (int level = 1; level < id.level; ++level)
      place = place * kPrime + static_cast<std::uint64_t>(omp_get_ancestor_thread_num(level)) + 1;
    id.place = static_cast<i64>(place);
    return id;
  }

  i64 number() const override { return omp_get_thread_num ? omp_get_thread_num() : 0; }

  bool can_meet() const override {
    return !omp_get_num_threads || omp_get_num_threads() == 1 || (GOMP_single_copy_start && GOMP_single_copy_end);
  }

  void* meet(const std::function<void*()>& make) override {
    if (!omp_get_num_threads || omp_get_num_threads() == 1) return make();
    if (void* const given = GOMP_single_copy_start()) return given;
    void* const mine = make();
    GOMP_single_copy_end(mine);
    return mine;
  }
};

}  // namespace

Team& runtime_team() {
  static RuntimeTeam* const team = new RuntimeTeam;
  return *team;
}

}  // namespace mercutio::omp
