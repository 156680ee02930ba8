#!/usr/bin/env bash
# compare.sh LAUNCHER PROGRAM RANKS [FILE...]: runs the program on the MPI's own I/O and through Mercutio. Both must succeed,
# print the same, and leave the same FILEs behind. 77 when the host's own I/O fails: there is nothing to compare with then,
# and Mercutio alone must succeed.
set -euo pipefail
: "${MERCUTIO:?}"
launcher="$1" program="$2" ranks="$3"
shift 3
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/host" "$scratch/mercutio"
flags=(-n "$ranks")
case "$launcher" in
  *openmpi*)
    flags+=(--oversubscribe)
    [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
    ;;
esac

host=0
(cd "$scratch/host" && timeout 60 "$launcher" "${flags[@]}" "$program" >../host.out 2>../host.err) || host=$?
ours=0
(cd "$scratch/mercutio" && timeout 60 "$MERCUTIO" run -- "$launcher" "${flags[@]}" "$program" >../ours.out 2>../ours.err) || ours=$?
if [ "$ours" -ne 0 ]; then
  echo "under Mercutio: exit code $ours (on the host's own I/O: $host)"
  tail -n 30 "$scratch/ours.out" "$scratch/ours.err"
  exit 1
fi
cat "$scratch/ours.out"
[ "$host" -eq 0 ] || { echo "the host's own I/O fails with $host; nothing to compare with"; exit 77; }
diff "$scratch/host.out" "$scratch/ours.out"
for file in "$@"; do
  cmp "$scratch/host/$file" "$scratch/mercutio/$file"
done
