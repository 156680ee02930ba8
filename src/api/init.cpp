// MPI_Init and MPI_Init_thread request MPI_THREAD_MULTIPLE, so that nonblocking calls progress while the program computes. With
// MERCUTIO_THREADS=0 the requested level is not changed. A program that asks for a level is told that it has that one, also by
// MPI_Query_thread.
#include <elf.h>
#include <link.h>
#include <strings.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "api/call.h"
#include "api/export.h"
#include "mpi/calls.h"
#include "mpi/finalize.h"
#include "mpi/mpi_comm.h"
#include "mpi/rank_group.h"
#include "mpi/real.h"

namespace {

// The symbols of an object that is loaded.
struct Symbols {
  const ElfW(Sym)* first = nullptr;
  std::size_t count = 0;
  std::string_view names;
};

// Undefined symbols precede those in the GNU hash table; the older one counts all. Nothing where the tables are not in memory, as in the
// kernel's own object of some systems.
Symbols imported_symbols(const dl_phdr_info& object) {
  const ElfW(Phdr)* const end = object.dlpi_phdr + object.dlpi_phnum;
  const ElfW(Phdr)* const dynamic = std::find_if(object.dlpi_phdr, end, [](const ElfW(Phdr)& part) { return part.p_type == PT_DYNAMIC; });
  if (dynamic == end) return {};
  ElfW(Addr) text = 0, symbols = 0, hash = 0, old_hash = 0;
  std::size_t text_bytes = 0;
  for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + dynamic->p_vaddr); entry->d_tag != DT_NULL; ++entry) {
    ElfW(Addr) value = entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRSZ) text_bytes = entry->d_un.d_val;
    if (value < object.dlpi_addr) value += object.dlpi_addr;   // as some loaders leave it
    if (entry->d_tag == DT_STRTAB) text = value;
    if (entry->d_tag == DT_SYMTAB) symbols = value;
    if (entry->d_tag == DT_GNU_HASH) hash = value;
    if (entry->d_tag == DT_HASH) old_hash = value;
  }
  const auto is_loaded = [&](ElfW(Addr) place) {
    return std::any_of(object.dlpi_phdr, end, [&](const ElfW(Phdr)& part) {
      return part.p_type == PT_LOAD && place >= object.dlpi_addr + part.p_vaddr && place - object.dlpi_addr - part.p_vaddr < part.p_memsz;
    });
  };
  if (!is_loaded(text) || !is_loaded(symbols) || !is_loaded(hash != 0 ? hash : old_hash)) return {};
  const std::size_t count = hash != 0 ? reinterpret_cast<const std::uint32_t*>(hash)[1] : reinterpret_cast<const Elf_Symndx*>(old_hash)[1];
  Symbols found{reinterpret_cast<const ElfW(Sym)*>(symbols), count, {reinterpret_cast<const char*>(text), text_bytes}};
  if (found.count <= 1) found.count = text > symbols ? (text - symbols) / sizeof *found.first : 0;   // nothing is defined; the names follow the symbols
  return found;
}

// Whether an object refers to a call that makes a window. The MPI's own libraries and this one refer to all.
bool names_windows(const dl_phdr_info& object) {
  const std::string_view path(object.dlpi_name ? object.dlpi_name : ""), file = path.substr(path.rfind('/') + 1);
  for (const std::string_view own : {"libmpi.", "libmpi_mpifh.", "libmpi_usempi", "libmpi_cxx.", "libmercutio"})
    if (file.starts_with(own)) return false;
  const Symbols all = imported_symbols(object);
  return std::any_of(all.first, all.first + all.count, [&](const ElfW(Sym)& symbol) {
    if (symbol.st_name >= all.names.size()) return false;
    const std::string_view name(all.names.data() + symbol.st_name);
    constexpr std::string_view kMakers[] = {"MPI_Win_create", "MPI_Win_allocate", "mpi_win_create", "mpi_win_allocate"};
    return std::any_of(std::begin(kMakers), std::end(kMakers), [&](std::string_view maker) { return name.starts_with(maker); });
  });
}

