# shellcheck shell=bash
# What the demonstrations share: messages, which MPI, and whether the ranks would get Mercutio. Uses $root, $build and $demo.

python="$root/.venv/bin/python"
[ -x "$python" ] || python=/usr/bin/python3

say() { printf 'demo: %s\n' "$*"; }
die() {
  printf 'demo: FAILED: %s\n' "$*" >&2
  exit 1
}

# find_mpi SUFFIX: that of mpicc and mpirun, or empty. Sets $mpicc and $mpirun.
find_mpi() {
  local suffix
  for suffix in ${1:+".$1"} .mpich .openmpi ""; do
    if command -v "mpicc$suffix" >/dev/null && command -v "mpirun$suffix" >/dev/null; then
      mpicc="$(command -v "mpicc$suffix")"
      mpirun="$(command -v "mpirun$suffix")"
      return
    fi
  done
  die "no mpicc and mpirun found; scripts/setup.sh demo installs them"
}

# Open MPI wants to be told about root and about more ranks than cores. Sets $flags and $mpi_name.
launcher_flags() {
  local version
  version="$("$mpirun" --version 2>&1)"   # all of it: a pipe closed early would end the launcher, and with it this script
  flags=()
  case "$version" in
    *"Open MPI"* | *OpenRTE*)
      flags=(--oversubscribe)
      [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
      mpi_name="Open MPI"
      ;;
    *)
      mpi_name="MPICH"
      ;;
  esac
}

# check_library PROGRAM. A comparison of the host's I/O with itself would prove nothing: ask whose MPI_File_* the ranks get
# under this launcher.
check_library() {
  [ -x "$build/bin/mercutio" ] || die "$build/bin/mercutio is missing: run make build first"
  if ! timeout 60 "$build/bin/mercutio" doctor -- "$mpirun" "${flags[@]}" -n 2 "$1" >"$demo/doctor.log" 2>&1 ||
    ! grep -q 'ok .*MPI_File_\*.*libmercutio' "$demo/doctor.log"; then
    cat "$demo/doctor.log" >&2
    die "the ranks would not get Mercutio's MPI_File_*"
  fi
  say "library: the ranks get MPI_File_*$(sed -n 's/.*ok .*MPI_File_\*//p' "$demo/doctor.log" | tr -s ' ')"
}
