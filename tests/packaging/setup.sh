#!/usr/bin/env bash
# setup.sh SCRIPT: what scripts/setup.sh asks of apt, with a sudo and an apt-get that only note it. Its functions run in a copy of the tree's folders.
set -euo pipefail
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/bin" "$scratch/scripts"
sed -e '/^case "\$set_name" in/,$d' -e "s|/usr/sbin/policy-rc.d|$scratch/policy|" "$1" >"$scratch/scripts/functions.sh"
export SCRATCH="$scratch" PATH="$scratch/bin:$PATH"

program() { printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"; chmod +x "$scratch/bin/$1"; }
program id 'echo 1000'
program dpkg-query 'exit 1'   # nothing is installed
program sudo 'exec "$@"'
# No package is known before an update; "nothing" never is.
program apt-get 'for word; do
  case "$word" in
    update) echo update >>"$SCRATCH/asked"; [ ! -e "$SCRATCH/offline" ] || exit 100; : >"$SCRATCH/lists"; exit ;;
    install) what=install ;;
    nothing) unknown=yes ;;
    slow) echo "$$ $(cat "$SCRATCH/policy" | tail -n 1)" >"$SCRATCH/started"; sleep 30 ;;
  esac
done
echo "$what" >>"$SCRATCH/asked"
[ -e "$SCRATCH/lists" ] && [ -z "$unknown" ]'

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
# asks "WORDS" COMMAND...: what apt-get is asked, in one run.
asks() {
  local wanted="$1" asked
  shift
  : >"$scratch/asked"
  bash -c '. "$SCRATCH/scripts/functions.sh"; "$@"' _ "$@" >"$scratch/out" 2>&1 || echo "ended with $?" >>"$scratch/asked"
  asked="$(tr '\n' ' ' <"$scratch/asked")"
  [ "$asked" = "$wanted " ] || fail "$*: $asked, not $wanted: $(cat "$scratch/out")"
}

asks "install update install" apt_packages required some
asks "install" apt_packages required some
rm "$scratch/lists"   # another machine with the same tree
asks "install update install" apt_packages optional some
asks "install update install" apt_packages optional nothing
asks "install update install ended with 1" apt_packages required nothing
twice() { apt_packages optional nothing; apt_packages optional nothing; }
export -f twice
asks "install update install install" twice
touch "$scratch/offline"
asks "install update" apt_packages optional nothing
asks "install" apt_packages required some

# No service is started while packages are installed; nothing of that stays, whatever ends it.
rm "$scratch/offline"
none_left() { [ ! -e "$scratch/policy" ] || fail "$1 leaves the file that keeps services from starting"; }
stopped() {   # SIGNAL: while it installs
  rm -f "$scratch/started"
  setsid bash -c '. "$SCRATCH/scripts/functions.sh"; without_starting apt_packages optional slow' >"$scratch/out" 2>&1 &
  local run=$!
  for _ in {1..100}; do [ ! -s "$scratch/started" ] || break; sleep 0.1; done
  [ "$(cut -d " " -f 2- "$scratch/started")" = "exit 101" ] || fail "services would start: $(cat "$scratch/out")"
  kill "-$1" -- "-$run"
  wait "$run" && fail "it went on" || :
}
asks "install" without_starting apt_packages required some
none_left "a run"
asks "install update install ended with 1" without_starting apt_packages required nothing
none_left "a failed run"
stopped TERM
none_left "a run that was ended"
stopped KILL
[ -e "$scratch/policy" ] || fail "nothing can remove it then"
asks "install" without_starting apt_packages required some
none_left "the run after one that was killed"
echo "exit 0" >"$scratch/policy"
asks "install" without_starting apt_packages required some
[ "$(cat "$scratch/policy")" = "exit 0" ] || fail "the machine's own word is gone"
