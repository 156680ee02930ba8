#!/usr/bin/env bash
# An installed tree, moved to another prefix, serves find_package, pkg-config, the command and the man pages; a program
# linked through either uses the library without any preload.
. "$(dirname "$0")/lib.sh"
: "${TEST_BUILD:?}"
root="$(cd "$(dirname "$0")/../.." && pwd)"
# Nothing can be preloaded from some prefixes, which is said before anything is built.
contains "$(MAKEFLAGS="" make -C "$root" install BUILD="$scratch/none" PREFIX="$scratch/a prefix" 2>&1 || true)" "no library can be preloaded from"
[ ! -e "$scratch/none" ] && [ ! -e "$scratch/a" ] || fail "it was built or installed anyway"
# Absolute folders become relative ones, or are refused.
printf 'include(%s/cmake/MercutioFolders.cmake)\nmessage("is ${CMAKE_INSTALL_LIBDIR}")\n' "$root" >"$scratch/folders.cmake"
folders() { cmake -DCMAKE_INSTALL_PREFIX=/opt/m "-DCMAKE_INSTALL_LIBDIR=$1" -P "$scratch/folders.cmake" 2>&1 | tr -s ' \n' ' '; }
equals "$(folders /opt/m/lib64)$(folders lib)" "is lib64 is lib "
contains "$(folders /usr/lib)" "CMAKE_INSTALL_LIBDIR=/usr/lib: must be in CMAKE_INSTALL_PREFIX=/opt/m"
contains "$(folders /opt/mm/lib)" "must be in CMAKE_INSTALL_PREFIX=/opt/m"
prefix="$scratch/prefix"
cmake --install "$TEST_BUILD" --prefix "$prefix" >"$scratch/log" 2>&1 || fail "$(tail -n 5 "$scratch/log")"
installed="$prefix/bin/mercutio"
contains "$("$installed" preload)" "$prefix/"
[ -e "$prefix/share/man/man1/mercutio.1" ] && [ -e "$prefix/share/man/man7/mercutio.7" ] || fail "no man pages"
[ -e "$prefix/share/man/man3/omp_file.3" ] && [ -e "$prefix/share/man/man3/omp_file_read_com_all.3" ] || fail "no man page of omp_file"

libdir="$(dirname "$("$installed" preload)")"
export PKG_CONFIG_PATH="$libdir/pkgconfig"
equals "$(pkg-config --modversion mercutio)" "$("$installed" version | cut -d' ' -f2)"
[ -e "$(pkg-config --variable=preload mercutio)" ] || fail "the preload that pkg-config names is not there"

mkdir "$scratch/app"
cat >"$scratch/app/main.c" <<'C'
int main(void) { return 0; }
C
: >"$scratch/file"
cat >"$scratch/app/threads.c" <<'C'
#include <mercutio/omp_file.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int fd = -1, failed = 0;
#pragma omp parallel shared(fd) num_threads(2) reduction(+ : failed)
  {
    failed += omp_file_open_all(&fd, argv[argc - 1], O_RDWR) != 0;
    failed += omp_file_write_com_all("written", 7, fd, OMP_FILE_NO_HINT) != 7;
    failed += omp_file_close_all(fd) != 0;
    if (failed) puts(omp_file_message());
  }
  return failed;
}
C
cat >"$scratch/app/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.22)
project(app C)
find_package(mercutio 0.1 REQUIRED)
add_executable(app main.c)
target_link_libraries(app PRIVATE mercutio::mercutio)
add_executable(threads threads.c)
target_link_libraries(threads PRIVATE mercutio::omp)
C
# With LIBRARY_PATH, too, which the module sets and CMake takes for the compiler's own.
for library_path in "" "$libdir"; do
  rm -rf "$scratch/app/build"
  LIBRARY_PATH=$library_path cmake -S "$scratch/app" -B "$scratch/app/build" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
  LIBRARY_PATH=$library_path cmake --build "$scratch/app/build" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
  contains "$(ldd "$scratch/app/build/app")" "$libdir/libmercutio"
  : >"$scratch/file"
  "$scratch/app/build/threads" "$scratch/file"
  equals "$(cat "$scratch/file")" written
done

# For OpenMP no MPI is needed, and without -fopenmp a team is one thread.
: >"$scratch/file"
# shellcheck disable=SC2046
cc -fopenmp "$scratch/app/threads.c" -o "$scratch/app/threads" $(pkg-config --cflags --libs mercutio-omp)
lacks "$(ldd "$scratch/app/threads")" libmpi
"$scratch/app/threads" "$scratch/file"
equals "$(cat "$scratch/file")" written
[ -e "$(pkg-config --variable=fortransource mercutio-omp)" ] || fail "the source of the Fortran module is not there"

# shellcheck disable=SC2046
cc "$scratch/app/main.c" -o "$scratch/app/linked" $(pkg-config --cflags --libs mercutio)
contains "$(ldd "$scratch/app/linked")" "$prefix"
"$scratch/app/linked"
