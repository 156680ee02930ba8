#!/usr/bin/env bash
# Runs a command as root in a new root of Debian, which is deleted afterwards. Needs debootstrap, and root.
#
#   packaging/root.sh SUITE FOLDER COMMAND...      SUITE: bookworm, bullseye; FOLDER is /mnt there
#
# The root is debootstrap's minbase. It is kept in FOLDER/roots, as are the packages that apt fetches.
set -euo pipefail
suite="$1"
folder="$(realpath "$2")"
shift 2
base="$folder/roots/$suite"
mkdir -p "$folder/roots/archives"
[ "$(id -u)" -eq 0 ] || { echo "root.sh: needs root" >&2; exit 2; }
if [ ! -e "$base.complete" ]; then
  rm -rf "$base"
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$base" >"$base.log" 2>&1 || { tail -n 20 "$base.log"; exit 1; }
  touch "$base.complete"
fi
root="$(mktemp -d "$folder/roots/$suite.XXXXXX")"
trap 'rm -rf --one-file-system "$root"' EXIT
cp -a --reflink=auto "$base/." "$root"
chmod 755 "$root"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"   # those of a site's own proxy, too

unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
  root="$1" folder="$2"
  shift 2
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/dev/shm"
  mount --bind "$folder/roots/archives" "$root/var/cache/apt/archives"
  mount --bind "$folder" "$root/mnt"
  exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
' root.sh "$root" "$folder" "$@"
