#include "api/call.h"

#include <cstdint>
#include <cstring>

namespace mercutio {

// If there is no memory for the text, the class is returned, which is a valid code.
static int code_of(OpenHandle* handle, const char* operation, const Error& error) {
  return attempt_or(mpi_class(error.cls), [&] {
    const std::string plain = std::string(operation) + ": " + error.what;
    const std::string text = handle ? handle->file->describe(operation, error) : plain;
    return process().codes.code_for(error.cls, text);
  });
}

int fail(OpenHandle* handle, const char* operation, const Error& error) {
  return process().errhandlers.raise(handle, code_of(handle, operation, error));
}

int fail_after_throw(OpenHandle* handle, const char* operation) {
  if (Errhandlers::has_thrown()) throw;
  const Error error = current_error();
  try {
    return fail(handle, operation, error);
  } catch (...) {   // thrown by a handler, or no memory for the state of the process
    if (Errhandlers::has_thrown()) throw;
    return mpi_class(error.cls);
  }
}

int fail_bad_handle(const char* operation) {
  return fail(nullptr, operation, Error{ErrorClass::kFile, "the file handle is MPI_FILE_NULL or not an open file"});
}

static void ask_to_set(MPI_Status& status, i64 bytes) {
  PMPI_Status_set_elements_x(&status, MPI_BYTE, bytes);
  PMPI_Status_set_cancelled(&status, 0);
}

#ifndef MERCUTIO_ABI_STANDARD
// As the MPIs of this ABI do. Their two calls take a tenth of a small access under Open MPI, and half of it under MPICH and its descendants, which take a lock.
static void store_count(MPI_Status& status, i64 bytes) {
#ifdef MERCUTIO_ABI_MPICH
  status.count_low = static_cast<int>(static_cast<std::uint32_t>(bytes));
  status.count_high_and_cancelled = static_cast<int>(static_cast<std::uint32_t>(bytes >> 32) << 1);
#else
  status.bytes = static_cast<std::size_t>(bytes);
  status.cancelled = 0;
#endif
}

// Whether this MPI keeps a count so.
[[gnu::noinline]] static bool keeps_count_so() {
  for (const i64 bytes : {i64{0}, i64{3}, i64{0xfedcba98}, i64{0x123456789abcde}}) {
    MPI_Status asked, stored;
    std::memset(&asked, 0xff, sizeof asked);
    std::memset(&stored, 0xff, sizeof stored);
    ask_to_set(asked, bytes);
    store_count(stored, bytes);
    if (std::memcmp(&asked, &stored, sizeof asked) != 0) return false;
  }
  return true;
}
#endif

void store_in(MPI_Status& status, i64 bytes) {
#ifndef MERCUTIO_ABI_STANDARD
  static const bool can_store = keeps_count_so();
  if (can_store) return store_count(status, bytes);
#endif
  ask_to_set(status, bytes);
}

}  // namespace mercutio
