#!/usr/bin/env bash
# Each command is in README's table; it and each of its options are in the manual page and in the completion.
. "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
table="$(grep '^| `mercutio' "$root/README.md")"
page="$(sed 's/\\-/-/g' "$root/docs/man/mercutio.1")"
# shellcheck source=/dev/null
. "$root/tools/completion/mercutio.bash"
complete_line() {   # complete_line WORD...: what may follow
  COMP_WORDS=(mercutio "$@" "") COMP_CWORD=$(($# + 1)) COMPREPLY=()
  PATH="$(dirname "$MERCUTIO"):$PATH" _mercutio
  printf '%s\n' "${COMPREPLY[@]}"
}
commands="$("$MERCUTIO" --help | sed -n '/^Subcommands:/,$p' | sed -n 's/^  \([a-z]*\) .*/\1/p')"
contains "$commands" place
for command in $commands "bench overlap" "driver check"; do
  last="${command##* }"
  first="${command%% *}"
  [ "$command" = "$last" ] && contains " $(complete_line | tr '\n' ' ')" " $command "
  contains "$page" "mercutio $command"
  printf '%s\n' "$table" | grep -qE "\`(mercutio )?$command( [a-z]+)?\`" || fail "README's table lacks: $command"
  section="$(printf '%s\n' "$page" | grep -A1 "^\.B $command" || true)"
  # shellcheck disable=SC2086
  for option in $("$MERCUTIO" $command --help | sed -n 's/^  \(-[a-zA-Z],\)\{0,1\}\(--[a-z-]*\).*/\2/p'); do
    [ "$option" != --help ] || continue
    # shellcheck disable=SC2086
    contains " $(complete_line $command | tr '\n' ' ')" " $option "
    contains "$section" "$option"
  done
done