// One-sided operations of Open MPI 4 over TCP refuse MPI_THREAD_MULTIPLE: a program that makes windows would end.
bool windows_need_less() {
  const auto look = [](dl_phdr_info* object, std::size_t, void*) { return names_windows(*object) ? 1 : 0; };
  return mercutio::is_open_mpi_4() && dl_iterate_phdr(look, nullptr) != 0;
}

std::atomic<int> told_level{-1};   // to the program; -1: it is told what the MPI provides

bool may_raise_level() {
  const char* wish = std::getenv("MERCUTIO_THREADS");
  return wish && *wish ? std::strcmp(wish, "0") != 0 : !windows_need_less();
}

constexpr int kNotUnderstood = -1;

// A number for Open MPI, a name for MPICH; Open MPI 5 takes names, too, also without their prefix.
int level_named(const char* wish) {
  constexpr const char kPrefix[] = "MPI_THREAD_";
  constexpr struct { const char *number, *name; int level; } kLevels[] = {{"0", "SINGLE", MPI_THREAD_SINGLE},
                                                                          {"1", "FUNNELED", MPI_THREAD_FUNNELED},
                                                                          {"2", "SERIALIZED", MPI_THREAD_SERIALIZED},
                                                                          {"3", "MULTIPLE", MPI_THREAD_MULTIPLE}};
  if (strncasecmp(wish, kPrefix, sizeof kPrefix - 1) == 0) wish += sizeof kPrefix - 1;
  for (const auto& [number, name, level] : kLevels)
    if (std::strcmp(wish, number) == 0 || strcasecmp(wish, name) == 0) return level;
  return kNotUnderstood;
}

// What the program has by MPI_Init without us: MPI_THREAD_SINGLE, unless a variable of the MPI asks for another level.
int level_of_init() {
  for (const char* const variable : {"OMPI_MPI_THREAD_LEVEL", "MPIR_CVAR_DEFAULT_THREAD_LEVEL"})
    if (const char* const wish = std::getenv(variable); wish && *wish) return level_named(wish);
  return MPI_THREAD_SINGLE;
}

void after_init() {
  mercutio::watch_finalize();
  mercutio::mark_world();
  mercutio::begin_trace(/*in_init=*/true, MPI_COMM_WORLD);
}

int real_init_thread(int* argc, char*** argv, int required, int* provided) {
  static auto* const real = mercutio::real_function<int(int*, char***, int, int*)>("PMPI_Init_thread");
  const int code = real(argc, argv, required, provided);
  if (code == MPI_SUCCESS) after_init();
  return code;
}

int real_init(int* argc, char*** argv) {
  static auto* const real = mercutio::real_function<int(int*, char***)>("PMPI_Init");
  int provided = MPI_THREAD_SINGLE;
  const int level = level_of_init();
  if (may_raise_level() && level != kNotUnderstood) {
    const int code = real_init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    if (code == MPI_SUCCESS) told_level = std::min(provided, level);
    return code;
  }
  const int code = real(argc, argv);
  if (code == MPI_SUCCESS) after_init();
  return code;
}

}  // namespace

using namespace mercutio;

bool mercutio::threads_call() {
  if (!world_active()) return true;   // the level of a session is its own
  return told_level < 0 ? thread_multiple() : told_level == MPI_THREAD_MULTIPLE;
}

MERCUTIO_MPI_FUNCTION(int, Init_thread, (int* argc, char*** argv, int required, int* provided)) {
  return guarded(nullptr, "MPI_Init_thread", [&] {
    const int code = real_init_thread(argc, argv, may_raise_level() ? MPI_THREAD_MULTIPLE : required, provided);
    if (code != MPI_SUCCESS) return code;
    told_level = *provided = std::min(*provided, required);
    return code;
  });
}

MERCUTIO_MPI_FUNCTION(int, Query_thread, (int* provided)) {
  return guarded(nullptr, "MPI_Query_thread", [&] {
    static auto* const real = real_function<int(int*)>("PMPI_Query_thread");
    const int code = real(provided);
    if (code == MPI_SUCCESS && told_level >= 0) *provided = told_level;
    return code;
  });
}

MERCUTIO_MPI_FUNCTION(int, Init, (int* argc, char*** argv)) {
  return guarded(nullptr, "MPI_Init", [&] { return real_init(argc, argv); });
}
