#!/usr/bin/env bash
# Builds the committed sources twice, in folders of different names and lengths, under another time zone, language and file mode mask, and
# compares what is installed byte by byte (`make reproducible`). No compiler cache is used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
export CCACHE_DISABLE=1
commit="$(git rev-parse HEAD)"   # of both, also if one is committed meanwhile

# build_in PLACE: installs a build of PLACE/source into PLACE/installed.
build_in() {
  local place="$folder/$1"
  mkdir -p "$place/source"
  git archive "$commit" | tar -x -C "$place/source"
  cmake -S "$place/source" -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DCMAKE_INSTALL_PREFIX=/usr \
    >"$place/configure.log" 2>&1 || { cat "$place/configure.log"; exit 1; }
  ninja -C "$place/build" -j "${JOBS:-$(nproc)}" --quiet
  DESTDIR="$place/installed" cmake --install "$place/build" >"$place/install.log"
}
(build_in first)
(umask 027; export TZ=Asia/Tokyo LC_ALL=C.UTF-8; build_in "second/with a much longer name")
diff -r "$folder/first/installed" "$folder/second/with a much longer name/installed"
echo "the two builds are identical: $(find "$folder/first/installed" -type f | wc -l) files"
