#!/usr/bin/env bash
# remote.sh LAUNCHER PROGRAM RANKS FILE...: the program on local files, then with its folder placed behind a mercutiod by the hint
# mercutio_remote, through Mercutio both times. It must print the same, and leave the same FILEs on the other side and none here.
set -euo pipefail
: "${MERCUTIO:?}"
launcher="$1" program="$2" ranks="$3"
shift 3
daemon="$(dirname "$MERCUTIO")/mercutiod"
[ -x "$daemon" ] || { echo "skipped: remote files are not built"; exit 77; }
unset MERCUTIO_HINTS MERCUTIO_HINTS_FILE ROMIO_HINTS LD_PRELOAD
scratch="$(mktemp -d)"
server=
# shellcheck disable=SC2154
trap '[ -z "$server" ] || kill "$server"; wait; rm -rf "$scratch"' EXIT
mkdir "$scratch/local" "$scratch/here" "$scratch/there" "$scratch/connections"
flags=(-n "$ranks")
case "$launcher" in
  *openmpi*)
    flags+=(--oversubscribe)
    [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
    ;;
  *) flags+=(-genv LD_PRELOAD "${SHIM:-}") ;;
esac

run() {   # run FOLDER OUTPUT
  (cd "$scratch/$1" && timeout 100 "$MERCUTIO" run -- "$launcher" "${flags[@]}" "$program" >"$scratch/$2" 2>"$scratch/$2.err") || {
    echo "in $1: exit code $?"
    tail -n 30 "$scratch/$2" "$scratch/$2.err"
    exit 1
  }
}

umask 077
key="$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')"
echo "$key" >"$scratch/key"
mkfifo "$scratch/line"
"$daemon" --listen 127.0.0.1:0 --root "data=$scratch/there:rw" --key-file "$scratch/key" --audit "$scratch/audit" >"$scratch/line" &
server=$!
read -r _ _ address port _ <"$scratch/line"
printf 'host far\nkey %s\nserver %s %s\n' "$key" "$address" "$port" >"$scratch/connections/far"

run local local.out
export MERCUTIO_CONNECTIONS="$scratch/connections" MERCUTIO_HINTS="mercutio_remote=$scratch/here=mercutio://far/data"
run here remote.out
cat "$scratch/remote.out"
diff "$scratch/local.out" "$scratch/remote.out"
for file in "$@"; do
  cmp "$scratch/local/$file" "$scratch/there/$file"
done
[ -z "$(ls "$scratch/here")" ] || { echo "left here:"; ls "$scratch/here"; exit 1; }
grep -q "opens to write" "$scratch/audit"
