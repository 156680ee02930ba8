#!/usr/bin/env bash
# Every bad program under --report: the verdict names its fault first. What costs most is a matter of times, which a busy machine
# changes: each has three tries, and of all programs two may be named behind another in the end. With FACTORS=1 none may, the
# advice is followed, and the factor that the verdict foretold is compared with the one that came out (within two, as a median of
# three runs, everything done BAD_SCALE times).
#   verdicts.sh LAUNCHER PROGRAM [NAME...]
set -euo pipefail
: "${MERCUTIO:?the path of the mercutio command}"
launcher="$1" program="$2"
shift 2
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
unset MERCUTIO_HINTS MERCUTIO_DISABLE ROMIO_HINTS LD_PRELOAD
[ "${FACTORS:-0}" != 1 ] || export BAD_SCALE="${BAD_SCALE:-4}"
[ -z "${SHIM:-}" ] || export LD_PRELOAD="$SHIM"
flags=(-n 4)
case "$launcher" in *openmpi*) flags+=(--oversubscribe); [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root) ;; esac
names=("$@")
[ "${#names[@]}" -gt 0 ] || names=(small_writes small_reads strided_reads strided_writes merged_writes one_aggregator straggler serial
                                   reopened many_syncs same_data_read small_stripes misaligned ignored_hints)

seconds() {   # seconds ARGUMENT...: of the program's own clock
  rm -f "$scratch/data"
  timeout 120 "$MERCUTIO" run -- "$launcher" "${flags[@]}" "$program" "$1" "$scratch/data" "${@:2}" | sed -n 's/^seconds //p'
}
median() { printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"; }

failed=0 behind=0
run_with() {   # run_with OPTION NAME
  rm -f "$scratch/data"
  timeout 120 "$MERCUTIO" run "$1" -- "$launcher" "${flags[@]}" "$program" "$2" "$scratch/data" >/dev/null
}
first_of() {   # first_of NAME
  for _ in 1 2 3; do
    run_with --report="$scratch/report" "$1"
    first="$(sed -n 's/^1\. .*\[\(.*\)\].*/\1/p' "$scratch/report")"
    [ "$first" != "$1" ] || return 0
  done
}
is_found() {   # is_found NAME: among all findings
  run_with --trace="$scratch/trace" "$1"
  "$MERCUTIO" report "$scratch/trace" --json --events 0 | grep -q "\"id\": *\"$1\""
}

for name in "${names[@]}"; do
  first_of "$name"
  if [ "$first" = "$name" ]; then
    echo "$name: found"
  elif [ "${FACTORS:-0}" != 1 ] && [ "$((++behind))" -le 2 ] && is_found "$name"; then
    echo "$name: found, behind $first"
  else
    failed=1
    echo "$name: FAILED, the verdict names '$first' first:"
    cat "$scratch/report"
  fi
  [ "$(wc -l <"$scratch/report")" -le 20 ] || { failed=1; echo "$name: FAILED, more than 20 lines"; }
  [ "${FACTORS:-0}" = 1 ] || continue
  foretold="$(sed -n 's/^1\. .*the run is \(.*\) times as fast/\1/p' "$scratch/report")"
  before="$(median "$(seconds "$name")" "$(seconds "$name")" "$(seconds "$name")")"
  after="$(median "$(seconds "$name" fixed)" "$(seconds "$name" fixed)" "$(seconds "$name" fixed)")"
  awk -v name="$name" -v foretold="${foretold:-1}" -v before="$before" -v after="$after" 'BEGIN {
    found = before / after
    good = found <= 2 * foretold && foretold <= 2 * found
    printf "%s: foretold %.2f, found %.2f (%.3f s, then %.3f s)%s\n", name, foretold, found, before, after, good ? "" : " FAILED"
    exit !good }' || failed=1
done
exit "$failed"
