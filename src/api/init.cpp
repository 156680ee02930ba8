// MPI_Init and MPI_Init_thread request MPI_THREAD_MULTIPLE, so that nonblocking calls progress while the program computes. With
// MERCUTIO_THREADS=0 the requested level is not changed.
#include <cstdlib>
#include <cstring>

#include "api/call.h"
#include "api/export.h"
#include "mpi/finalize.h"
#include "mpi/rank_group.h"
#include "mpi/real.h"

namespace {

bool may_raise_level() {
  const char* wish = std::getenv("MERCUTIO_THREADS");
  return !wish || std::strcmp(wish, "0") != 0;
}

void after_init() {
  mercutio::watch_finalize();
  mercutio::mark_world();
  mercutio::begin_trace(/*in_init=*/true);
}

int real_init_thread(int* argc, char*** argv, int required, int* provided) {
  static auto* const real = mercutio::real_function<int(int*, char***, int, int*)>("PMPI_Init_thread");
  const int code = real(argc, argv, required, provided);
  if (code == MPI_SUCCESS) after_init();
  return code;
}

int real_init(int* argc, char*** argv) {
  static auto* const real = mercutio::real_function<int(int*, char***)>("PMPI_Init");
  int provided = MPI_THREAD_SINGLE;
  if (may_raise_level()) return real_init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  const int code = real(argc, argv);
  if (code == MPI_SUCCESS) after_init();
  return code;
}

}  // namespace

using namespace mercutio;

MERCUTIO_MPI_FUNCTION(int, Init_thread, (int* argc, char*** argv, int required, int* provided)) {
  return guarded(nullptr, "MPI_Init_thread", [&] {
    return real_init_thread(argc, argv, may_raise_level() ? MPI_THREAD_MULTIPLE : required, provided);
  });
}

MERCUTIO_MPI_FUNCTION(int, Init, (int* argc, char*** argv)) {
  return guarded(nullptr, "MPI_Init", [&] { return real_init(argc, argv); });
}
