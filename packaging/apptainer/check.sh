#!/usr/bin/env bash
# Does what the Apptainer definition says, without Apptainer: a new root of its Debian, its files, %post as root, %test as a user in
# its %environment. Then two ranks write a file through its %runscript.
#
#   packaging/apptainer/check.sh DEFINITION FOLDER      FOLDER: that of packaging/deb/build.sh
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

section() { awk -v name="%$1" '/^%/ { on = ($1 == name); next } on' "$definition"; }
header() { sed -n '/^%/q; s/^'"$1"': *//p' "$definition"; }

inside() {
  definition="$1"
  local scratch said
  scratch="$(mktemp -d)"
  chmod 755 "$scratch"
  section files | while read -r from to; do
    [ -n "$from" ] || continue
    mkdir -p "$to"
    cp /mnt/deb/$from "$to"   # a pattern
  done
  section post >"$scratch/post"
  sh "$scratch/post"
  (section environment; section test) >"$scratch/test"
  (section environment; section runscript) >"$scratch/runscript"
  useradd user
  mkdir -m 777 "$scratch/data"
  runuser -u user -- sh "$scratch/test"
  said="$(OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none PMIX_MCA_gds=hash runuser -u user -- \
    sh "$scratch/runscript" run -- mpirun -n 2 python3 "$here/../wheel/through.py" "$scratch/data/file")"
  python3 "$here/../wheel/compare.py" "$scratch/data/file"
  echo "$said"
}

if [ "$1" = --inside ]; then
  inside "$2"
  exit
fi
definition="$(realpath "$1")" folder="$(realpath "$2")"
unknown="$(grep '^%' "$definition" | grep -vxE '%(labels|help|files|post|environment|runscript|test)' || true)"
[ -z "$unknown" ] || { echo "check.sh: not a section that is checked: $unknown" >&2; exit 1; }
[ "$(header Bootstrap)" = debootstrap ] || { echo "check.sh: Bootstrap is not debootstrap" >&2; exit 1; }
tree="$(cd "$folder"/deb/mercutio-*/ && echo "${PWD##*/}")"
"$here/../root.sh" "$(header OSVersion)" "$folder" "/mnt/deb/$tree/packaging/apptainer/check.sh" --inside "/mnt/${definition#"$folder"/}"
