#!/usr/bin/env bash
# A file of hints is checked: each mistake with its line, and an exit code.
. "$(dirname "$0")/lib.sh"
printf 'cb_nodes = 3\n["*.nc"]\nromio_cb_write = true\n' >"$scratch/good.toml"
contains "$("$MERCUTIO" hints --check "$scratch/good.toml")" "no mistakes; hints: 2, sections: 2"
printf 'cb_nodes = 3\n["*.nc"]\nromio_cb_wirte = true\ncb_buffer_size = "2T"\n' >"$scratch/bad.toml"
! text="$("$MERCUTIO" hints --check "$scratch/bad.toml")" || fail "mistakes passed"
contains "$text" "bad.toml:3: romio_cb_wirte = true: unknown key; did you mean romio_cb_write?"
contains "$text" "bad.toml:4: cb_buffer_size = 2T: must be from 64 to 1GiB"
printf 'cb_nodes = 3\n[*.nc]\n' >"$scratch/broken.toml"
! text="$("$MERCUTIO" hints --check "$scratch/broken.toml")" || fail "broken syntax passed"
contains "$text" "broken.toml:2: "
! "$MERCUTIO" hints --check "$scratch/none.toml" 2>/dev/null || fail "no file passed"
