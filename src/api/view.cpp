// Views, file pointers, and extents in data representations.
#include <cstdio>

#include "api/call.h"
#include "api/export.h"
#include "mpi/abi_numbers.h"
#include "mpi/decode.h"
#include "mpi/encode.h"
#include "mpi/info.h"

namespace mercutio {
namespace {

Status set_view(OpenHandle& handle, i64 displacement, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep, MPI_Info info) {
  ViewCall call;
  call.start_ns = handle.file->trace_time();
  call.argument_error = hold_reserve();
  Result<TypeSpecRef> e = attempt([&] { return decode_committed(etype, handle.comm); });
  Result<TypeSpecRef> f = attempt([&] { return decode_committed(filetype, handle.comm); });
  Result<InfoItems> items = attempt([&]() -> Result<InfoItems> { return items_of(info); });
  if (!items) call.argument_error = items.error();
  if (!e) call.argument_error = e.error();
  if (!f) call.argument_error = f.error();
  bool types_ok = e.ok() && f.ok();
  TypeSpecRef bytes = byte_type();
  call.displacement = displacement == MPI_DISPLACEMENT_CURRENT ? File::kDisplacementCurrent : displacement;
  call.etype = types_ok ? *e : bytes;
  call.filetype = types_ok ? *f : bytes;
  call.datarep = plain_datarep_name(datarep ? datarep : "");
  if (items) call.info = std::move(*items);
  MERCUTIO_TRY(handle.file->set_view(std::move(call)));
  ViewRef view = handle.file->view();
  const bool registered = !is_predefined_datarep(view->datarep);
  handle.tell({std::move(view), is_named(etype) ? etype : MPI_DATATYPE_NULL, is_named(filetype) ? filetype : MPI_DATATYPE_NULL, registered});
  return ok_status();
}

Result<MPI_Datatype> handle_of(MPI_Datatype named, const TypeSpec& spec) {
  return named != MPI_DATATYPE_NULL ? Result<MPI_Datatype>(named) : encode(spec);
}

Result<Whence> whence_of(int whence) {
  const AbiNumbers& numbers = abi_numbers();
  if (whence == numbers.seek_set) return Whence::kSet;
  if (whence == numbers.seek_current) return Whence::kCurrent;
  if (whence == numbers.seek_end) return Whence::kEnd;
  return Error{ErrorClass::kArg, "whence is none of MPI_SEEK_SET, MPI_SEEK_CUR, MPI_SEEK_END"};
}

template <class Extent>
int type_extent(MPI_File file, const char* name, MPI_Datatype type, Extent* extent) {
  return run_on_file(file, name, [&](OpenHandle& handle) -> Status {
    MERCUTIO_LET(DecodedType decoded, decode(type, handle.comm));
    MERCUTIO_LET(i64 bytes, handle.file->type_extent(*decoded.spec));
    *extent = static_cast<Extent>(bytes);
    return ok_status();
  });
}

}  // namespace
}  // namespace mercutio

using namespace mercutio;

MERCUTIO_MPI_FUNCTION(int, File_set_view, (MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                                           const char* datarep, MPI_Info info)) {
  return run_on_file(file, "MPI_File_set_view",
                     [&](OpenHandle& handle) { return set_view(handle, displacement, etype, filetype, datarep, info); });
}

MERCUTIO_MPI_FUNCTION(int, File_get_view, (MPI_File file, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep)) {
  return run_on_file(file, "MPI_File_get_view", [&](OpenHandle& handle) -> Status {
    const ToldView told = handle.told();
    MERCUTIO_LET(MPI_Datatype made, handle_of(told.etype, *told.view->etype_spec));
    Result<MPI_Datatype> other = handle_of(told.filetype, *told.view->filetype_spec);
    if (!other && !is_named(made)) PMPI_Type_free(&made);
    MERCUTIO_LET(*filetype, std::move(other));
    *etype = made;
    *displacement = told.view->displacement;
    // Writes no byte after the terminating null, because programs pass arrays shorter than MPI_MAX_DATAREP_STRING.
    std::snprintf(datarep, MPI_MAX_DATAREP_STRING, "%s", told.view->datarep.c_str());
    return ok_status();
  });
}

MERCUTIO_MPI_FUNCTION(int, File_seek, (MPI_File file, MPI_Offset offset, int whence)) {
  return run_on_file(file, "MPI_File_seek", [&](OpenHandle& handle) -> Status {
    MERCUTIO_LET(const Whence from, whence_of(whence));
    return handle.file->seek(offset, from);
  });
}

MERCUTIO_MPI_FUNCTION(int, File_seek_shared, (MPI_File file, MPI_Offset offset, int whence)) {
  return run_on_file(file, "MPI_File_seek_shared", [&](OpenHandle& handle) -> Status {
    const Result<Whence> from = whence_of(whence);   // a rank with a wrong one takes part all the same
    return from ? handle.file->seek_shared(offset, *from) : handle.file->seek_shared(0, Whence::kSet, from.error());
  });
}

MERCUTIO_MPI_FUNCTION(int, File_get_position, (MPI_File file, MPI_Offset* offset)) {
  return run_on_file(file, "MPI_File_get_position", [&](OpenHandle& handle) -> Status {
    if (handle.amode & MPI_MODE_SEQUENTIAL)
      return Error{ErrorClass::kUnsupportedOperation, "a file opened with MPI_MODE_SEQUENTIAL has no individual pointer"};
    *offset = handle.file->position();
    return ok_status();
  });
}

MERCUTIO_MPI_FUNCTION(int, File_get_position_shared, (MPI_File file, MPI_Offset* offset)) {
  return run_on_file(file, "MPI_File_get_position_shared", [&](OpenHandle& handle) -> Status {
    MERCUTIO_LET(*offset, handle.file->position_shared());
    return ok_status();
  });
}

MERCUTIO_MPI_FUNCTION(int, File_get_byte_offset, (MPI_File file, MPI_Offset offset, MPI_Offset* displacement)) {
  return run_on_file(file, "MPI_File_get_byte_offset", [&](OpenHandle& handle) -> Status {
    MERCUTIO_LET(*displacement, handle.file->byte_offset(offset));
    return ok_status();
  });
}

MERCUTIO_MPI_FUNCTION(int, File_get_type_extent, (MPI_File file, MPI_Datatype type, MPI_Aint* extent)) {
  return type_extent(file, "MPI_File_get_type_extent", type, extent);
}

MERCUTIO_MPI_FUNCTION(int, File_get_type_extent_c, (MPI_File file, MPI_Datatype type, MPI_Count* extent)) {
  return type_extent(file, "MPI_File_get_type_extent_c", type, extent);
}
