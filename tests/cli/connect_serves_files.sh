#!/usr/bin/env bash
# mercutio connect starts a server through whatever runs commands there, and leaves a connection that only its user can read.
. "$(dirname "$0")/lib.sh"
[ -x "$TEST_BUILD/bin/mercutiod" ] || skip "remote files are not built"
export MERCUTIO_CONNECTIONS=$scratch/connections
mkdir "$scratch/there"
connect=("$MERCUTIO" connect --daemon "$TEST_BUILD/bin/mercutiod" --idle 1)
out="$("${connect[@]}" --via env --name far --root "data=$scratch/there:rw" --audit "$scratch/audit" 2>"$scratch/err")"
equals "$out" "mercutio://far/data"
contains "$(cat "$scratch/err")" "$MERCUTIO_CONNECTIONS/far"
equals "$(stat -c %a "$MERCUTIO_CONNECTIONS/far")" 600
contains "$(cat "$MERCUTIO_CONNECTIONS/far")" "server 127.0.0.1 "
contains "$(cat "$scratch/audit")" "joined"

"${connect[@]}" --via env --name far --root "data=$scratch/missing" 2>"$scratch/err" && fail "a root that is not there"
contains "$(cat "$scratch/err")" "$scratch/missing"
"${connect[@]}" --via env --root "data=$scratch/there" 2>"$scratch/err" && fail "no name"
contains "$(cat "$scratch/err")" "--name"
"${connect[@]}" --via false --name far --root "data=$scratch/there" 2>"$scratch/err" && fail "a starter that fails"
contains "$(cat "$scratch/err")" "could not start mercutiod"
"$TEST_BUILD/bin/mercutiod" --root "a=/tmp" 2>"$scratch/err" && fail "nowhere to listen"
contains "$(cat "$scratch/err")" "--listen"

# Through ssh the line is one word for a shell there: quotes survive.
printf '#!/bin/sh\nshift 2\nSSH_CONNECTION="127.0.0.1 1 127.0.0.1 22" exec sh -c "$1"\n' >"$scratch/ssh"
chmod +x "$scratch/ssh"
mkdir "$scratch/it's there"
out="$(PATH=$scratch:$PATH "${connect[@]}" --root "data=$scratch/it's there" me@far.example)"
equals "$out" "mercutio://far.example/data"
