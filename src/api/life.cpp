// Opening, closing, sizes, consistency, info, and queries about a handle.
#include <algorithm>
#include <string>
#include <vector>

#include "api/call.h"
#include "api/export.h"
#include "mpi/calls.h"
#include "mpi/decode.h"
#include "mpi/info.h"
#include "mpi/mpi_comm.h"
#include "mpi/real.h"

namespace mercutio {
namespace {

constexpr int kAllModes = MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_EXCL |
                          MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN | MPI_MODE_APPEND | MPI_MODE_SEQUENTIAL;

Amode amode_of(int bits) {
  Amode mode;
  mode.read_only = bits & MPI_MODE_RDONLY;
  mode.write_only = bits & MPI_MODE_WRONLY;
  mode.read_write = bits & MPI_MODE_RDWR;
  mode.create = bits & MPI_MODE_CREATE;
  mode.exclusive = bits & MPI_MODE_EXCL;
  mode.delete_on_close = bits & MPI_MODE_DELETE_ON_CLOSE;
  mode.unique_open = bits & MPI_MODE_UNIQUE_OPEN;
  mode.append = bits & MPI_MODE_APPEND;
  mode.sequential = bits & MPI_MODE_SEQUENTIAL;
  return mode;
}

OpenCall open_call(const char* file_name, int amode, MPI_Info info) {
  OpenCall call;
  call.file_name = file_name ? file_name : "";
  call.amode = amode_of(amode);
  call.info = items_of(info);
  if (call.file_name.empty()) call.argument_error = Error{ErrorClass::kBadFile, "the file name is empty"};
  if (amode & ~kAllModes) call.argument_error = Error{ErrorClass::kAmode, "the access mode has bits that are no MPI_MODE_*"};
  return call;
}

// OpenCall::members of these ranks in MPI_COMM_WORLD.
std::string members_text(const std::vector<int>& there, bool all) {
  if (all && std::is_sorted(there.begin(), there.end())) return "world";
  if (there.size() == 1) return "self";
  std::string text;
  for (std::size_t i = 0, last = 0; i < there.size(); i = last + 1) {
    if (there[i] == MPI_UNDEFINED) return "";
    for (last = i; last + 1 < there.size() && there[last + 1] == there[last] + 1;) ++last;
    text += (i > 0 ? "," : "") + std::to_string(there[i]) + (last > i ? "-" + std::to_string(there[last]) : "");
  }
  return text;
}

// Whose file it is, for the job's record and trace.
void note_members(MPI_Comm comm, OpenCall& call) {
  int rank = 0, ranks = 0;
  const std::vector<int> there = ranks_in_world(comm);
  if (there.empty()) return;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool all = std::ssize(there) == ranks && std::find(there.begin(), there.end(), MPI_UNDEFINED) == there.end();
  if (all) call.world_rank = rank;
  if (process().trace.keeps_steps()) call.members = members_text(there, all);
}

int fail_open(const std::string& file_name, const Error& error) {
  const Status named = attempt([&] {
    Error with_name = error;
    with_name.what = "file '" + file_name + "': " + error.what;
    return Status(std::move(with_name));
  });
  return fail(nullptr, "MPI_File_open", named.error());
}

int open(MPI_Comm comm, const char* file_name, int amode, MPI_Info info, MPI_File* file) {
  hook_finalize();
  begin_trace(/*in_init=*/false, comm);
  const i64 start_ns = now_ns();   // communicators are a large part of opening
  *file = MPI_FILE_NULL;
  const Status enough = hold_reserve();   // a rank without it takes part as a failed rank
  OpenCall call;
  const Status read = attempt([&] {
    call = open_call(file_name, amode, info);
    return ok_status();
  });
  for (const Status* status : {&enough, &read})
    if (call.argument_error) call.argument_error = *status;
  call.start_ns = start_ns;
  const std::atomic<bool>* const all_record = process().trace.all_record();
  const bool asks = process().trace.first_traced() || (all_record && !*all_record);
  if (asks || process().trace.keeps_steps()) note_members(comm, call);
  Result<std::unique_ptr<Comm>> made = make_mpi_comm(comm);
  if (!made) return fail_open(call.file_name, made.error());
  auto handle = std::make_unique<OpenHandle>();
  handle->comm = duplicate_of(**made);
  handle->amode = amode;
  Result<std::unique_ptr<File>> opened = open_file(std::move(*made), call, process().context());
  if (!opened) return fail_open(call.file_name, opened.error());
  handle->file = std::move(*opened);
  process().errhandlers.inherit(*handle);
  *file = process().handles.add(std::move(handle));
  return MPI_SUCCESS;
}

int close(MPI_File* file) {
  OpenHandle* handle = process().handles.find(*file);
  if (!handle) return fail_bad_handle("MPI_File_close");
  const Status closed = attempt([&] { return handle->file->close(); });
  // Also where an error handler of the program throws.
  struct Release {
    OpenHandle* handle;
    MPI_File* file;
    ~Release() {
      process().errhandlers.detach(*handle);
      process().handles.remove(*file);
      *file = MPI_FILE_NULL;
    }
  } const release{handle, file};
  return finish(handle, "MPI_File_close", closed);
}

int remove(const char* file_name, MPI_Info info) {
  const std::string name = file_name ? file_name : "";
  Status deleted = Error{ErrorClass::kBadFile, "the file name is empty"};
  if (!name.empty()) deleted = delete_file(name, items_of(info));
  if (deleted) return MPI_SUCCESS;
  Error named = deleted.error();
  named.what = "file '" + name + "': " + named.what;
  return fail(nullptr, "MPI_File_delete", named);
}

}  // namespace
}  // namespace mercutio

