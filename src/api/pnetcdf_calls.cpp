// The accesses of PnetCDF to a file other than by MPI-IO. ncmpi_open calls ncmpi_inq_file_format, which reads the first bytes with
// open(2). ncmpi_create tests with access(2) whether the file exists, and truncates it with truncate(2). None of these reaches a
// remote file: it could not be opened, and would be overwritten despite NC_NOCLOBBER. Therefore these two functions do the same
// with Mercutio if the file is remote. All other files and functions are left to PnetCDF.
//
// The constants are those of pnetcdf.h; the signatures are those of the CDF and HDF5 file format specifications.
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.h"
#include "api/export.h"
#include "file/file.h"
#include "mpi/info.h"
#include "storage/drivers.h"

namespace mercutio {
namespace {

enum NetcdfError {
  kNotRemote = 1,   // our own: call PnetCDF's function
  kNoError = 0,
  kExists = -35,
  kNoMemory = -61,
  kAccessDenied = -77,
  kNotBuilt = -128,
  kFileError = -204,
  kNoSuchEntry = -220,
  kBadName = -223
};
enum NetcdfFormat { kUnknownFormat = -1, kNetcdf4 = 3 };
constexpr int kNoClobber = 0x4;
constexpr i64 kSignatureBytes = 8, kFirstUserBlock = 512;
constexpr std::string_view kHdf5 = "\211HDF\r\n\032\n";

// PnetCDF's own function. Searches each loaded library, because Python loads its libraries with RTLD_LOCAL.
void* function_of_pnetcdf(const char* name) {
  std::vector<std::string> libraries;
  ::dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* out) {
        const std::string_view path = library->dlpi_name;
        const bool ours = path.substr(path.rfind('/') + 1).starts_with("libmercutio");
        if (!path.empty() && !ours) static_cast<std::vector<std::string>*>(out)->emplace_back(path);
        return 0;
      },
      &libraries);
  for (const std::string& path : libraries) {
    void* const library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    void* const found = ::dlsym(library, name);
    ::dlclose(library);
    Dl_info where{};
    if (found && ::dladdr(found, &where) != 0 && path == where.dli_fname) return found;
  }
  return nullptr;
}

int netcdf_error(const Error& error) {
  switch (error.cls) {
    case ErrorClass::kNoSuchFile:
      return kNoSuchEntry;
    case ErrorClass::kAccess:
      return kAccessDenied;
    case ErrorClass::kBadFile:
      return kBadName;
    default:
      return kFileError;
  }
}

Result<std::unique_ptr<Storage>> open_there(const Resolved& place, bool to_write) {
  OpenOptions options;
  options.read = !to_write;
  options.write = to_write;
  return place.driver->open(place.path, options);
}

// The eight bytes at `offset`; fewer at the end of the file.
Result<std::string> signature_at(Storage& file, i64 offset) {
  std::string bytes(kSignatureBytes, '\0');
  const IoPiece piece{offset, reinterpret_cast<std::byte*>(bytes.data()), kSignatureBytes};
  MERCUTIO_LET(const i64 got, file.read(std::span(&piece, 1)));
  bytes.resize(static_cast<size_t>(got));
  return bytes;
}

// As in PnetCDF: CDF-1, 2 and 5 by their version, HDF5 by its signature at offset 0, 512, 1024, 2048 and so on.
Result<int> format_of(Storage& file) {
  MERCUTIO_LET(std::string signature, signature_at(file, 0));
  if (signature.size() < kSignatureBytes) return Error{ErrorClass::kIo, "no room for a signature"};
  const char version = signature[3];
  if (signature.starts_with("CDF") && (version == 1 || version == 2 || version == 5)) return int{version};
  for (i64 offset = kFirstUserBlock; signature.size() == kSignatureBytes && offset <= INT64_MAX / 2; offset *= 2) {
    if (signature == kHdf5) return int{kNetcdf4};
    MERCUTIO_LET(signature, signature_at(file, offset));
  }
  return int{kUnknownFormat};
}

int remote_format(const Resolved& place, int* format) {
  *format = kUnknownFormat;
  auto file = open_there(place, false);
  if (!file) return netcdf_error(file.error());
  const Result<int> found = format_of(**file);
  const Status closed = (*file)->close();
  if (!found || !closed) return netcdf_error(found ? closed.error() : found.error());
  *format = *found;
  return kNoError;
}

// An existing file is truncated, or is an error with `no_clobber`. Other errors are left to MPI_File_open.
int made_ready(const Resolved& place, bool no_clobber) {
  auto file = open_there(place, !no_clobber);
  if (no_clobber) return file ? kExists : kNoError;
  if (!file) return file.error().cls == ErrorClass::kAccess ? kAccessDenied : kNoError;
  const Status emptied = (*file)->set_size(0), closed = (*file)->close();
  return emptied && closed ? kNoError : kFileError;
}

// Collective. Does nothing if the file is not remote.
int make_remote(MPI_Comm comm, const char* path, int mode, MPI_Info info) {
  int rank = 0;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return kNoError;
  int error = guarded_or(int{kNoMemory}, [&]() -> int {
    const Resolved place = place_of(path, items_of(info));
    if (!is_remote(*place.driver)) return kNotRemote;
    return rank == 0 ? made_ready(place, (mode & kNoClobber) != 0) : int{kNoError};
  });
  if (error == kNotRemote || error == kNoMemory) return error == kNotRemote ? int{kNoError} : error;
  if (PMPI_Bcast(&error, 1, MPI_INT, 0, comm) != MPI_SUCCESS) error = kFileError;
  return error;
}

}  // namespace
}  // namespace mercutio

using namespace mercutio;

extern "C" MERCUTIO_EXPORT int ncmpi_inq_file_format(const char* path, int* format) {
  static auto* const own = reinterpret_cast<int (*)(const char*, int*)>(function_of_pnetcdf("ncmpi_inq_file_format"));
  const int told = guarded_or(int{kNoMemory}, [&]() -> int {
    if (!path || !format) return kNotRemote;
    const Resolved place = place_of(path, {});
    return is_remote(*place.driver) ? remote_format(place, format) : int{kNotRemote};
  });
  if (told != kNotRemote) return told;
  return own ? own(path, format) : kNotBuilt;
}

extern "C" MERCUTIO_EXPORT int ncmpi_create(MPI_Comm comm, const char* path, int mode, MPI_Info info, int* id) {
  static auto* const own = reinterpret_cast<int (*)(MPI_Comm, const char*, int, MPI_Info, int*)>(function_of_pnetcdf("ncmpi_create"));
  if (!own) return kNotBuilt;
  if (!path || !id || comm == MPI_COMM_NULL) return own(comm, path, mode, info, id);
  const int made = make_remote(comm, path, mode, info);
  return made == kNoError ? own(comm, path, mode, info, id) : made;
}
