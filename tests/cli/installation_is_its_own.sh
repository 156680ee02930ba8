#!/usr/bin/env bash
# Called by PATH, the commands take drivers from their installation, and from no folder that the user happens to be in. The site's hints are those
# of the prefix. A prefix that can't be preloaded is refused.
. "$(dirname "$0")/lib.sh"
: "${TEST_BUILD:?}"
install_to() {   # install_to PREFIX
  for component in lib tools; do
    cmake --install "$TEST_BUILD" --component "$component" --prefix "$1" >"$scratch/log" 2>&1 || fail "$(tail -n 5 "$scratch/log")"
  done
}
install_to "$scratch/prefix"
export PATH="$scratch/prefix/bin:$PATH"

# A library that says when it is loaded, where a relative path would find it.
cat >"$scratch/evil.c" <<'C'
#include <stdio.h>
__attribute__((constructor)) static void loaded(void) { fputs("EVIL\n", stderr); }
C
mkdir -p "$scratch/here/mercutio/drivers" "$scratch/lib/mercutio/drivers"
cc -shared -fPIC "$scratch/evil.c" -o "$scratch/here/mercutio/drivers/libmercutio-driver-evil.so"
cp "$scratch/here/mercutio/drivers/libmercutio-driver-evil.so" "$scratch/lib/mercutio/drivers"
cd "$scratch/here"
for words in "driver check evil:x" "hints --file evil:x" "driver check gluster:x"; do
  # shellcheck disable=SC2086
  text="$(mercutio $words 2>&1)" || true
  lacks "$text" EVIL
done
contains "$(mercutio driver check evil:x 2>&1)" "searched: $scratch/prefix/bin/mercutio/drivers, $scratch/prefix/bin/../"
lacks "$(mercutio driver check gluster:x 2>&1)" "there is no libmercutio-driver-gluster.so"

mkdir -p "$scratch/prefix/etc/mercutio"
printf 'cb_nodes = 3\n' >"$scratch/prefix/etc/mercutio/hints.toml"
contains "$(env -u MERCUTIO_SITE_HINTS mercutio hints --file x | grep cb_nodes)" "site"

# What a shell takes is what is meant.
printed="$(mercutio run --print --hint cb_nodes=2 --hint cb_buffer_size=1M -- env printf '%s|' 'a b' "it's")"
equals "$(eval "$printed")" "a b|it's|"
contains "$printed" "MERCUTIO_HINTS='cb_nodes=2;cb_buffer_size=1M'"

for name in "a b" "a:b"; do
  mv "$scratch/prefix" "$scratch/$name"
  code=0
  text="$("$scratch/$name/bin/mercutio" run -- true 2>&1)" || code=$?
  equals "$code" 1
  contains "$text" "can't be preloaded"
  mv "$scratch/$name" "$scratch/prefix"
done

# Prefixes in files are absolute.
(cd "$scratch"; cmake --install "$TEST_BUILD" --component dev --prefix relative >"$scratch/log" 2>&1)
contains "$(cat "$scratch"/relative/lib*/pkgconfig/mercutio.pc "$scratch"/relative/lib*/*/pkgconfig/mercutio.pc 2>/dev/null)" "prefix=$scratch/relative"

for words in "help run" "run --help"; do
  # shellcheck disable=SC2086
  contains "$(mercutio $words)" "--print"
done
code=0
text="$(mercutio --hlep 2>&1)" || code=$?
equals "$code" 2
contains "$text" "there is no option '--hlep'"
