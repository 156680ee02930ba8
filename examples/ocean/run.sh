#!/usr/bin/env bash
# The demonstration: examples/ocean/ocean.c, a plain MPI program, on the host MPI's own I/O and again through Mercutio.
#
#   examples/ocean/run.sh [BUILD_FOLDER]      (default: build/)
#
# Makes the mesh from real ocean data (kept in BUILD_FOLDER/demo), runs both sides in turn, demands byte-identical files that
# do not depend on the number of ranks either, prints both times and draws BUILD_FOLDER/demo/ocean.png from Mercutio's file.
# OCEAN_MONTHS (60), OCEAN_RANKS (4), OCEAN_ROUNDS (2) and OCEAN_MPI (mpich, openmpi, or a suffix of mpicc) may be set.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
source_dir="$root/examples/ocean"
cd "$root"
build="${1:-build}"
mkdir -p "$build/demo"
build="$(cd "$build" && pwd)"
demo="$build/demo"
months="${OCEAN_MONTHS:-60}"
ranks="${OCEAN_RANKS:-4}"
rounds="${OCEAN_ROUNDS:-2}"
other=$((ranks > 1 ? ranks - 1 : 2))

source "$root/examples/lib.sh"

prepare_mesh() {
  local data
  data="$(dirname "$(find third_party/wheels/iris-sample-data -name 'nemo_1m_20150101-20150201_grid-T.nc' -print -quit 2>/dev/null)")"
  [ "$data" != . ] || die "the ocean data is missing: scripts/setup.sh demo fetches it (PyPI's iris-sample-data)"
  if [ -s "$demo/mesh.bin" ] && [ -s "$demo/geometry.npz" ] && [ "$demo/mesh.bin" -nt "$source_dir/prepare.py" ]; then
    say "mesh: $demo/mesh.bin is there already"
    return
  fi
  say "mesh: from the NEMO model's grid and sea surface temperature, January to March 2015"
  "$python" "$source_dir/prepare.py" "$data" "$demo/mesh.bin" "$demo/geometry.npz" || die "the mesh could not be made"
}

compile() {
  say "program: examples/ocean/ocean.c with $(basename "$mpicc") ($mpi_name)"
  # The same sums whatever the compiler's taste for fused multiply-adds: files are compared bit for bit.
  "$mpicc" -std=c11 -O2 -ffp-contract=off "$source_dir/ocean.c" -o "$demo/ocean" >"$demo/compile.log" 2>&1 || {
    cat "$demo/compile.log" >&2
    die "ocean.c does not compile"
  }
}

# run host|mercutio RANKS OUTPUT MONTHS: leaves the program's last line in $result. Its output is kept for the message of a failure.
run() {
  local side="$1" count="$2" output="$3" length="$4"
  local command=("$mpirun")
  rm -f "$output"
  [ "$side" = host ] || command=("$build/bin/mercutio" run -- "$mpirun")
  if ! timeout 300 env -u LD_PRELOAD -u MERCUTIO_DISABLE "${command[@]}" "${flags[@]}" -n "$count" "$demo/ocean" "$demo/mesh.bin" "$output" \
      "$length" >"$demo/$side.log" 2>&1; then
    tail -n 30 "$demo/$side.log" >&2
    die "the run on $count ranks ($side) failed"
  fi
  result="$(grep '^ocean: verified' "$demo/$side.log")" || die "the run on $count ranks ($side) verified nothing"
  say "$(printf '%-8s %s ranks: %s' "$side" "$count" "${result#ocean: }")"
}

seconds() { sed -n "s/.* $1 \([0-9.]*\) s.*/\1/p" <<<"$result"; }
smaller() { awk -v a="${1:-}" -v b="$2" 'BEGIN { print (a == "" || b + 0 < a + 0) ? b : a }'; }

same() {
  cmp "$1" "$2" >&2 || die "$3"
}

# Both sides in turn, so that neither has the quieter half of the time; the better of each side's runs counts.
compare() {
  local round side
  declare -gA best_total=() best_output=()
  for ((round = 0; round < rounds; round++)); do
    for side in host mercutio; do
      run "$side" "$ranks" "$demo/$side.bin" "$months"
      best_total[$side]="$(smaller "${best_total[$side]:-}" "$(seconds total)")"
      best_output[$side]="$(smaller "${best_output[$side]:-}" "$(seconds output)")"
    done
    same "$demo/host.bin" "$demo/mercutio.bin" "host.bin and mercutio.bin differ"
  done
}

# A file written on another number of ranks is the same file. Its first year has to do: months are appended.
compare_ranks() {
  local side year=$((months < 12 ? months : 12))
  for side in host mercutio; do
    run "$side" "$other" "$demo/other.bin" "$year"
    [ -s "$demo/other.bin" ] || die "$demo/other.bin is empty"
    cmp -n "$(stat -c %s "$demo/other.bin")" "$demo/mercutio.bin" "$demo/other.bin" >&2 ||
      die "the file written on $other ranks ($side) differs from the one on $ranks"
    rm -f "$demo/other.bin"
  done
}

table() {
  local side megabytes
  megabytes=$(($(stat -c %s "$demo/mercutio.bin") / 1000000))
  printf '\n  %-22s %10s %12s %12s\n' "$ranks ranks, $megabytes MB" "total s" "output s" "output MB/s"
  for side in host mercutio; do
    printf '  %-22s %10s %12s %12s\n' "$([ $side = host ] && echo "$mpi_name's own I/O" || echo Mercutio)" \
      "${best_total[$side]}" "${best_output[$side]}" \
      "$(awk -v m="$megabytes" -v s="${best_output[$side]}" 'BEGIN { if (s > 0) printf "%.0f", m / s; else printf "-" }')"
  done
  printf '\n'
}

find_mpi "${OCEAN_MPI:-}"
launcher_flags
prepare_mesh
compile
check_library "$demo/ocean"
compare
compare_ranks
say "files: byte-identical on both I/O libraries, and their first year on $ranks and $other ranks"
"$python" "$source_dir/draw.py" "$demo/mercutio.bin" "$demo/geometry.npz" "$demo/ocean.png" || die "the picture could not be drawn"
table
rm -f "$demo/host.bin"
say "picture: $demo/ocean.png"
