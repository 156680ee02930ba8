// MPI_Register_datarep and its _c twin: adapts the program's callbacks to the function types of file/.
#include <dlfcn.h>

#include <string_view>

#include "api/call.h"
#include "api/export.h"
#include "mpi/decode.h"

namespace mercutio {
namespace {

Status callback_status(int code) {
  if (code == MPI_SUCCESS) return ok_status();
  return Error{ErrorClass::kConversion, "the conversion function of the data representation returned an error"};
}

using Conversion = std::function<Status(void*, const TypeSpecRef&, i64, void*, i64)>;

// The datatype argument of a conversion callback: the handle of the program's type, or of the predefined type.
Result<MPI_Datatype> handle_of(const TypeSpecRef& type) {
  MPI_Datatype handle = type_of(type.get());
  if (handle == MPI_DATATYPE_NULL) handle = predefined_of(*type);
  if (handle == MPI_DATATYPE_NULL)
    return Error{ErrorClass::kConversion, "the datatype of the access was freed before its data were converted"};
  return handle;
}

// Count: int or MPI_Count, as the callback takes.
template <class Count, class Function>
Conversion bind_conversion(Function* function, void* extra_state) {
  if (!function) return nullptr;
  return
      [function, extra_state](void* user, const TypeSpecRef& type, i64 count, void* filebuf, i64 position) -> Status {
        MERCUTIO_LET(MPI_Datatype handle, handle_of(type));
        return attempt([&] {
          return callback_status(function(user, handle, static_cast<Count>(count), filebuf, position, extra_state));
        });
      };
}

int add_datarep(const char* operation, RegisteredDatarep datarep) {
  if (datarep.name.size() >= MPI_MAX_DATAREP_STRING)
    return fail(nullptr, operation,
                Error{ErrorClass::kArg, "the name of the data representation is longer than MPI_MAX_DATAREP_STRING"});
  return finish(nullptr, operation, process().datareps.add(std::move(datarep)));
}

template <class Count, class Function>
int register_datarep(const char* operation, const char* name, Function* read, Function* write,
                     MPI_Datarep_extent_function* extent, void* extra_state) {
  RegisteredDatarep datarep;
  datarep.name = name ? name : "";
  datarep.read = bind_conversion<Count>(read, extra_state);
  datarep.write = bind_conversion<Count>(write, extra_state);
  if (extent)
    datarep.file_extent = [extent, extra_state](const TypeSpecRef& named) -> Result<i64> {
      MPI_Aint bytes = 0;
      MERCUTIO_TRY(attempt([&] { return callback_status(extent(predefined_of(*named), &bytes, extra_state)); }));
      return static_cast<i64>(bytes);
    };
  return add_datarep(operation, std::move(datarep));
}

// The same in Fortran. All three bindings pass the same words: buffers as addresses, all other arguments by reference. MPICH passes
// these procedures unchanged to its C function, which would call them with C arguments.
using FortranProcedure = void (*)();
using FortranConversion = void (*)(void* user, Fint* type, Fint* count, void* filebuf, MPI_Offset* position,
                                   MPI_Aint* extra_state, Fint* error);
using FortranExtent = void (*)(Fint* type, MPI_Aint* extent, MPI_Aint* extra_state, Fint* error);

struct FortranDatarep {
  FortranProcedure read, write, extent;
  MPI_Aint extra_state;
};

Fint type_to_fortran(MPI_Datatype type) {
#ifdef MERCUTIO_ABI_STANDARD
  return PMPI_Type_toint(type);
#else
  return PMPI_Type_c2f(type);
#endif
}

// MPI_CONVERSION_FN_NULL is a procedure of the MPI's Fortran libraries: one of mpif.h and `use mpi`, and one of mpi_f08.
bool is_null_conversion(FortranProcedure procedure) {
  for (const char* name :
       {"mpi_conversion_fn_null_", "mpi_conversion_fn_null", "mpi_conversion_fn_null__", "MPI_CONVERSION_FN_NULL",
        "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null", "mpi_f08_callbacks_mp_mpi_conversion_fn_null_"})
    if (void* found = dlsym(RTLD_DEFAULT, name); found && found == reinterpret_cast<void*>(procedure)) return true;
  return procedure == nullptr;
}

Conversion bind_fortran(FortranProcedure procedure, MPI_Aint extra_state) {
  if (is_null_conversion(procedure)) return nullptr;
  auto* function = reinterpret_cast<FortranConversion>(procedure);
  return
      [function, extra_state](void* user, const TypeSpecRef& type, i64 count, void* filebuf, i64 position) -> Status {
        MERCUTIO_LET(MPI_Datatype handle, handle_of(type));
        Fint fortran_type = type_to_fortran(handle), fortran_count = static_cast<Fint>(count), error = MPI_SUCCESS;
        MPI_Offset offset = position;
        MPI_Aint state = extra_state;
        function(user, &fortran_type, &fortran_count, filebuf, &offset, &state, &error);
        return callback_status(error);
      };
}

int register_from_fortran(std::string_view name, const FortranDatarep& given) {
  RegisteredDatarep datarep;
  datarep.name = name.substr(0, name.find_last_not_of(' ') + 1);
  datarep.read = bind_fortran(given.read, given.extra_state);
  datarep.write = bind_fortran(given.write, given.extra_state);
  datarep.file_extent = [function = reinterpret_cast<FortranExtent>(given.extent),
                         extra_state = given.extra_state](const TypeSpecRef& named) -> Result<i64> {
    MPI_Aint bytes = 0, state = extra_state;
    Fint type = type_to_fortran(predefined_of(*named)), error = MPI_SUCCESS;
    function(&type, &bytes, &state, &error);
    MERCUTIO_TRY(callback_status(error));
    return static_cast<i64>(bytes);
  };
  return add_datarep("MPI_Register_datarep", std::move(datarep));
}

}  // namespace
}  // namespace mercutio