using namespace mercutio;

MERCUTIO_MPI_FUNCTION(int, File_open, (MPI_Comm comm, const char* file_name, int amode, MPI_Info info,
                                       MPI_File* file)) {
  return guarded(nullptr, "MPI_File_open", [&] { return open(comm, file_name, amode, info, file); });
}

MERCUTIO_MPI_FUNCTION(int, File_close, (MPI_File * file)) {
  return guarded(nullptr, "MPI_File_close", [&] { return close(file); });
}

MERCUTIO_MPI_FUNCTION(int, File_delete, (const char* file_name, MPI_Info info)) {
  return guarded(nullptr, "MPI_File_delete", [&] { return remove(file_name, info); });
}

MERCUTIO_MPI_FUNCTION(int, File_set_size, (MPI_File file, MPI_Offset bytes)) {
  return run_on_file(file, "MPI_File_set_size", [&](OpenHandle& handle) { return handle.file->set_size(bytes); });
}

MERCUTIO_MPI_FUNCTION(int, File_preallocate, (MPI_File file, MPI_Offset bytes)) {
  return run_on_file(file, "MPI_File_preallocate", [&](OpenHandle& handle) { return handle.file->preallocate(bytes); });
}

MERCUTIO_MPI_FUNCTION(int, File_get_size, (MPI_File file, MPI_Offset* bytes)) {
  return run_on_file(file, "MPI_File_get_size", [&](OpenHandle& handle) -> Status {
    MERCUTIO_LET(*bytes, handle.file->size());
    return ok_status();
  });
}

MERCUTIO_MPI_FUNCTION(int, File_get_group, (MPI_File file, MPI_Group* group)) {
  return with_file(file, "MPI_File_get_group", [&](OpenHandle& handle) -> int { return PMPI_Comm_group(handle.comm, group); });
}

MERCUTIO_MPI_FUNCTION(int, File_get_amode, (MPI_File file, int* amode)) {
  return with_file(file, "MPI_File_get_amode", [&](OpenHandle& handle) {
    *amode = handle.amode;
    return MPI_SUCCESS;
  });
}

MERCUTIO_MPI_FUNCTION(int, File_set_info, (MPI_File file, MPI_Info info)) {
  return run_on_file(file, "MPI_File_set_info", [&](OpenHandle& handle) {
    Result<InfoItems> items = attempt([&]() -> Result<InfoItems> { return items_of(info); });
    return items ? handle.file->set_info(*items) : handle.file->set_info({}, items.error());
  });
}

MERCUTIO_MPI_FUNCTION(int, File_get_info, (MPI_File file, MPI_Info* info)) {
  return with_file(file, "MPI_File_get_info", [&](OpenHandle& handle) {
    const i64 start_ns = handle.file->trace_time();
    *info = info_of(handle.file->info());
    handle.file->trace_setting("MPI_File_get_info", start_ns);
    return MPI_SUCCESS;
  });
}

MERCUTIO_MPI_FUNCTION(int, File_set_atomicity, (MPI_File file, int flag)) {
  return run_on_file(file, "MPI_File_set_atomicity", [&](OpenHandle& handle) { return handle.file->set_atomicity(flag != 0); });
}

MERCUTIO_MPI_FUNCTION(int, File_get_atomicity, (MPI_File file, int* flag)) {
  return with_file(file, "MPI_File_get_atomicity", [&](OpenHandle& handle) {
    *flag = handle.file->atomicity() ? 1 : 0;
    return MPI_SUCCESS;
  });
}

MERCUTIO_MPI_FUNCTION(int, File_sync, (MPI_File file)) {
  return run_on_file(file, "MPI_File_sync", [&](OpenHandle& handle) { return handle.file->sync(); });
}

MERCUTIO_MPI_FUNCTION(Fint, File_c2f, (MPI_File file)) {
  return guarded_or(Fint{0}, [&] { return process().handles.to_fortran(file); });
}
MERCUTIO_MPI_FUNCTION(MPI_File, File_f2c, (Fint number)) {
  return guarded_or(MPI_File{MPI_FILE_NULL}, [&] { return process().handles.from_fortran(number); });
}
// The names of MPI-5 for the same functions.
MERCUTIO_MPI_FUNCTION(int, File_toint, (MPI_File file)) {
  return guarded_or(0, [&] { return static_cast<int>(process().handles.to_fortran(file)); });
}
MERCUTIO_MPI_FUNCTION(MPI_File, File_fromint, (int number)) {
  return guarded_or(MPI_File{MPI_FILE_NULL}, [&] { return process().handles.from_fortran(number); });
}

// Flushes all files first, so that data written before the abort is in the file.
MERCUTIO_MPI_FUNCTION(int, Abort, (MPI_Comm comm, int code)) {
  static auto* const real = real_function<int(MPI_Comm, int)>("PMPI_Abort");
  (void)guarded_or(false, [] {
    process().handles.flush_all();
    return true;
  });
  return real(comm, code);
}
