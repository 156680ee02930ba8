// MPI_Comm_spawn and MPI_Comm_spawn_multiple. Open MPI 5 starts processes without the variables of `mpirun -x`, and Open MPI 4 without those that only a
// rank has. Without LD_PRELOAD their files would be those of Open MPI's own I/O, and an open together with this process would never end. A key of the info
// gives them the variables: PMIX_ENVAR, or env before Open MPI 5.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.h"
#include "api/export.h"
#include "mpi/calls.h"
#include "mpi/real.h"

namespace mercutio {
namespace {

#ifdef MERCUTIO_ABI_OPENMPI
constexpr bool kNeedsVariables = true;
#else
constexpr bool kNeedsVariables = false;
#endif
constexpr std::size_t kMostBytes = MPI_MAX_INFO_VAL - 1;

const char* key_of_variables() { return is_open_mpi_4() ? "env" : "PMIX_ENVAR"; }

void say_too_long(std::size_t bytes) {
  static std::once_flag said;
  std::call_once(said, [&] {
    std::fprintf(stderr,
                 "mercutio: LD_PRELOAD has %zu characters, and MPI_Comm_spawn hands on at most %zu: the processes that it starts may have Open MPI's own "
                 "I/O, and a file that they open together with this one would never be open. Preload by a shorter path, such as a link to the folder\n",
                 bytes, kMostBytes - std::strlen("LD_PRELOAD="));
  });
}

// Lines of NAME=value, as many as have room, LD_PRELOAD first; empty: there is none.
std::string variables_after(std::string lines) {
  const char* const preload = std::getenv("LD_PRELOAD");
  if (!preload || !*preload || lines.find("LD_PRELOAD=") != std::string::npos) return "";
  const auto add = [&](const std::string& line) {
    const bool fits = lines.size() + 1 + line.size() <= kMostBytes;
    if (fits) lines += (lines.empty() ? "" : "\n") + line;
    return fits;
  };
  if (!add(std::string("LD_PRELOAD=") + preload)) say_too_long(std::strlen(preload));
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view line = *variable;
    if (line.starts_with("MERCUTIO_") && line.find('\n') == std::string_view::npos) (void)add(std::string(line));
  }
  return lines;
}

// The info of a command that is started, with the variables.
class StartInfo {
 public:
  explicit StartInfo(MPI_Info user) : info_(user) {
    const char* const key = key_of_variables();
    int bytes = 0, found = 0;
    std::string lines;
    if (user != MPI_INFO_NULL && PMPI_Info_get_valuelen(user, key, &bytes, &found) == MPI_SUCCESS && found) {
      lines.resize(static_cast<std::size_t>(bytes) + 1);
      PMPI_Info_get(user, key, bytes, lines.data(), &found);
      lines.resize(std::strlen(lines.c_str()));
    }
    lines = variables_after(std::move(lines));
    if (lines.empty()) return;
    const int code = user == MPI_INFO_NULL ? PMPI_Info_create(&own_) : PMPI_Info_dup(user, &own_);
    if (code == MPI_SUCCESS && PMPI_Info_set(own_, key, lines.c_str()) == MPI_SUCCESS) info_ = own_;
  }
  StartInfo(const StartInfo&) = delete;
  StartInfo& operator=(const StartInfo&) = delete;
  ~StartInfo() {
    if (own_ != MPI_INFO_NULL) PMPI_Info_free(&own_);
  }
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_, own_ = MPI_INFO_NULL;
};

// Only the root's arguments count.
bool is_root(MPI_Comm comm, int root) {
  int rank = -1;
  return kNeedsVariables && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

}  // namespace
}  // namespace mercutio

using namespace mercutio;

MERCUTIO_MPI_FUNCTION(int, Comm_spawn,
                      (const char* command, char* argv[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* between, int codes[])) {
  static auto* const real = real_function<int(const char*, char**, int, MPI_Info, int, MPI_Comm, MPI_Comm*, int*)>("PMPI_Comm_spawn");
  return guarded(nullptr, "MPI_Comm_spawn", [&] {
    if (!is_root(comm, root)) return real(command, argv, most, info, root, comm, between, codes);
    const StartInfo with_variables(info);
    return real(command, argv, most, with_variables.get(), root, comm, between, codes);
  });
}

MERCUTIO_MPI_FUNCTION(int, Comm_spawn_multiple,
                      (int count, char* commands[], char** argvs[], const int most[], const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* between,
                       int codes[])) {
  static auto* const real = real_function<int(int, char**, char***, const int*, const MPI_Info*, int, MPI_Comm, MPI_Comm*, int*)>("PMPI_Comm_spawn_multiple");
  return guarded(nullptr, "MPI_Comm_spawn_multiple", [&] {
    if (!is_root(comm, root) || count < 1 || !infos) return real(count, commands, argvs, most, infos, root, comm, between, codes);
    std::vector<std::unique_ptr<StartInfo>> own;
    std::vector<MPI_Info> with_variables;
    for (int i = 0; i < count; ++i) {
      own.push_back(std::make_unique<StartInfo>(infos[i]));
      with_variables.push_back(own.back()->get());
    }
    return real(count, commands, argvs, most, with_variables.data(), root, comm, between, codes);
  });
}
