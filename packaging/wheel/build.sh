#!/usr/bin/env bash
# Builds the wheel for glibc 2.28 or newer from the release tarball (`make dist`), and checks it.
#
#   packaging/wheel/build.sh TARBALL FOLDER [x86_64|aarch64]      the wheel appears in FOLDER; intermediate files stay beside it
#
# aarch64 is built by Debian's cross compiler with Debian's libraries in FOLDER/sysroot-aarch64 (scripts/sysroot.sh).
# OpenSSL, lz4 and liburing are linked in from the system's static libraries, the C++ library from the compiler's, all against
# stubs of the C library (packaging/oldlibc), which are made anew each time. The same tarball on the same system gives the same wheel.
set -euo pipefail
arch="${3:-x86_64}" glibc=2.28
tarball="$(realpath "$1")"
mkdir -p "$2"
out="$(cd "$2" && pwd)"
packaging="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
name="$(basename "$tarball" .tar.gz)"
python="$out/tools/bin/python"

if [ ! -e "$out/tools/complete" ]; then
  rm -rf "$out/tools"
  python3 -m venv "$out/tools"
  "$python" -m pip -q --disable-pip-version-check install ziglang==0.17.1 scikit-build-core==1.1.2 auditwheel==6.8.2 wheel==0.48.0
  touch "$out/tools/complete"
fi
stubs="$out/oldlibc-$arch"
rm -rf "$stubs" "$out/made" "${out:?}/$name" "$out"/*_"$arch".whl
if [ "$arch" = aarch64 ]; then
  export SYSROOT="$out/sysroot-$arch" _PYTHON_HOST_PLATFORM="linux-$arch"
  "$packaging/../scripts/sysroot.sh" arm64 "$SYSROOT" libc6-dev libssl-dev liblz4-dev libxxhash-dev liburing-dev libcli11-dev libtomlplusplus-dev \
    >"$out/sysroot.log" 2>&1 || { tail -n 20 "$out/sysroot.log"; exit 1; }
fi
PYTHON="$python" ARCH="$arch" "$packaging/oldlibc/stubs.sh" "$stubs" "$glibc"
tar -xf "$tarball" -C "$out"

SOURCE_DATE_EPOCH="$(stat -c %Y "$out/$name/CMakeLists.txt")"   # the commit's time
export SOURCE_DATE_EPOCH CMAKE_TOOLCHAIN_FILE="$stubs/toolchain.cmake"
"$python" -m pip -q --disable-pip-version-check wheel --no-deps --no-build-isolation -w "$out/made" \
  -C "build-dir=$out/$name/build" -C install.strip=true "$out/$name" >"$out/wheel.log" 2>&1 || { tail -n 40 "$out/wheel.log"; exit 1; }
made="$("$python" -m wheel tags --remove --platform-tag "manylinux_${glibc/./_}_$arch" "$out"/made/*linux_"$arch".whl)"
"$python" "$packaging/wheel/check.py" --glibc "$glibc" --build "$out" --auditwheel "$out/tools/bin/auditwheel" "$out/made/$made"
mv "$out/made/$made" "$out/"
echo "$out/$made"
