#!/usr/bin/env bash
# `mercutio driver check` finds a driver's defects (tests/drivers/libraries/wrong.c has one at a time), also those that end or hold up its process,
# and leaves no file.
. "$(dirname "$0")/lib.sh"
: "${TEST_BUILD:?}"
[ -e "$TEST_BUILD/tests/drivers/lib/libmercutio-driver-wrong.so" ] || skip "no drivers of the tests"
export MERCUTIO_DRIVERS="$TEST_BUILD/tests/drivers/lib"
mkdir "$scratch/files"
file="wrong:$scratch/files/f"

# check DEFECT WORDS: it is found, by a line with the words.
check() {
  MERCUTIO_TEST_WRONG="$1" "$MERCUTIO" driver check --seconds "${seconds:-30}" "$file" >"$scratch/out" 2>"$scratch/err" && fail "$1 was not found: $(cat "$scratch/out")"
  contains "$(cat "$scratch/out")" FAILED
  contains "$(cat "$scratch/out" "$scratch/err")" "$2"
  equals "$(ls "$scratch/files")" ""
}

# Nothing is found where nothing is wrong, whatever an earlier check that was killed has left.
touch "$scratch/files/f.check1" "$scratch/files/f.check-00000000-1"
MERCUTIO_TEST_WRONG=none "$MERCUTIO" driver check "$file" >"$scratch/out" || fail "$(cat "$scratch/out")"
contains "$(cat "$scratch/out")" " 0 failed"
equals "$(ls "$scratch/files" | tr '\n' ' ')" "f.check-00000000-1 f.check1 "
rm "$scratch"/files/*

check truncates "opened with MPI_MODE_CREATE again"
check forgets_at_close "what another open sees after close"
check forgets_to_sync "what another open sees after sync"
check far "far away: byte"
check short "size: got"
check flips "in one read: byte"
check seeks "another thread's bytes"
check locks_short "the last byte of a range is locked"
check locks_end "a lock without an end holds at"
check shares "after that"
check permissions "permissions of a new file"
check numbers "file_number of one file"
check one_number "different files"
check seen_of_ranks "both ranks are told the same"
check lists_dots "without . and .."
check lists_paths "list gave no name"
check looks_longer "bytes of a file, as look gives them"
check looks_flat "look tells files from folders"
check replaces "isn't given to another file"
check makes_twice "can't be made (EEXIST)"
check removes_files "a folder with files can't be deleted"
check traits_fail "get_traits"

# What ends or holds up the process is named, and the other checks go on.
seconds=10 check hangs "many small pieces come back: the driver did not return within 10 seconds"   # in which the others, which sync, are done
contains "$(cat "$scratch/out")" "1 failed"
check crashes "many small pieces come back: crashed (signal 11)"
contains "$(cat "$scratch/out")" "ok       processes that write side by side"
contains "$(cat "$scratch/out")" "1 failed"
check exits "many small pieces come back: ended the process (exit code 5)"
check all_crash "the other checks are left out"
check rank_crashes "2 of 3 processes could write; one crashed (signal 11)"
check exits_at_once "the library is loaded and initialised: ended the process (exit code 7)"
