#!/usr/bin/env bash
# The completion in bash: names of files with blanks are quoted by readline, and words that are no files stay as they are.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../../tools/completion/mercutio.bash"
cd "$scratch"
mkdir "my runs" bench
touch "a run.mtrace" plain
compopt() { asked="$*"; }   # only readline has it
completed() {   # completed WORD...: what the last one becomes, and what readline is asked for
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=() asked=""
  _mercutio
  printf '%s: %s\n' "${COMPREPLY[*]}" "$asked"
}
equals "$(completed mercutio report a)" "a run.mtrace: -o filenames"
equals "$(completed mercutio doctor --dir my)" "my runs: -o filenames"
equals "$(completed mercutio replay --to my)" "my runs: -o filenames"
equals "$(completed mercutio ben)" "bench: "
equals "$(completed mercutio report --comp)" "--compare: "
equals "$(completed mercutio mount nothing)" ": "
equals "$(PATH="$(dirname "$MERCUTIO"):$PATH" completed mercutio tune --search cb_no)" "cb_nodes=: "
