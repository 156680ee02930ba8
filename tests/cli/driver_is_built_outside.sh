#!/usr/bin/env bash
# The example of a storage driver is built with what is installed, by CMake and by pkg-config, keeps the contract, and its files
# are not readable without it.
. "$(dirname "$0")/lib.sh"
: "${TEST_BUILD:?}"
example="$(cd "$(dirname "$0")/../../examples/driver" && pwd)"
[ -e /usr/include/openssl/evp.h ] || skip "no headers of OpenSSL"
prefix="$scratch/prefix"
cmake --install "$TEST_BUILD" --prefix "$prefix" >"$scratch/log" 2>&1 || fail "$(tail -n 5 "$scratch/log")"
installed="$prefix/bin/mercutio"
head -c 32 /dev/urandom >"$scratch/key"
export CIPHER_KEY_FILE="$scratch/key"
unset MERCUTIO_DRIVERS

said="$("$installed" driver check "cipher:$scratch/file" 2>&1 || true)"
contains "$said" "libmercutio-driver-cipher.so"
contains "$said" MERCUTIO_DRIVERS

cmake -S "$example" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
cmake --build "$scratch/build" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
lacks "$(ldd "$scratch/build/libmercutio-driver-cipher.so")" libmercutio.so
said="$(MERCUTIO_DRIVERS="$scratch/build" "$installed" driver check "cipher:$scratch/file")" || fail "$said"
contains "$said" "driver cipher"
contains "$said" "ok       processes that write side by side"
contains "$said" " 0 failed"
equals "$(ls "$scratch" | grep -c check || true)" 0

# Installed it needs no variable, and doctor names it.
cmake --install "$scratch/build" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
said="$("$installed" driver check --processes 5 "cipher://$scratch/file")" || fail "$said"
contains "$said" " 0 failed"
contains "$("$installed" doctor --dir "$scratch" || true)" "libmercutio-driver-cipher.so"

libdir="$(dirname "$("$installed" preload)")"
export PKG_CONFIG_PATH="$libdir/pkgconfig"
[ -e "$(pkg-config --variable=driversdir mercutio)/libmercutio-driver-cipher.so" ] || fail "pkg-config names another folder for drivers"
mkdir "$scratch/by_hand"
# shellcheck disable=SC2046
cc -shared -fPIC "$example/cipher.c" -o "$scratch/by_hand/libmercutio-driver-cipher.so" $(pkg-config --cflags mercutio) -lcrypto
said="$(MERCUTIO_DRIVERS="$scratch/by_hand" "$installed" driver check "cipher:$scratch/file")" || fail "$said"

# Without the key nothing can be opened, and the driver says why.
said="$(CIPHER_KEY_FILE=/nowhere "$installed" driver check "cipher:$scratch/file" 2>&1)" && fail "checked without a key: $said"
contains "$said" "CIPHER_KEY_FILE must name a file of 32 bytes"
