#!/usr/bin/env bash
# Installs the packages of packaging/deb/build.sh by apt in a new root of Debian 12, runs their tests there (packaging/debian/tests) and
# mpi4py's own tests of I/O, as a user, and purges them. What is left behind is a failure. Needs debootstrap, and root.
#
#   packaging/deb/try.sh FOLDER [TEST]...      FOLDER: that of build.sh; RESULTS names a file in it for lines of JSON
#
# Inside, as root of the new root, it calls itself with --inside.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
packages=(mercutio libmercutio1 libmercutio-dev python3-mercutio)
ours="$(IFS='|'; echo "${packages[*]}")"

files() { find / -xdev \( -path /home -o -path /mnt -o -path /tmp -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg -o -path /var/log \) -prune -o -print | sort; }

depends() { awk -v test="$1" '/^Tests:/ { this = $2 } /^Depends:/ && this == test { sub("Depends:", ""); gsub(",", ""); print }' debian/tests/control; }

inside() {
  local apt=(apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends) failed=0 said test
  . "$here/../result.sh"
  cd "$here/../.."
  "${apt[@]}" update
  for test in "$@"; do
    # shellcheck disable=SC2046
    "${apt[@]}" install $(depends "$test" | tr ' ' '\n' | grep -Evx "$ours|")
  done
  "${apt[@]}" install python3-distutils   # of mpi4py's tests
  mkdir /tmp/mpi4py
  tar -xf /mnt/deb/mpi4py-*.tar.gz -C /tmp/mpi4py
  useradd --create-home user
  files >/tmp/before
  "${apt[@]}" install ../*.deb
  for test in "$@"; do
    if said="$(MPI4PY="$(echo /tmp/mpi4py/mpi4py-*/)" timeout 1200 runuser -u user -- "debian/tests/$test" 2>&1)"; then
      said="$(echo "$said" | { grep -E '^(Ran|through)' || true; } | sed 's/ in .*//' | sort -u | xargs)"
      result deb "$test" "${said:-debian/tests/$test}" passed
    else
      result deb "$test" "$(echo "$said" | tail -n 1)" failed
      echo "$said"
      failed=1
    fi
  done
  "${apt[@]}" purge "${packages[@]}"
  "${apt[@]}" autoremove --purge
  files | diff /tmp/before - >/tmp/left || true
  if [ -s /tmp/left ]; then
    result deb purge "$(wc -l </tmp/left) files differ" failed
    head -n 20 /tmp/left
    failed=1
  else
    result deb purge "nothing is left" passed
  fi
  return $failed
}

if [ "$1" = --inside ]; then
  shift
  inside "$@"
  exit
fi
folder="$(realpath "$1")"
shift
[ $# -gt 0 ] || set -- openmpi mpich dev python
# The tests are in the source archive, here of Debian 12's version.
python3 -m pip -q --disable-pip-version-check download --no-binary mpi4py --no-deps -d "$folder/deb" mpi4py==3.1.4
tree="$(cd "$folder"/deb/mercutio-*/ && echo "${PWD##*/}")"
"$here/../root.sh" bookworm "$folder" env "RESULTS=${RESULTS:+/mnt/$(basename "$RESULTS")}" "/mnt/deb/$tree/packaging/deb/try.sh" --inside "$@" \
  >"$folder/deb/try.log" 2>&1 || { tail -n 40 "$folder/deb/try.log"; exit 1; }
grep '^deb on' "$folder/deb/try.log"
