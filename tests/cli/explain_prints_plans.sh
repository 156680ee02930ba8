#!/usr/bin/env bash
# The plan with its reasons, as in the golden plans; a hint changes it; what can't be used is named.
. "$(dirname "$0")/lib.sh"
plans="$(dirname "$0")/../plan"
explain() { "$MERCUTIO" explain --machine "$plans/machines/$1.machine" --pattern "$plans/patterns/$2.pattern" "${@:3}"; }

golden="$plans/golden/domains_stripe_cyclic.golden"
equals "$(explain lustre interleaved_1m --hint cb_nodes=4 --ranks)" "$(sed '1,/^---$/d' "$golden")"
contains "$(explain lustre interleaved_1m)" "strategy:  two_phase   # "
lacks "$(explain lustre interleaved_1m)" "turns to"
contains "$(explain lustre interleaved_1m --hint mercutio_strategy=list)" "strategy:  list   # mercutio_strategy=list"
contains "$(explain one_node contiguous)" "individual"

refused() {   # refused TEXT ARGUMENT...
  local code=0
  "$MERCUTIO" explain "${@:2}" >/dev/null 2>"$scratch/err" || code=$?
  [ "$code" -ne 0 ] || fail "accepted: ${*:2}"
  contains "$(cat "$scratch/err")" "$1"
}
machine="$plans/machines/lustre.machine" pattern="$plans/patterns/interleaved_1m.pattern"
refused "must be auto" --machine "$machine" --pattern "$pattern" --hint mercutio_strategy=best
refused "must be key=value" --machine "$machine" --pattern "$pattern" --hint nothing
printf 'nodes 2\nranks_per_node 1 2 3\n' >"$scratch/machine"
refused "one number, or one a node" --machine "$scratch/machine" --pattern "$pattern"
printf 'access write\nshape star\n' >"$scratch/pattern"
refused "line 2: shape: must be contiguous, interleaved or blocks" --machine "$machine" --pattern "$scratch/pattern"
refused "--pattern" --machine "$machine"
