#include "api/run_facts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/user_name.h"
#include "insight/recorder.h"
#include "mercutio_revision.h"
#include "mpi/mpi_header.h"

namespace mercutio {
namespace {

constexpr std::size_t kMostCommand = 2000;

std::string first_set(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value && *value) return value;
  }
  return "";
}

// The command line of the process, with quotes around words with blanks, and without line breaks.
std::string command_line() {
  std::string words(kMostCommand, '\0');
  const int file = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file >= 0 ? ::read(file, words.data(), words.size()) : 0;
  if (file >= 0) ::close(file);
  words.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  std::string text;
  for (std::size_t at = 0, end = 0; at < words.size(); at = end + 1) {
    end = std::min(words.find('\0', at), words.size());
    const std::string word = words.substr(at, end - at);
    const bool plain = !word.empty() && word.find_first_of(" \t'\"") == std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return text;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (PMPI_Get_library_version(text, &length) != MPI_SUCCESS) return "";
  std::string line;
  for (const char* at = text; *at && (*at != '\n' || line.empty()) && line.size() < 120; ++at) line += *at;
  return line;
}

void add_fact(std::string& facts, const char* key, std::string value) {
  std::replace_if(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (!value.empty()) facts += std::string(key) + "=" + value + "\n";
}

struct Known {
  const char* part;  // part of the path of a library
  const char* name;
};
constexpr Known kLibraries[] = {{"/h5py/", "h5py"},          {"/netCDF4/", "netcdf4-python"}, {"libhdf5", "hdf5"},   {"libnetcdf", "netcdf"},
                                {"libpnetcdf", "pnetcdf"}, {"libpetsc", "petsc"},           {"libadios", "adios"}};

// Called from the innermost frame outwards. The last known library found is the outermost one.
_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* found) {
  std::string& library = *static_cast<std::string*>(found);
  Dl_info info;
  const auto place = _Unwind_GetIP(context);
  if (place == 0 || dladdr(reinterpret_cast<void*>(place - 1), &info) == 0) return _URC_NO_REASON;
  if (info.dli_sname && (std::strcmp(info.dli_sname, "MPI_Finalize") == 0 || std::strcmp(info.dli_sname, "PMPI_Finalize") == 0)) {
    library = kTool;
    return _URC_END_OF_STACK;
  }
  for (const Known& one : kLibraries) {
    if (info.dli_fname && std::strstr(info.dli_fname, one.part)) library = one.name;
  }
  return _URC_NO_REASON;
}

}  // namespace

std::string job_id() {
  std::string job = first_set({"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "PJM_JOBID", "COBALT_JOBID", "OAR_JOB_ID", "JOB_ID"});
  // Where the elements of an array have one id. Slurm and PBS give each an id of its own.
  const std::string element = first_set({"LSB_JOBINDEX", "SGE_TASK_ID"});
  if (!job.empty() && !element.empty() && element != "0" && element != "undefined") job += "." + element;
  return job;
}

JobIdentity job_identity() {
  JobIdentity identity;
  identity.job = job_id();
  identity.user = first_set({"USER", "LOGNAME"});
  identity.uid = static_cast<i64>(::getuid());
  if (identity.user.empty()) identity.user = name_of_user(::getuid());
  return identity;
}

std::string run_facts() {
  std::string facts;
  char here[PATH_MAX] = "";
  const JobIdentity identity = job_identity();
  add_fact(facts, "job", identity.job);
  add_fact(facts, "user", identity.user);
  add_fact(facts, "command", command_line());
  add_fact(facts, "directory", ::getcwd(here, sizeof here) ? here : "");
  add_fact(facts, "mpi", mpi_version());
  add_fact(facts, "mercutio", MERCUTIO_REVISION);
  return facts;
}

std::string opening_library() {
  std::string library;
  _Unwind_Backtrace(visit_frame, &library);
  return library;
}

}  // namespace mercutio
