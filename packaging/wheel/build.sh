#!/usr/bin/env bash
# Builds the wheel for x86-64 and glibc 2.28 or newer from the release tarball (`make dist`), and checks it.
#
#   packaging/wheel/build.sh TARBALL FOLDER      the wheel appears in FOLDER; intermediate files stay beside it
#
# OpenSSL, lz4 and liburing are linked in from the system's static libraries, the C++ library from the compiler's, all against
# stubs of the C library (packaging/oldlibc), which are made anew each time. The same tarball on the same system gives the same wheel.
set -euo pipefail
arch=x86_64 glibc=2.28
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
rm -rf "$out/oldlibc" "$out/made" "${out:?}/$name" "$out"/*.whl
PYTHON="$python" "$packaging/oldlibc/stubs.sh" "$out/oldlibc" "$glibc"
tar -xf "$tarball" -C "$out"

SOURCE_DATE_EPOCH="$(stat -c %Y "$out/$name/CMakeLists.txt")"   # the commit's time
export SOURCE_DATE_EPOCH CMAKE_TOOLCHAIN_FILE="$out/oldlibc/toolchain.cmake"
"$python" -m pip -q --disable-pip-version-check wheel --no-deps --no-build-isolation -w "$out/made" \
  -C "build-dir=$out/$name/build" -C install.strip=true "$out/$name" >"$out/wheel.log" 2>&1 || { tail -n 40 "$out/wheel.log"; exit 1; }
made="$("$python" -m wheel tags --remove --platform-tag "manylinux_${glibc/./_}_$arch" "$out"/made/*linux_"$arch".whl)"
"$python" "$packaging/wheel/check.py" --glibc "$glibc" --build "$out" --auditwheel "$out/tools/bin/auditwheel" "$out/made/$made"
mv "$out/made/$made" "$out/"
echo "$out/$made"
