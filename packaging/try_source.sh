#!/usr/bin/env bash
# Builds the release tarball with GCC, CMake, Make and toml++, and nothing else that it could use, in a new root of Debian 12: all backends must be there,
# and the table must name each part that is left out. Wrong settings must fail. What is installed runs a program. Needs root.
#
#   packaging/try_source.sh TARBALL FOLDER      RESULTS names a file in FOLDER for lines of JSON
#
# Inside, as root of the new root, it calls itself with --inside.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
left_out=("io_uring" "remote files" "files in S3" "Fortran module" "mercutio command" "tests")

inside() {
  . "$here/result.sh"
  apt-get -qq update
  apt-get -qq -y --no-install-recommends install cmake make g++ libtomlplusplus-dev >/dev/null
  cd /tmp
  local configure=(cmake -S "$here/.." -B build -G "Unix Makefiles" -DBUILD_TESTING=OFF) part
  for wrong in REMOTE=ON COMMAND=ON S3=ON URING=ON FORTRAN=ON REMOTE=perhaps; do
    ! "${configure[@]}" "-DMERCUTIO_$wrong" >wrong.log 2>&1 || { echo "try_source.sh: -DMERCUTIO_$wrong is accepted"; return 1; }
    grep -q "MERCUTIO_${wrong%=*}" wrong.log || { cat wrong.log; return 1; }
    rm -rf build
  done
  "${configure[@]}" -DCMAKE_CXX_FLAGS_RELEASE=-O1 >configure.log 2>&1 || { cat configure.log; return 1; }
  grep -E "^--   backends +yes +MPICH, Open MPI, the standard ABI of MPI 5" configure.log
  for part in "${left_out[@]}"; do grep -E "^--   $part +no +." configure.log; done
  cmake --build build -j "${JOBS:-2}" >build.log 2>&1 || { tail -n 40 build.log; return 1; }
  cmake --install build >install.log
  for part in mercutio mercutio-mpich mercutio-openmpi mercutio-abi; do [ -e "/usr/local/lib/lib$part.so" ]; done
  LD_PRELOAD=/usr/local/lib/libmercutio.so /bin/true
  result source "GCC, CMake, Make, toml++" "BUILD_TESTING=OFF: three backends, six parts left out and named, six wrong settings refused" passed
}

if [ "$1" = --inside ]; then
  inside
  exit
fi
tarball="$(realpath "$1")"
folder="$(realpath "$2")"
rm -rf "$folder/source"
mkdir -p "$folder/source"
tar -xf "$tarball" -C "$folder/source"
"$here/root.sh" bookworm "$folder" env "RESULTS=${RESULTS:+/mnt/$(basename "$RESULTS")}" "JOBS=${JOBS:-2}" \
  "/mnt/source/$(basename "$tarball" .tar.gz)/packaging/try_source.sh" --inside >"$folder/source/try.log" 2>&1 || { tail -n 40 "$folder/source/try.log"; exit 1; }
grep '^source on' "$folder/source/try.log"