using namespace mercutio;

MERCUTIO_MPI_FUNCTION(int, Register_datarep,
                      (const char* name, MPI_Datarep_conversion_function* read, MPI_Datarep_conversion_function* write,
                       MPI_Datarep_extent_function* extent, void* extra_state)) {
  return guarded(nullptr, "MPI_Register_datarep", [&] {
    return register_datarep<int>("MPI_Register_datarep", name, read, write, extent, extra_state);
  });
}

MERCUTIO_MPI_FUNCTION(int, Register_datarep_c,
                      (const char* name, MPI_Datarep_conversion_function_c* read,
                       MPI_Datarep_conversion_function_c* write, MPI_Datarep_extent_function* extent,
                       void* extra_state)) {
  return guarded(nullptr, "MPI_Register_datarep_c", [&] {
    return register_datarep<MPI_Count>("MPI_Register_datarep_c", name, read, write, extent, extra_state);
  });
}

// The names by which Fortran bindings call MPI_REGISTER_DATAREP. The length of the name is the last argument. mpi_f08 may omit
// `error`.
#define FORTRAN_REGISTER(symbol)                                                                          \
  extern "C" MERCUTIO_EXPORT void symbol(const char* name, FortranProcedure read, FortranProcedure write, \
                                         FortranProcedure extent, MPI_Aint* extra_state, Fint* error,     \
                                         std::size_t length);                                             \
  void symbol(const char* name, FortranProcedure read, FortranProcedure write, FortranProcedure extent,   \
              MPI_Aint* extra_state, Fint* error, std::size_t length) {                                   \
    const int code = guarded(nullptr, "MPI_Register_datarep", [&] {                                       \
      return register_from_fortran({name, length}, {read, write, extent, *extra_state});                  \
    });                                                                                                   \
    if (error) *error = code;                                                                             \
  }

FORTRAN_REGISTER(mpi_register_datarep)
FORTRAN_REGISTER(mpi_register_datarep_)
FORTRAN_REGISTER(mpi_register_datarep__)
FORTRAN_REGISTER(MPI_REGISTER_DATAREP)
FORTRAN_REGISTER(pmpi_register_datarep)
FORTRAN_REGISTER(pmpi_register_datarep_)
FORTRAN_REGISTER(pmpi_register_datarep__)
FORTRAN_REGISTER(PMPI_REGISTER_DATAREP)
FORTRAN_REGISTER(mpi_register_datarep_f08_)
FORTRAN_REGISTER(pmpi_register_datarep_f08_)
FORTRAN_REGISTER(pmpir_register_datarep_f08_)
FORTRAN_REGISTER(ompi_register_datarep_f)
