#!/usr/bin/env bash
# The user's command is passed on word by word, whatever it looks like, and its exit code comes back.
. "$(dirname "$0")/lib.sh"
equals "$("$MERCUTIO" run -- printf '%s|' --print -n "a b" -- --hint)" "--print|-n|a b|--|--hint|"
code=0
"$MERCUTIO" run sh -c 'exit 41' || code=$?
equals "$code" 41
code=0
"$MERCUTIO" run -- "$scratch/nothing" 2>"$scratch/err" || code=$?
equals "$code" 127
contains "$(cat "$scratch/err")" "No such file"
