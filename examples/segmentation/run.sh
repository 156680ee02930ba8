#!/usr/bin/env bash
# The image segmentation: examples/segmentation/segmentation.c, a plain MPI program, blocking and nonblocking, on the host
# MPI's own I/O and through Mercutio, on storage that takes as long as the transforms.
#
#   examples/segmentation/run.sh [BUILD_FOLDER]      (default: build/)
#
# Makes the image from a real micrograph, checks the responses against numpy's, measures how long the computation takes, sets
# the rate of the storage (tests/tools/striped_servers.c) to that, runs all four in turn, demands identical files, prints their
# times and draws BUILD_FOLDER/segmentation/segmentation.png.
# SEGMENTATION_TILES (3: 1536 x 1536 pixels), SEGMENTATION_RANKS (2), SEGMENTATION_ROUNDS (1), SEGMENTATION_MPI (mpich,
# openmpi, or a suffix of mpicc) and SEGMENTATION_DATA (/dev/shm) may be set; SEGMENTATION_CHECK=1: a ratio below 1.5 fails.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
source_dir="$root/examples/segmentation"
cd "$root"
build="${1:-build}"
mkdir -p "$build/segmentation"
build="$(cd "$build" && pwd)"
demo="$build/segmentation"
tiles="${SEGMENTATION_TILES:-3}"
ranks="${SEGMENTATION_RANKS:-2}"
rounds="${SEGMENTATION_ROUNDS:-1}"
scales=4 orientations=6 servers=2 stripe=262144
storage="$build/tests/tools/libstriped_servers.so"
source "$root/examples/lib.sh"

find_picture() {
  picture="$(find third_party/wheels/scikit-image -path '*/skimage/data/ihc.png' -print -quit 2>/dev/null)"
  [ -n "$picture" ] || die "the micrograph is missing: scripts/setup.sh segmentation fetches it (PyPI's scikit-image)"
}

compile() {
  say "program: examples/segmentation/segmentation.c with $(basename "$mpicc") ($mpi_name)"
  "$mpicc" -std=gnu11 -O2 "$source_dir/segmentation.c" -o "$demo/segmentation" -lfftw3 -lm >"$demo/compile.log" 2>&1 || {
    cat "$demo/compile.log" >&2
    die "segmentation.c does not compile; scripts/setup.sh segmentation installs FFTW (libfftw3-dev)"
  }
}

