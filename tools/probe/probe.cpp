// mercutio-probe: a tiny MPI program that any MPI runs, started by `mercutio doctor` under the user's own launcher.
//
// It has no MPI header and no MPI library of its own: it loads the library it is told (the one the user's program uses)
// and calls a dozen functions by name. Handles are passed as the three C ABIs define them, so one binary serves every
// MPI. Rank 0 prints "key=value" lines.
//
//   mercutio-probe LIBMPI FLAVOUR DIRECTORY
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "coherence.h"

namespace {

using Word = std::uintptr_t;  // a handle, whatever the ABI makes of it: the callee reads the low half or all of it

struct Abi {
  Word world = 0, byte = 0, no_info = 0, no_status = 0;
  int create_read_write_delete = 0;
  int thread_multiple = 3;
};

bool abi_of(const std::string& flavour, void* mpi, Abi& abi) {
  constexpr int kCreate = 1, kReadWrite = 8, kDeleteOnClose = 16;
  abi.create_read_write_delete = kCreate | kReadWrite | kDeleteOnClose;
  if (flavour == "mpich") {
    abi.world = 0x44000000;
    abi.byte = 0x4c00010d;
    abi.no_info = 0x1c000000;
    abi.no_status = 1;
  } else if (flavour == "openmpi") {
    abi.world = reinterpret_cast<Word>(dlsym(mpi, "ompi_mpi_comm_world"));
    abi.byte = reinterpret_cast<Word>(dlsym(mpi, "ompi_mpi_byte"));
    abi.no_info = reinterpret_cast<Word>(dlsym(mpi, "ompi_mpi_info_null"));
  } else if (flavour == "abi") {
    abi.world = 0x101;
    abi.byte = 0x247;
    abi.no_info = 0x130;
    abi.create_read_write_delete = 2 | 4 | 32;
    abi.thread_multiple = 4096;
  } else {
    return false;
  }
  return abi.world != 0;
}

template <typename Function>
Function* named(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

const char* thread_text(int level, int multiple) {
  static constexpr const char* kNames[] = {"SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE"};
  if (multiple == 4096) level = level == 0 ? 0 : level == 1024 ? 1 : level == 2048 ? 2 : level == 4096 ? 3 : -1;
  return level >= 0 && level <= 3 ? kNames[level] : "unknown";
}

std::string error_text(int code) {
  char text[8192] = "";
  int length = 0;
  auto* describe = named<int(int, char*, int*)>("MPI_Error_string");
  if (!describe || describe(code, text, &length) != 0) return "error " + std::to_string(code);
  for (char* c = text; *c; ++c) {
    if (*c == '\n') *c = ' ';
  }
  return text;
}

// Opens a file on all ranks, writes and reads back eight bytes a rank. Empty when all is well.
std::string round_trip(const Abi& abi, const std::string& path, int rank) {
  auto* open_file = named<int(Word, const char*, int, Word, Word*)>("MPI_File_open");
  auto* write_all = named<int(Word, long long, const void*, int, Word, Word)>("MPI_File_write_at_all");
  auto* read_all = named<int(Word, long long, void*, int, Word, Word)>("MPI_File_read_at_all");
  auto* close_file = named<int(Word*)>("MPI_File_close");
  if (!open_file || !write_all || !read_all || !close_file) return "MPI_File_* functions are missing";
  Word file = 0;
  int code = open_file(abi.world, path.c_str(), abi.create_read_write_delete, abi.no_info, &file);
  if (code != 0) return "open: " + error_text(code);
  char mine[8], back[8] = "";
  std::memset(mine, 'a' + rank % 26, sizeof mine);
  code = write_all(file, 8LL * rank, mine, 8, abi.byte, abi.no_status);
  std::string trouble = code != 0 ? "write: " + error_text(code) : "";
  code = read_all(file, 8LL * rank, back, 8, abi.byte, abi.no_status);
  if (code != 0 && trouble.empty()) trouble = "read: " + error_text(code);
  if (trouble.empty() && std::memcmp(mine, back, sizeof mine) != 0)
    trouble = "read back something else than was written";
  code = close_file(&file);
  return code != 0 && trouble.empty() ? "close: " + error_text(code) : trouble;
}

// "key=value" lines of what the last rank's node sees of the first one's writes; nothing with one rank.
void report_coherence(const Abi& abi, const std::string& path, int rank, int size) {
  auto* wait_for_all = named<int(Word)>("MPI_Barrier");
  auto* broadcast = named<int(void*, int, Word, int, Word)>("MPI_Bcast");
  if (!wait_for_all || !broadcast || size < 2) return;
  struct {
    Visibility visibility;
    char host[256];
  } told{};
  told.visibility = measure_visibility(path, rank == 0, rank == size - 1, [&] { wait_for_all(abi.world); });
  ::gethostname(told.host, sizeof told.host - 1);
  const std::string here = told.host;
  broadcast(&told, sizeof told, abi.byte, size - 1, abi.world);
  if (rank != 0 || told.visibility.failed) return;
  static constexpr const char* kDirect[] = {"stale", "seen", "refused"};
  std::printf("nodes=%d\nwrites_seen=%s\ndirect=%s\nlocks=%s\nsizes=%s\n", here == told.host ? 1 : 2, when_visible(told.visibility),
              kDirect[static_cast<int>(told.visibility.direct)], told.visibility.locks ? "seen" : "not seen", told.visibility.size ? "seen" : "not seen");
  std::fflush(stdout);
}

void report(const Abi& abi, int size, int provided, const std::string& trouble) {
  static char version[8192];
  int length = 0;
  auto* describe = named<int(char*, int*)>("MPI_Get_library_version");
  if (describe) describe(version, &length);
  version[std::strcspn(version, "\n")] = '\0';
  Dl_info supplier{};
  dladdr(dlsym(RTLD_DEFAULT, "MPI_File_open"), &supplier);
  std::printf("version=%s\nranks=%d\nthreads=%s\nsupplier=%s\nround_trip=%s\n", version, size,
              thread_text(provided, abi.thread_multiple), supplier.dli_fname ? supplier.dli_fname : "",
              trouble.empty() ? "ok" : trouble.c_str());
  std::fflush(stdout);
}

// A folder of this run's own, the same on all ranks; "?" and why, where none can be made.
std::string make_folder(const Abi& abi, const std::string& directory, int rank) {
  char path[4096] = "";
  if (rank == 0) {
    const int length = std::snprintf(path, sizeof path, "%s/.mercutio-doctor-XXXXXX", directory.c_str());
    if (length >= static_cast<int>(sizeof path) || !mkdtemp(path)) std::snprintf(path, sizeof path, "?no folder can be made: %s", std::strerror(errno));
  }
  named<int(void*, int, Word, int, Word)>("MPI_Bcast")(path, sizeof path, abi.byte, 0, abi.world);
  if (rank == 0 && path[0] != '?') std::printf("folder=%s\n", path), std::fflush(stdout);   // doctor removes what is left of it
  return path;
}

int run(const Abi& abi, const std::string& directory) {
  auto* init = named<int(int*, char***, int, int*)>("MPI_Init_thread");
  auto* rank_of = named<int(Word, int*)>("MPI_Comm_rank");
  auto* size_of = named<int(Word, int*)>("MPI_Comm_size");
  auto* finalize = named<int()>("MPI_Finalize");
  if (!init || !rank_of || !size_of || !finalize || !named<int()>("MPI_Bcast")) return 3;
  int provided = 0, rank = 0, size = 0;
  if (init(nullptr, nullptr, abi.thread_multiple, &provided) != 0) return 3;
  rank_of(abi.world, &rank);
  size_of(abi.world, &size);
  const std::string folder = make_folder(abi, directory, rank);
  const bool made = folder[0] != '?';
  const std::string trouble = made ? round_trip(abi, folder + "/round_trip", rank) : folder.substr(1);
  if (rank == 0) report(abi, size, provided, trouble);
  if (made) report_coherence(abi, folder + "/coherence", rank, size);
  if (made && rank == 0) ::rmdir(folder.c_str());
  finalize();
  return trouble.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "mercutio-probe: started by `mercutio doctor`; not for use by hand\n");
    return 2;
  }
  void* mpi = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  Abi abi;
  if (!mpi) {
    std::printf("trouble=%s\n", dlerror());
    return 3;
  }
  if (!abi_of(argv[2], mpi, abi)) {
    std::printf("trouble=%s does not look like %s\n", argv[1], argv[2]);
    return 3;
  }
  return run(abi, argv[3]);
}
