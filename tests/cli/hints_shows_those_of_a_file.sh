#!/usr/bin/env bash
# What would be in effect for a file, from all sources of this machine, and what would be ignored and why.
. "$(dirname "$0")/lib.sh"
export XDG_CONFIG_HOME="$scratch/config"
mkdir -p "$XDG_CONFIG_HOME/mercutio"
printf 'cb_nodes = 3\n["*.nc"]\nromio_cb_write = true\n' >"$XDG_CONFIG_HOME/mercutio/hints.toml"
row() { grep -E "^  $1 " <<<"$text" || fail "no row $1 in: $text"; }
text="$(MERCUTIO_HINTS='cb_buffer_size=1MiB;cb_ndoes=4' "$MERCUTIO" hints --file "$scratch/out.nc" --info cb_nodes=8 --info striping_unit=x --ranks 4)"
contains "$(row romio_cb_write)" "user file $XDG_CONFIG_HOME/mercutio/hints.toml:3"
contains "$(row cb_buffer_size)" "1MiB"
contains "$(row cb_buffer_size)" "MERCUTIO_HINTS"
contains "$(row cb_nodes)" "MPI_Info asked 8: 4 aggregate"
contains "$(row cb_nodes)" "hints.toml:1 asked 3"
contains "$(row striping_unit)" "not a number"
contains "$(row cb_ndoes)" "did you mean cb_nodes?"
text="$("$MERCUTIO" hints --file "$scratch/out.h5")"
contains "$(row romio_cb_write)" "default"
contains "$(MERCUTIO_HINTS_FILE=/no/such.toml "$MERCUTIO" hints --file out.nc)" "left out: /no/such.toml: job file: No such file"
"$MERCUTIO" hints --info cb_nodes=8 2>/dev/null && fail "--info without --file"
"$MERCUTIO" hints --file out.nc --info cb_nodes 2>/dev/null && fail "--info without a value"
exit 0
