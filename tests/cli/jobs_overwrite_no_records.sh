#!/usr/bin/env bash
# A page of tables is not written over the record that it is made of.
. "$(dirname "$0")/lib.sh"
cd "$scratch"
echo record >rec.mjob
ln rec.mjob other.mjob
for page in rec.mjob ./rec.mjob other.mjob; do
  code=0
  text="$("$MERCUTIO" jobs rec.mjob --html "$page" 2>&1)" || code=$?
  equals "$code" 2
  contains "$text" "$page is one of the records, and is not overwritten"
done
equals "$(cat rec.mjob)" record
