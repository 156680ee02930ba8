# shellcheck shell=bash
# What the scripts of this folder share. MERCUTIO is the command; a test fails by leaving with a code other than 0.
# 77 tells ctest that a test cannot run here.
set -euo pipefail
: "${MERCUTIO:?the path of the mercutio command}"
unset MERCUTIO_HINTS MERCUTIO_HINTS_FILE MERCUTIO_PROFILE MERCUTIO_PRINT_HINTS MERCUTIO_WARN MERCUTIO_DISABLE ROMIO_HINTS \
  ROMIO_PRINT_HINTS MPICH_MPIIO_HINTS MPICH_MPIIO_HINTS_DISPLAY LD_PRELOAD
export MERCUTIO_SITE_HINTS=/dev/null   # not what the machine has
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
skip() { printf 'skipped: %s\n' "$*"; exit 77; }

# contains TEXT PART
contains() { case "$1" in *"$2"*) ;; *) fail "'$2' is not in: $1" ;; esac; }
lacks() { case "$1" in *"$2"*) fail "'$2' is in: $1" ;; esac; }
equals() { [ "$1" = "$2" ] || fail "'$1' is not '$2'"; }

# A Python that draws reports, if there is one.
python_for_reports() {
  local one
  for one in python3 /usr/bin/python3 "$(dirname "${BASH_SOURCE[0]}")/../../.venv/bin/python"; do
    if "$one" -c 'import jinja2, matplotlib' 2>/dev/null; then
      printf '%s\n' "$one"
      return
    fi
  done
}

# A launcher that says what it is asked: fake_launcher NAME VERSION-TEXT
fake_launcher() {
  mkdir -p "$scratch/bin"
  printf '#!/bin/sh\n[ "$1" = --version ] && echo "%s" && exit 0\nprintf "%%s\\n" "$@"\n' "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

# Of mpich or openmpi: `flags` are those of its launcher for two ranks, and `ran` counts it. False where it isn't installed.
use_mpi() {
  command -v "mpicc.$1" >/dev/null && command -v "mpirun.$1" >/dev/null || return 1
  ran=$((ran + 1))
  mapfile -t flags < <(launch_flags "mpirun.$1")
}

launch_flags() {   # what makes this launcher start two ranks here
  case "$1" in
    *openmpi*)
      printf '%s\n' --oversubscribe
      [ "$(id -u)" -ne 0 ] || printf '%s\n' --allow-run-as-root
      ;;
  esac
  printf '%s\n' -n 2
}
