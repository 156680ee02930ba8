#!/usr/bin/env bash
# An installed command takes libraries for the ranks from its libexec, and not from tests/tools beside its bin.
. "$(dirname "$0")/lib.sh"
mkdir -p "$scratch/prefix/bin" "$scratch/prefix/tests/tools" "$scratch/data"
cp "$MERCUTIO" "$scratch/prefix/bin/mercutio"
echo planted >"$scratch/prefix/tests/tools/libstriped_servers.so"
code=0
text="$("$scratch/prefix/bin/mercutio" bench overlap --dir "$scratch/data" 2>&1)" || code=$?
equals "$code" 1
contains "$text" "libstriped_servers.so is not installed beside the command (libexec/mercutio)"
