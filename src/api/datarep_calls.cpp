// MPI_Register_datarep and its _c twin: the program's callbacks behind the plain functions file/ knows.
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

// Count is int or MPI_Count: what the callback takes.
template <class Count, class Function>
Conversion bind_conversion(Function* function, void* extra_state) {
  if (!function) return nullptr;
  return [function, extra_state](void* user, const TypeSpecRef& type, i64 count, void* filebuf, i64 position) -> Status {
    MPI_Datatype handle = type->combiner == Combiner::kNamed ? predefined_of(type->basic) : type_of(type.get());
    if (MPI_Datatype live = type_of(type.get()); live != MPI_DATATYPE_NULL) handle = live;
    if (handle == MPI_DATATYPE_NULL)
      return Error{ErrorClass::kConversion, "the datatype of the access was freed before its data were converted"};
    return callback_status(function(user, handle, static_cast<Count>(count), filebuf, position, extra_state));
  };
}

template <class Count, class Function>
int register_datarep(const char* operation, const char* name, Function* read, Function* write, MPI_Datarep_extent_function* extent, void* extra_state) {
  RegisteredDatarep datarep;
  datarep.name = name ? name : "";
  if (datarep.name.size() >= MPI_MAX_DATAREP_STRING)
    return fail(nullptr, operation, Error{ErrorClass::kArg, "the name of the data representation is longer than MPI_MAX_DATAREP_STRING"});
  datarep.read = bind_conversion<Count>(read, extra_state);
  datarep.write = bind_conversion<Count>(write, extra_state);
  if (extent)
    datarep.file_extent = [extent, extra_state](const BasicType& basic) -> Result<i64> {
      MPI_Aint bytes = 0;
      MERCUTIO_TRY(callback_status(extent(predefined_of(basic), &bytes, extra_state)));
      return static_cast<i64>(bytes);
    };
  return finish(nullptr, operation, process().datareps.add(std::move(datarep)));
}

}  // namespace
}  // namespace mercutio

using namespace mercutio;

MERCUTIO_MPI_FUNCTION(int, Register_datarep, (const char* name, MPI_Datarep_conversion_function* read, MPI_Datarep_conversion_function* write,
                                              MPI_Datarep_extent_function* extent, void* extra_state)) {
  return register_datarep<int>("MPI_Register_datarep", name, read, write, extent, extra_state);
}

MERCUTIO_MPI_FUNCTION(int, Register_datarep_c, (const char* name, MPI_Datarep_conversion_function_c* read, MPI_Datarep_conversion_function_c* write,
                                                MPI_Datarep_extent_function* extent, void* extra_state)) {
  return register_datarep<MPI_Count>("MPI_Register_datarep_c", name, read, write, extent, extra_state);
}
