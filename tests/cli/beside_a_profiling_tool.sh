#!/usr/bin/env bash
# A tool that wraps MPI_File_* and MPI_Finalize (as Darshan does) sees the program's calls, its forwarding to PMPI_File_* ends
# in the library, and the log it writes through MPI-IO inside MPI_Finalize arrives: preloaded with dlsym(RTLD_NEXT), and
# linked with direct PMPI calls, into the program or as a library of its own.
. "$(dirname "$0")/lib.sh"
folder="$(dirname "$("$MERCUTIO" preload)")"
cat >"$scratch/tool.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef BY_NAME
#define NEXT(name) (*(__typeof__(&name))dlsym(RTLD_NEXT, #name))
#else
#define NEXT(name) name
#endif
static int opens, writes, closes;
int MPI_File_open(MPI_Comm comm, const char* path, int amode, MPI_Info info, MPI_File* file) {
  opens++;
  return NEXT(PMPI_File_open)(comm, path, amode, info, file);
}
int MPI_File_write_all(MPI_File file, const void* buf, int count, MPI_Datatype type, MPI_Status* status) {
  writes++;
  return NEXT(PMPI_File_write_all)(file, buf, count, type, status);
}
int MPI_File_close(MPI_File* file) {
  closes++;
  return NEXT(PMPI_File_close)(file);
}
int MPI_Finalize(void) {
  MPI_File log;
  MPI_Request request;
  Dl_info supplier;
  void* target = dlsym(RTLD_DEFAULT, "PMPI_File_open");
  int rank, counts[3] = {opens, writes, closes};
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int bad = NEXT(PMPI_File_open)(MPI_COMM_WORLD, "log", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &log);
  bad |= NEXT(PMPI_File_write_at_all)(log, 24 * rank, counts, 3, MPI_INT, MPI_STATUS_IGNORE);
  bad |= NEXT(PMPI_File_iwrite_at)(log, 24 * rank + 12, counts, 3, MPI_INT, &request);
  bad |= PMPI_Wait(&request, MPI_STATUS_IGNORE);
  bad |= NEXT(PMPI_File_close)(&log);
  if (rank == 0 && target && dladdr(target, &supplier)) printf("PMPI from %s\n", supplier.dli_fname);
  if (bad) {
    fprintf(stderr, "the log was not written\n");
    exit(9);
  }
  return PMPI_Finalize();
}
C
cat >"$scratch/main.c" <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_File file;
  int rank, value, bad;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  value = 1 + rank;
  bad = MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  bad |= MPI_File_set_view(file, 4 * rank, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  bad |= MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  bad |= MPI_File_close(&file);
  bad |= MPI_Finalize();
  return bad != 0;
}
C
bytes() { od -An -v -td4 "$1" | tr -s ' \n' ' '; }
run() {   # run FLAVOUR COMMAND...: two ranks; the program's data and the tool's log must be there
  local flavour="$1" text
  shift
  rm -f "$scratch/data" "$scratch/log"
  text="$(cd "$scratch" && timeout 60 "$@" 2>"$scratch/err")" || fail "$* : $text $(tail -n 5 "$scratch/err")"
  equals "$(bytes "$scratch/data")" " 1 2 "
  equals "$(bytes "$scratch/log")" " 1 1 1 1 1 1 1 1 1 1 1 1 "
  contains "$text" "PMPI from $folder/"
}
tried=0
for flavour in mpich openmpi; do
  launcher="mpirun.$flavour"
  command -v "mpicc.$flavour" >/dev/null && command -v "$launcher" >/dev/null && [ -e "$folder/libmercutio-$flavour.so" ] || continue
  tried=1
  mapfile -t flags < <(launch_flags "$launcher")
  "mpicc.$flavour" "$scratch/main.c" -o "$scratch/app"
  "mpicc.$flavour" -shared -fPIC -DBY_NAME "$scratch/tool.c" -o "$scratch/libtool.so" -ldl
  "mpicc.$flavour" "$scratch/main.c" "$scratch/tool.c" -o "$scratch/linked" -ldl
  run "$flavour" env LD_PRELOAD="$scratch/libtool.so" "$MERCUTIO" run -- "$launcher" "${flags[@]}" ./app
  run "$flavour" "$MERCUTIO" run -- "$launcher" "${flags[@]}" ./linked
  # Linked as a library, behind ours.
  "mpicc.$flavour" -shared -fPIC "$scratch/tool.c" -o "$scratch/liblinked.so" -ldl
  "mpicc.$flavour" "$scratch/main.c" -o "$scratch/app_of_tool" "$scratch/liblinked.so" -Wl,-rpath,"$scratch"
  run "$flavour" "$MERCUTIO" run -- "$launcher" "${flags[@]}" ./app_of_tool
  # Preloaded behind ours, by hand. (One that looks behind itself for PMPI_File_* has to come before: mercutio doctor says so.)
  run "$flavour" "$launcher" "${flags[@]}" env LD_PRELOAD="$folder/libmercutio.so:$scratch/liblinked.so" ./app
  run "$flavour" "$launcher" "${flags[@]}" env LD_PRELOAD="$scratch/liblinked.so:$folder/libmercutio.so" ./app
  # Its log is none of the program's files.
  run "$flavour" env LD_PRELOAD="$scratch/libtool.so" "$MERCUTIO" run --trace="$scratch/trace" -- "$launcher" "${flags[@]}" ./app
  table="$("$MERCUTIO" report "$scratch/trace" --csv)"
  contains "$table" '"data"'
  lacks "$table" '"log"'
done
[ "$tried" = 1 ] || skip "no compiler wrapper with a backend here"
