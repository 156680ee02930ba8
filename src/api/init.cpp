// MPI_Init and MPI_Init_thread request MPI_THREAD_MULTIPLE, so that nonblocking calls progress while the program computes. With
// MERCUTIO_THREADS=0 the requested level is not changed. A program that asks for a level is told that it has that one.
// MPI_Finalize first ends the threads of this library.
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "api/call.h"
#include "api/export.h"
#include "mpi/calls.h"
#include "mpi/decode.h"
#include "mpi/finalize.h"
#include "mpi/rank_group.h"
#include "mpi/real.h"

namespace {

// Whether an object refers to a call that makes a window. The MPI and this library refer to all. Undefined symbols precede those in the hash table.
bool names_windows(const dl_phdr_info& object) {
  const std::string_view path(object.dlpi_name ? object.dlpi_name : ""), file = path.substr(path.rfind('/') + 1);
  const ElfW(Phdr)* const end = object.dlpi_phdr + object.dlpi_phnum;
  const ElfW(Phdr)* const dynamic = std::find_if(object.dlpi_phdr, end, [](const ElfW(Phdr)& part) { return part.p_type == PT_DYNAMIC; });
  if (dynamic == end || file.starts_with("libmpi") || file.starts_with("libmercutio")) return false;
  ElfW(Addr) text = 0, symbols = 0, hash = 0;
  for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + dynamic->p_vaddr); entry->d_tag != DT_NULL; ++entry) {
    ElfW(Addr) value = entry->d_un.d_ptr;
    if (value < object.dlpi_addr) value += object.dlpi_addr;   // as some loaders leave it
    if (entry->d_tag == DT_STRTAB) text = value;
    if (entry->d_tag == DT_SYMTAB) symbols = value;
    if (entry->d_tag == DT_GNU_HASH) hash = value;
  }
  const auto is_loaded = [&](ElfW(Addr) place) {   // not so in the kernel's own object of some systems
    return std::any_of(object.dlpi_phdr, end, [&](const ElfW(Phdr)& part) {
      return part.p_type == PT_LOAD && place >= object.dlpi_addr + part.p_vaddr && place - object.dlpi_addr - part.p_vaddr < part.p_memsz;
    });
  };
  if (!is_loaded(text) || !is_loaded(symbols) || !is_loaded(hash)) return false;
  const auto* const first = reinterpret_cast<const ElfW(Sym)*>(symbols);
  std::size_t count = reinterpret_cast<const std::uint32_t*>(hash)[1];
  if (count <= 1) count = text > symbols ? (text - symbols) / sizeof *first : 0;   // nothing is defined; the names follow the symbols
  return std::any_of(first, first + count, [&](const ElfW(Sym)& symbol) {
    const std::string_view name(reinterpret_cast<const char*>(text) + symbol.st_name);
    constexpr std::string_view kMakers[] = {"MPI_Win_create", "MPI_Win_allocate", "mpi_win_create", "mpi_win_allocate"};
    return std::any_of(std::begin(kMakers), std::end(kMakers), [&](std::string_view maker) { return name.starts_with(maker); });
  });
}

// One-sided operations of Open MPI 4 over TCP refuse MPI_THREAD_MULTIPLE: a program that makes windows would end.
bool windows_need_less() {
  const auto look = [](dl_phdr_info* object, std::size_t, void*) { return names_windows(*object) ? 1 : 0; };
  return mercutio::is_open_mpi_4() && dl_iterate_phdr(look, nullptr) != 0;
}

bool may_raise_level() {
  const char* wish = std::getenv("MERCUTIO_THREADS");
  return wish && *wish ? std::strcmp(wish, "0") != 0 : !windows_need_less();
}

void after_init() {
  mercutio::watch_finalize();
  mercutio::mark_world();
  mercutio::prepare_to_decode();
  mercutio::begin_trace(/*in_init=*/true);
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
  if (may_raise_level()) return real_init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  const int code = real(argc, argv);
  if (code == MPI_SUCCESS) after_init();
  return code;
}

}  // namespace

using namespace mercutio;

MERCUTIO_MPI_FUNCTION(int, Init_thread, (int* argc, char*** argv, int required, int* provided)) {
  return guarded(nullptr, "MPI_Init_thread", [&] {
    const int code = real_init_thread(argc, argv, may_raise_level() ? MPI_THREAD_MULTIPLE : required, provided);
    if (code == MPI_SUCCESS) *provided = std::min(*provided, required);
    return code;
  });
}

MERCUTIO_MPI_FUNCTION(int, Finalize, ()) {
  return guarded(nullptr, "MPI_Finalize", [] {
    static auto* const real = real_function<int()>("PMPI_Finalize");
    begin_finalize();
    return real();
  });
}

MERCUTIO_MPI_FUNCTION(int, Init, (int* argc, char*** argv)) {
  return guarded(nullptr, "MPI_Init", [&] { return real_init(argc, argv); });
}
