#!/usr/bin/env bash
# An installed tree, moved to another prefix, serves find_package, pkg-config, the command and the man pages; a program
# linked through either uses the library without any preload.
. "$(dirname "$0")/lib.sh"
: "${TEST_BUILD:?}"
prefix="$scratch/prefix"
cmake --install "$TEST_BUILD" --prefix "$prefix" >"$scratch/log" 2>&1 || fail "$(tail -n 5 "$scratch/log")"
installed="$prefix/bin/mercutio"
contains "$("$installed" preload)" "$prefix/"
[ -e "$prefix/share/man/man1/mercutio.1" ] && [ -e "$prefix/share/man/man7/mercutio.7" ] || fail "no man pages"

libdir="$(dirname "$("$installed" preload)")"
export PKG_CONFIG_PATH="$libdir/pkgconfig"
equals "$(pkg-config --modversion mercutio)" "$("$installed" version | cut -d' ' -f2)"
[ -e "$(pkg-config --variable=preload mercutio)" ] || fail "the preload that pkg-config names is not there"

mkdir "$scratch/app"
cat >"$scratch/app/main.c" <<'C'
int main(void) { return 0; }
C
cat >"$scratch/app/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.22)
project(app C)
find_package(mercutio 0.1 REQUIRED)
add_executable(app main.c)
target_link_libraries(app PRIVATE mercutio::mercutio)
C
cmake -S "$scratch/app" -B "$scratch/app/build" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
cmake --build "$scratch/app/build" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
contains "$(ldd "$scratch/app/build/app")" "libmercutio"

# shellcheck disable=SC2046
cc "$scratch/app/main.c" -o "$scratch/app/linked" $(pkg-config --cflags --libs mercutio)
contains "$(ldd "$scratch/app/linked")" "$prefix"
"$scratch/app/linked"
