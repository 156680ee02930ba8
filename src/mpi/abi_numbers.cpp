#include "mpi/abi_numbers.h"

#include <dlfcn.h>

#include <cstdint>

#include "mpi/real.h"

namespace mercutio {

#ifdef MERCUTIO_ABI_STANDARD

namespace {

MPI_Errhandler errhandler(std::uintptr_t number) {
  return reinterpret_cast<MPI_Errhandler>(number);
}

// Tests the default error handler of files. No program can have changed it inside the MPI, because such calls are ours.
bool has_draft_numbers(const AbiNumbers& draft) {
  auto* const get = real_function<int(MPI_File, MPI_Errhandler*)>("PMPI_File_get_errhandler");
  MPI_Errhandler returns = MPI_ERRHANDLER_NULL;
  return get && get(MPI_FILE_NULL, &returns) == MPI_SUCCESS && returns == draft.errors_return;
}

}  // namespace

const AbiNumbers& abi_numbers() {
  static const AbiNumbers standard{MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END, MPI_ERRORS_RETURN, MPI_ERRORS_ABORT, MPI_ERRHANDLER_NULL};
  static const AbiNumbers draft{401, 402, 403, errhandler(0x142), errhandler(0x143), MPI_ERRHANDLER_NULL};
  int initialised = 0;
  if (PMPI_Initialized(&initialised) != MPI_SUCCESS || !initialised) return standard;
  static const AbiNumbers& numbers = has_draft_numbers(draft) ? draft : standard;
  return numbers;
}

#else

namespace {

#ifdef MERCUTIO_ABI_OPENMPI
// One that not every release has. A program that refers to the symbol has a copy of it, whose address is the handle; libraries loaded
// later do not.
MPI_Errhandler handler_called(const char* symbol) {
  void* const copied = ::dlsym(RTLD_DEFAULT, symbol);
  void* const there = copied ? copied : real_symbol(symbol);
  return there ? static_cast<MPI_Errhandler>(there) : MPI_ERRHANDLER_NULL;
}
MPI_Errhandler errors_abort() { return handler_called("ompi_mpi_errors_abort"); }
MPI_Errhandler errors_throw() { return handler_called("ompi_mpi_errors_throw_exceptions"); }
#else
MPI_Errhandler errors_abort() { return MPI_ERRORS_ABORT; }
MPI_Errhandler errors_throw() { return 0x54000002; }
#endif

}  // namespace

const AbiNumbers& abi_numbers() {
  static const AbiNumbers numbers{MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END, MPI_ERRORS_RETURN, errors_abort(), errors_throw()};
  return numbers;
}

#endif

}  // namespace mercutio
