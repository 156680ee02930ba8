#!/usr/bin/env bash
# What binaries are linked against that are to run on older systems: stubs of the C library with the symbols of a chosen version,
# made by zig (PyPI's ziglang). Only linking sees them: the compiler, its headers and its C++ library stay the host's, so that what
# is shipped is compiled as what is tested. Functions that only newer C libraries have are in later.c; what it lacks, the linker names.
#
#   packaging/oldlibc/stubs.sh FOLDER [GLIBC]      GLIBC: 2.28 unless told otherwise; FOLDER/toolchain.cmake is what CMake needs
#
# PYTHON names a Python that has ziglang. ARCH: x86_64 (if not set), or aarch64 by Debian's cross compiler; SYSROOT then has Debian's libraries
# for it (scripts/sysroot.sh), and the toolchain includes cmake/toolchains/aarch64.cmake.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
glibc="${2:-2.28}"
mkdir -p "$1"
folder="$(cd "$1" && pwd)"
root="${SYSROOT:-}" cross=
case "${ARCH:=x86_64}" in
  x86_64) loader=ld-linux-x86-64.so.2 ;;
  aarch64) loader=ld-linux-aarch64.so.1 ;;
  *) echo "stubs.sh: for x86_64 and aarch64 only" >&2; exit 2 ;;
esac
triplet="$ARCH-linux-gnu"
[ "$(uname -m)" = "$ARCH" ] || cross="$triplet-"
target="$folder/usr/lib/$triplet"
mkdir -p "$target"

# The files that zig hands its linker for a program of that version.
printf 'int main(void) { return 0; }\n' >"$folder/empty.c"
command="$(cd "$folder" && ZIG_GLOBAL_CACHE_DIR="$folder/zig" ZIG_LOCAL_CACHE_DIR="$folder/zig" \
  "${PYTHON:-python3}" -m ziglang cc -target "$triplet.$glibc" -O1 -fno-sanitize=undefined -pie empty.c -o empty -v 2>&1 | grep '^ld.lld.* -o empty ')"
for file in $command; do
  case "$file" in
    zig/*/Scrt1.o | zig/*/libc_nonshared.a | zig/*/lib*.so.*) cp "$folder/$file" "$target/" ;;
  esac
done
mv "$target/libld.so.2" "$target/$loader"
for name in m pthread dl rt util resolv; do ln -sf "$(basename "$target/lib$name.so".*)" "$target/lib$name.so"; done
for name in crti.o crtn.o; do cp "$("${cross}g++" ${root:+--sysroot="$root"} -print-file-name=$name)" "$target/"; done
cp "$target/Scrt1.o" "$target/crt1.o"
"${cross}gcc" -O2 -fPIC -Wall -Wextra -c "$here/later.c" -o "$folder/later.o"
"${cross}ar" qD "$target/libc_nonshared.a" "$folder/later.o"
echo "GROUP ( $target/libc.so.6 $target/libc_nonshared.a AS_NEEDED ( $target/$loader ) )" >"$target/libc.so"

# Programs must not copy variables of the C library: a stub doesn't say that environ is __environ, and the copy stays empty.
printf 'set(CMAKE_%s_COMPILE_OPTIONS_PIE "-fPIC")\n' C CXX >"$folder/rules.cmake"

compilers=
[ -z "$cross" ] || compilers="set(MERCUTIO_SYSROOT \"$root\")
include(\"$(realpath "$here/../../cmake/toolchains/$ARCH.cmake")\")"

# Libraries that become parts of ours: what is shipped must not need one more shared library.
cat >"$folder/toolchain.cmake" <<EOF
# Written by packaging/oldlibc/stubs.sh: C library $glibc.
$compilers
set(stubs "-B$target -L$target -Wl,--allow-shlib-undefined")   # a --sysroot would come after the compiler's own folders
set(CMAKE_SHARED_LINKER_FLAGS_INIT "\${stubs}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "\${stubs}")
set(CMAKE_EXE_LINKER_FLAGS_INIT "\${stubs} -static-libstdc++ -Wl,--exclude-libs,ALL")
set(CMAKE_C_STANDARD_LIBRARIES_INIT "-lpthread -ldl")   # newer C libraries have all in one
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-lpthread -ldl")
set(CMAKE_USER_MAKE_RULES_OVERRIDE "$folder/rules.cmake")
set(OPENSSL_USE_STATIC_LIBS TRUE)
set(MERCUTIO_LZ4_LIBRARY $root/usr/lib/$triplet/liblz4.a CACHE FILEPATH "")
EOF
