#!/usr/bin/env bash
# Unpacks Debian's packages of another processor, and what they depend on, into a folder, for cross compilers (--sysroot) and qemu-user (-L).
# Nothing of them is run, and this system's own packages don't change. Needs apt-get; no root.
#
#   scripts/sysroot.sh PROCESSOR FOLDER PACKAGE...      PROCESSOR as Debian calls it: arm64, s390x, riscv64, ppc64el
set -euo pipefail
processor="$1" folder="$2"
shift 2
stamp="$folder/.complete"
[ "$(cat "$stamp" 2>/dev/null)" != "$*" ] || exit 0
mkdir -p "$folder"
folder="$(cd "$folder" && pwd)"
apt="$folder/.apt"
rm -f "$stamp"
mkdir -p "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status"   # nothing is installed: so apt fetches every dependency
apt_get() {
  apt-get -qq -o APT::Architecture="$processor" -o APT::Architectures="$processor" -o APT::Sandbox::User=root -o Dir::State="$apt" \
    -o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt" -o Dir::Cache::Archives="$apt/archives" \
    -o Debug::NoLocking=1 "$@"
}
apt_get update || echo "sysroot: an index could not be had, what it lists is left out" >&2   # a mirror may be between two states of one
apt_get -y --no-install-recommends --download-only install "$@"
for package in "$apt"/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
rm -rf "$apt"

# Links with absolute paths lead out of the folder, for compilers at least.
find "$folder" -type l -lname '/*' | while read -r link; do
  target="$(readlink "$link")"
  ln -sfnr "$folder$target" "$link"
done
echo "$*" >"$stamp"
