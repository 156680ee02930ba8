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

# The site's file has more than hints.
mkdir "$scratch/open" "$scratch/more"
chmod 1777 "$scratch/open"
printf 'jobs = "%s/open/%%u-%%j"\n[hints]\ncb_nodes = 2\n' "$scratch" >"$scratch/more/site.toml"
text="$(USER=anna "$MERCUTIO" hints --check "$scratch/more/site.toml")"
contains "$text" "no mistakes; hints: 1, sections: 1"
contains "$text" "site.toml:1: records of jobs, if it is the site's file: $scratch/open/anna-1.mjob"
lacks "$text" "not here"
chmod 700 "$scratch/open"
contains "$("$MERCUTIO" hints --check "$scratch/more/site.toml")" "not all users can write in $scratch/open"
for line in 'jobs = "/logs/%q"|site.toml:1: jobs: %q has no meaning' 'jobs = "logs"|does not begin at the root' '[jobs]|site.toml:1: jobs: must be a pattern' \
  '["*.nc"]\njobs = "/logs/%u"|site.toml:2: jobs: is of the whole file'; do
  printf '%b\n' "${line%%|*}" >"$scratch/more/site.toml"
  ! text="$("$MERCUTIO" hints --check "$scratch/more/site.toml")" || fail "$line passed"
  contains "$text" "${line#*|}"
done

# A directory: all files in it.
! text="$("$MERCUTIO" hints --check "$scratch" 2>&1)" || fail "a directory with mistakes passed"
contains "$text" "good.toml: no mistakes"
contains "$text" "bad.toml:3: "
! text="$("$MERCUTIO" hints --check "$scratch/open" 2>&1)" || fail "an empty directory passed"
contains "$text" "$scratch/open: is a directory without a file called"
