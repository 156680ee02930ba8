#!/usr/bin/env bash
# Tries a wheel for aarch64 as try.sh does, emulated: in a root with Debian's Python for arm64, with PyPI's MPIs for aarch64. Needs apt-get,
# qemu-user-static and Linux 6.7: there a user namespace has a binfmt_misc of its own, so no other process on this machine sees qemu.
#
#   packaging/wheel/try_aarch64.sh WHEEL FOLDER [mpich|openmpi]...      mpich unless told otherwise
#
# RESULTS: a file for lines of JSON.
set -euo pipefail
wheel="$(realpath "$1")"
mkdir -p "$2"
folder="$(cd "$2" && pwd)"
packaging="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
root="$folder/root-aarch64"
shift 2
[ $# -gt 0 ] || set -- mpich
"$packaging/../scripts/sysroot.sh" arm64 "$root" python3-venv libstdc++6 base-files libc-bin bash coreutils findutils grep sed tar gzip >"$folder/root.log" 2>&1 \
  || { tail -n 20 "$folder/root.log"; exit 1; }
mkdir -p "$root"/{proc,dev,tmp,root,mnt,etc/ssl/certs}
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"   # those of a site's own proxy, too
echo root:x:0:0:root:/root:/bin/bash >"$root/etc/passwd"
rm -rf "$root/tmp/try"
cp -r "$packaging" "$wheel" "$root/mnt/"

unshare --user --map-root-user --mount --pid --fork --kill-child bash -euo pipefail -c '
  root="$1"
  shift
  mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  # The head of an ELF file for aarch64 (machine 183); F: the emulator is opened now, as the root has none.
  zeros="\x00\x00\x00\x00\x00\x00\x00\x00" any="\xff\xff\xff\xff\xff\xff\xff\xff"
  printf %s ":aarch64:M::\x7fELF\x02\x01\x01\x00$zeros\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00$any\xfe\xff\xff\xff:$(command -v qemu-aarch64-static):F" \
    >/proc/sys/fs/binfmt_misc/register
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs tmpfs "$root/dev/shm"
  exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 RESULTS=/tmp/results.jsonl PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /mnt/packaging/wheel/try.sh "$@"
' try_aarch64.sh "$root" "/mnt/$(basename "$wheel")" /tmp "$@" && status=0 || status=$?
[ -z "${RESULTS:-}" ] || cat "$root/tmp/results.jsonl" >>"$RESULTS"
exit $status
