#!/usr/bin/env bash
# Wrong usage is code 2 and a word on stderr; help is code 0.
. "$(dirname "$0")/lib.sh"
for line in "" "nonsense" "run" "doctor --dir $scratch/none" "version extra"; do
  code=0
  # shellcheck disable=SC2086
  "$MERCUTIO" $line >/dev/null 2>"$scratch/err" || code=$?
  equals "$code" 2
  [ -s "$scratch/err" ] || fail "nothing on stderr for '$line'"
done
contains "$("$MERCUTIO" --help)" doctor
contains "$("$MERCUTIO" version)" "mercutio "
equals "$("$MERCUTIO" --version)" "$("$MERCUTIO" version)"
