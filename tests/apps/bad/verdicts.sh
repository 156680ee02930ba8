#!/usr/bin/env bash
# Every bad program under --report: the verdict names its fault first. What costs most is a matter of times, which a busy machine
# changes: each has three tries, and of all programs two may be named behind another in the end. With FACTORS=1 none may, the
# advice is followed, and the factor that the verdict foretold is compared with the one that came out (within two, each a median of
# three runs, everything done so many times that what is left takes longer than starting).
#   verdicts.sh LAUNCHER PROGRAM [NAME...]
set -euo pipefail
: "${MERCUTIO:?the path of the mercutio command}"
launcher="$1" program="$2"
shift 2
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
unset MERCUTIO_HINTS MERCUTIO_DISABLE ROMIO_HINTS LD_PRELOAD
[ -z "${SHIM:-}" ] || export LD_PRELOAD="$SHIM"
flags=(-n 4)
case "$launcher" in *openmpi*) flags+=(--oversubscribe); [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root) ;; esac
names=("$@") good=()
[ "${#names[@]}" -gt 0 ] || good=(good_collective good_steps good_little)
[ "${#names[@]}" -gt 0 ] || names=(small_writes small_reads strided_reads strided_writes amplified_reads merged_writes one_aggregator straggler serial
                                   reopened many_syncs same_data_read small_stripes misaligned ignored_hints
                                   steps:small_writes many_files columns:merged_writes)
declare -A never=([columns]="romio_ds_write=disable")   # advice that would make the program slower

seconds() {   # seconds ARGUMENT...: of the program's own clock
  rm -f "$scratch/data"*
  timeout 120 "$MERCUTIO" run -- "$launcher" "${flags[@]}" "$program" "$1" "$scratch/data" "${@:2}" | sed -n 's/^seconds //p'
}
median() { printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"; }

failed=0 behind=0
run_with() {   # run_with OPTION NAME
  rm -f "$scratch/data"*
  timeout 120 "$MERCUTIO" run "$1" -- "$launcher" "${flags[@]}" "$program" "$2" "$scratch/data" >/dev/null
}
first_of() {   # first_of NAME FAULT
  for _ in 1 2 3; do
    run_with --report="$scratch/report" "$1"
    first="$(sed -n 's/^1\. .*\[\(.*\)\].*/\1/p' "$scratch/report")"
    [ "$first" != "$2" ] || return 0
  done
}
is_found() {   # is_found NAME FAULT: among all findings
  run_with --trace="$scratch/trace" "$1"
  "$MERCUTIO" report "$scratch/trace" --json --events 0 | grep -q "\"id\": *\"$2\""
}

scale_for() {   # scale_for NAME: 4, or as much as it takes for 0.4 s with the advice followed, at most 9: 10 are many opens
  export BAD_SCALE=4
  BAD_SCALE="$(awk -v seconds="$(seconds "$1" fixed)" 'BEGIN { n = int(4 * 0.4 / seconds) + 1; print (n < 4 ? 4 : n > 9 ? 9 : n) }')"
}
foretold_of() {   # foretold_of NAME FAULT: by the verdict that names it first
  local factors=()
  for _ in 1 2 3; do
    [ "${#factors[@]}" -eq 0 ] || first_of "$1" "$2"
    factors+=("$(sed -n 's/^1\. .*\['"$2"'\].*the run is \(.*\) times as fast/\1/p' "$scratch/report")")
    [ -n "${factors[-1]}" ] || factors[-1]=1   # it costs nothing
  done
  foretold="$(median "${factors[@]}")"
}

for entry in "${names[@]}"; do
  name="${entry%%:*}" fault="${entry##*:}"
  [ "${FACTORS:-0}" != 1 ] || scale_for "$name"
  first_of "$name" "$fault"
  if [ "$first" = "$fault" ]; then
    echo "$name: found"
  elif [ "${FACTORS:-0}" != 1 ] && [ "$((++behind))" -le 2 ] && is_found "$name" "$fault"; then
    echo "$name: found, behind $first"
  else
    failed=1
    echo "$name: FAILED, the verdict names '$first' first:"
    cat "$scratch/report"
  fi
  if [ -n "${never[$name]:-}" ] && grep -F "${never[$name]}" "$scratch/report"; then
    failed=1
    echo "$name: FAILED, that would make it slower"
  fi
  [ "$(wc -l <"$scratch/report")" -le 20 ] || { failed=1; echo "$name: FAILED, more than 20 lines"; }
  [ "${FACTORS:-0}" = 1 ] || continue
  foretold_of "$name" "$fault"
  before="$(median "$(seconds "$name")" "$(seconds "$name")" "$(seconds "$name")")"
  after="$(median "$(seconds "$name" fixed)" "$(seconds "$name" fixed)" "$(seconds "$name" fixed)")"
  awk -v name="$name" -v foretold="$foretold" -v before="$before" -v after="$after" 'BEGIN {
    found = before / after
    good = found <= 2 * foretold && foretold <= 2 * found
    printf "%s: foretold %.2f, found %.2f (%.3f s, then %.3f s)%s\n", name, foretold, found, before, after, good ? "" : " FAILED"
    exit !good }' || failed=1
done
for name in "${good[@]}"; do   # there is nothing to gain
  first_of "$name" ""
  [ -z "$first" ] && echo "$name: good" && continue
  failed=1
  echo "$name: FAILED, the verdict names '$first':"
  cat "$scratch/report"
done
exit "$failed"