# run host|mercutio MODE OUTPUT TILES RATE: leaves the program's line in $result. RATE 0: storage as it is.
run() {
  local side="$1" mode="$2" output="$3" times="$4" rate="$5" preload="" variables=()
  [ "$side" = host ] || preload="$("$build/bin/mercutio" preload)"
  if [ "$rate" -gt 0 ]; then
    preload="$preload${preload:+:}$storage"
    variables=(MERCUTIO_SERVERS_ROOT="$data" MERCUTIO_SERVERS_COUNT=$servers MERCUTIO_SERVERS_STRIPE=$stripe
      MERCUTIO_SERVERS_RATE="$rate")
  fi
  if ! timeout 600 env -u LD_PRELOAD -u MERCUTIO_DISABLE "$mpirun" "${flags[@]}" -n "$ranks" env "LD_PRELOAD=$preload" "${variables[@]}" \
      "$demo/segmentation" "$demo/image" "$output" --mode "$mode" --tiles "$times" --scales $scales --orientations $orientations \
      >"$demo/$side.log" 2>&1; then
    tail -n 30 "$demo/$side.log" >&2
    die "the run on $side ($mode) failed"
  fi
  result="$(grep '^segmentation: ' "$demo/$side.log")" || die "the run on $side ($mode) said nothing"
  say "$(printf '%-8s %s' "$side" "${result#segmentation: }")"
}

seconds() { sed -n "s/.* $1 \([0-9.]*\) s.*/\1/p" <<<"$result"; }
smaller() { awk -v a="${1:-}" -v b="$2" 'BEGIN { print (a == "" || b + 0 < a + 0) ? b : a }'; }

# The files in stripes can be read only through the preload.
unstriped() {
  env LD_PRELOAD="$storage" MERCUTIO_SERVERS_ROOT="$data" MERCUTIO_SERVERS_COUNT=$servers MERCUTIO_SERVERS_STRIPE=$stripe \
    MERCUTIO_SERVERS_RATE=0 "$@"
}

make_servers() {
  local server
  data="$(mktemp -d "${SEGMENTATION_DATA:-/dev/shm}/mercutio-segmentation.XXXXXX")" || die "no directory for the data"
  trap 'rm -rf "$data"' EXIT
  for ((server = 0; server < servers; server++)); do mkdir "$data/.server$server"; done
  head -c 65536 /dev/zero >"$data/.servers"
}

# On storage without limit, and with one tile: numpy transforms that in a few seconds.
check_responses() {
  run mercutio nonblocking "$demo/small.bin" 1 0
  "$python" "$source_dir/check.py" "$demo/image" "$demo/small.bin" 1 $scales $orientations || die "the responses are wrong"
}

# The servers together take the bytes in the time that the computation takes at best.
choose_rate() {
  local side least=""
  for side in host mercutio; do
    run "$side" blocking "$demo/responses.bin" "$tiles" 0
    least="$(smaller "$least" "$(seconds compute)")"
  done
  bytes="$(sed -n 's/.*: \([0-9]*\) bytes.*/\1/p' <<<"$result")"
  rate="$(awk -v b="$bytes" -v s="$least" -v n=$servers 'BEGIN { printf "%d", b / s / n }')"
  say "storage: $servers servers of $((rate / 1000)) kB/s each, so that writing takes as long as computing"
}

# All four in turn, each compared with the unlimited run's file, so that none has the quieter part of the time; the better of each one's runs counts.
compare() {
  local round side mode
  declare -gA best=()
  for ((round = 0; round < rounds; round++)); do
    for side in host mercutio; do
      for mode in blocking nonblocking; do
        run "$side" "$mode" "$data/output" "$tiles" "$rate"
        best[$side.$mode]="$(smaller "${best[$side.$mode]:-}" "$(seconds total)")"
        unstriped cmp "$demo/responses.bin" "$data/output" >&2 || die "the file differs from that of the unlimited run: $side, $mode"
      done
    done
  done
}

table() {
  local side
  printf '\n  %-22s %12s %14s %8s\n' "$ranks ranks, $((bytes / 1000000)) MB" "blocking s" "nonblocking s" "faster"
  for side in host mercutio; do
    printf '  %-22s %12s %14s %8s\n' "$([ $side = host ] && echo "$mpi_name's own I/O" || echo Mercutio)" "${best[$side.blocking]}" \
      "${best[$side.nonblocking]}" "$(faster $side)"
  done
  printf '\n'
}

faster() { awk -v b="${best[$1.blocking]}" -v n="${best[$1.nonblocking]}" 'BEGIN { printf "%.2f", b / n }'; }

find_mpi "${SEGMENTATION_MPI:-}"
launcher_flags
find_picture
"$python" "$source_dir/prepare.py" "$picture" "$demo/image" || die "the image could not be made"
compile
check_library "$demo/segmentation"
check_responses
[ -e "$storage" ] || die "$storage is missing: run make build first"
make_servers
choose_rate
compare
say "files: identical on both I/O libraries, blocking and nonblocking"
"$python" "$source_dir/draw.py" "$demo/image" "$demo/responses.bin" "$tiles" $scales $orientations "$demo/segmentation.png" "$picture" ||
  die "the picture could not be drawn"
rm -f "$demo/responses.bin" "$demo/small.bin"
table
say "picture: $demo/segmentation.png"
if [ "${SEGMENTATION_CHECK:-0}" = 1 ] && ! awk -v f="$(faster mercutio)" 'BEGIN { exit !(f >= 1.5) }'; then
  die "nonblocking is $(faster mercutio) times faster than blocking; 1.5 was to be reached"
fi
