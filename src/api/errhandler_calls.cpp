// MPI_File_*_errhandler, its Fortran creation procedure, and the two MPI calls that must know our codes and handlers.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "api/call.h"
#include "api/export.h"
#include "mpi/real.h"

namespace mercutio {
namespace {

using AnyFunction = void (*)();

// Creates Fortran handlers, for all of the compilers' names of MPI_FILE_CREATE_ERRHANDLER.
void create_from_fortran(AnyFunction* function, Fint* handle, Fint* error) {
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  // A Fortran procedure argument is passed as the procedure's address.
  const int code = guarded(nullptr, "MPI_File_create_errhandler", [&] {
    return process().errhandlers.create(reinterpret_cast<AnyFunction>(function), HandlerLanguage::kFortran, &made);
  });
  if (error) *error = code;  // mpi_f08 may omit it
#ifdef MERCUTIO_ABI_STANDARD
  *handle = PMPI_Errhandler_toint(made);
#else
  *handle = PMPI_Errhandler_c2f(made);
#endif
}

int set_errhandler(MPI_File file, MPI_Errhandler handler) {
  OpenHandle* handle = process().handles.find(file);
  if (!handle && file != MPI_FILE_NULL) return fail_bad_handle("MPI_File_set_errhandler");
  process().errhandlers.attach(handle, handler);
  return MPI_SUCCESS;
}

int get_errhandler(MPI_File file, MPI_Errhandler* handler) {
  OpenHandle* handle = process().handles.find(file);
  if (!handle && file != MPI_FILE_NULL) return fail_bad_handle("MPI_File_get_errhandler");
  *handler = process().errhandlers.give(handle);
  return MPI_SUCCESS;
}

int call_errhandler(MPI_File file, int code) {
  OpenHandle* handle = process().handles.find(file);
  if (!handle && file != MPI_FILE_NULL) return fail_bad_handle("MPI_File_call_errhandler");
  process().errhandlers.raise(handle, code);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace mercutio

using namespace mercutio;

MERCUTIO_MPI_FUNCTION(int, File_create_errhandler, (MPI_File_errhandler_function * function, MPI_Errhandler* handler)) {
  return guarded(nullptr, "MPI_File_create_errhandler", [&] {
    return process().errhandlers.create(reinterpret_cast<AnyFunction>(function), HandlerLanguage::kC, handler);
  });
}

MERCUTIO_MPI_FUNCTION(int, File_set_errhandler, (MPI_File file, MPI_Errhandler handler)) {
  return guarded(nullptr, "MPI_File_set_errhandler", [&] {
    if (process().errhandlers.fits_files(handler)) return set_errhandler(file, handler);
    return fail(process().handles.find(file), "MPI_File_set_errhandler",
                Error{ErrorClass::kArg,
                      "the error handler is neither predefined nor of files: make it with MPI_File_create_errhandler"});
  });
}

MERCUTIO_MPI_FUNCTION(int, File_get_errhandler, (MPI_File file, MPI_Errhandler* handler)) {
  return guarded(nullptr, "MPI_File_get_errhandler", [&] { return get_errhandler(file, handler); });
}
MERCUTIO_MPI_FUNCTION(int, File_call_errhandler, (MPI_File file, int code)) {
  return guarded(nullptr, "MPI_File_call_errhandler", [&] { return call_errhandler(file, code); });
}

// A file keeps a handler that the program has freed: our handlers are reference-counted. Others are passed to the MPI.
MERCUTIO_MPI_FUNCTION(int, Errhandler_free, (MPI_Errhandler * handler)) {
  static auto* const real = real_function<int(MPI_Errhandler*)>("PMPI_Errhandler_free");
  return guarded(nullptr, "MPI_Errhandler_free", [&]() -> int {
    if (!process().errhandlers.free(*handler)) return real(handler);
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
  });
}

// MPICH 4.0 returns wrong texts for codes made by MPI_Add_error_code. It looks up a negative code, which is none, among those, and where
// there are any, as ours, reads beyond them.
static std::string own_text(int code) {
#ifndef MERCUTIO_ABI_OPENMPI
  if (code < 0) return "this is no error code of MPI";
#endif
  return process().codes.text_of(code);
}

MERCUTIO_MPI_FUNCTION(int, Error_string, (int code, char* text, int* length)) {
  static auto* const real = real_function<int(int, char*, int*)>("PMPI_Error_string");
  return guarded(nullptr, "MPI_Error_string", [&]() -> int {
    const std::string ours = own_text(code);
    if (ours.empty()) return real(code, text, length);
    *length = static_cast<int>(std::min<std::size_t>(ours.size(), MPI_MAX_ERROR_STRING - 1));
    std::memcpy(text, ours.data(), static_cast<std::size_t>(*length));
    text[*length] = '\0';
    return MPI_SUCCESS;
  });
}

// The names by which Fortran bindings call MPI_FILE_CREATE_ERRHANDLER: those of mpif.h and `use mpi` in every name mangling, of
// mpi_f08 in MPICH, and Open MPI's internal name.
#define FORTRAN_CREATE(name)                                                              \
  extern "C" MERCUTIO_EXPORT void name(AnyFunction* function, Fint* handle, Fint* error); \
  void name(AnyFunction* function, Fint* handle, Fint* error) {                           \
    create_from_fortran(function, handle, error);                                         \
  }

FORTRAN_CREATE(mpi_file_create_errhandler)
FORTRAN_CREATE(mpi_file_create_errhandler_)
FORTRAN_CREATE(mpi_file_create_errhandler__)
FORTRAN_CREATE(MPI_FILE_CREATE_ERRHANDLER)
FORTRAN_CREATE(pmpi_file_create_errhandler)
FORTRAN_CREATE(pmpi_file_create_errhandler_)
FORTRAN_CREATE(pmpi_file_create_errhandler__)
FORTRAN_CREATE(PMPI_FILE_CREATE_ERRHANDLER)
FORTRAN_CREATE(mpi_file_create_errhandler_f08_)
FORTRAN_CREATE(pmpi_file_create_errhandler_f08_)
FORTRAN_CREATE(pmpir_file_create_errhandler_f08_)
FORTRAN_CREATE(ompi_file_create_errhandler_f)

// The bindings of MPI-2 for C++. Those of MPICH make a C handler, then say that it is theirs.
extern "C" MERCUTIO_EXPORT void MPII_Errhandler_set_cxx(MPI_Errhandler handler, AnyFunction glue);
void MPII_Errhandler_set_cxx(MPI_Errhandler handler, AnyFunction glue) {
  static auto* const real = real_function<void(MPI_Errhandler, AnyFunction)>("MPII_Errhandler_set_cxx");
  const bool ours = guarded_or(false, [&] { return process().errhandlers.set_cxx(handler, glue); });
  if (!ours && real) real(handler, glue);
}

// Open MPI's. Null: there is no memory.
extern "C" MERCUTIO_EXPORT MPI_Errhandler ompi_cxx_errhandler_create_file(AnyFunction function);
MPI_Errhandler ompi_cxx_errhandler_create_file(AnyFunction function) {
  return guarded_or(MPI_Errhandler{MPI_ERRHANDLER_NULL}, [&] {
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    auto* const glue = reinterpret_cast<AnyFunction>(dlsym(RTLD_DEFAULT, "ompi_mpi_cxx_file_errhandler_invoke"));
    if (glue && process().errhandlers.create(function, HandlerLanguage::kC, &made) == MPI_SUCCESS) process().errhandlers.set_cxx(made, glue);
    return made;
  });
}
