#!/usr/bin/env bash
# Wrong usage is code 2 and a word on stderr; help is code 0.
. "$(dirname "$0")/lib.sh"
for line in "" "nonsense" "run" "doctor --dir $scratch/none" "version extra"; do
  code=0
  # shellcheck disable=SC2086
  "$MERCUTIO" $line >/dev/null 2>"$scratch/err" || code=$?
  equals "$code" 2
  [ -s "$scratch/err" ] || fail "nothing on stderr for '$line'"
done
contains "$("$MERCUTIO" --help)" doctor

# Each message begins with the command; an argument that is empty is none, as that of a variable that isn't set.
says() {   # says TEXT WORD...
  local code=0
  "$MERCUTIO" "${@:2}" >/dev/null 2>"$scratch/err" || code=$?
  equals "$code: $(cat "$scratch/err")" "2: mercutio $1"
}
says "report: trace is required; \`mercutio report --help\` lists what there is" report
says "bench overlap: the following argument was not expected: --foo; \`mercutio bench overlap --help\` lists what there is" bench overlap --foo
says "driver: a subcommand is required; \`mercutio driver --help\` lists what there is" driver
says "hints: --file: the argument is empty" hints --file ""
says "report: --output: the argument is empty" report x -o ""
says "report: trace: the argument is empty" report ""
says "report: --output needs the name of a file; - is none (a file of that name is ./-)" report x -o -
says "report: --perfetto needs the name of a file; - is none (a file of that name is ./-)" report x --perfetto -
contains "$("$MERCUTIO" version)" "mercutio "
equals "$("$MERCUTIO" --version)" "$("$MERCUTIO" version)"

# Numbers of any length: the option and its range, and nothing of how it is read.
digits="$(printf '9%.0s' {1..300})"
refuses() {   # refuses OPTION RANGE COMMAND...
  local code=0
  timeout 20 "$MERCUTIO" "${@:3}" >/dev/null 2>"$scratch/err" || code=$?
  equals "$code" 2
  contains "$(cat "$scratch/err")" "$1"
  contains "$(cat "$scratch/err")" "$2"
  lacks "$(cat "$scratch/err")" "$digits"
  lacks "$(cat "$scratch/err")" "sto"
}
for text in "$digits" "-$digits" "1e$digits" "0x$digits" "$digits.5" "${digits}k" 1x; do
  refuses "--ranks: " "a whole number from 1 to 1000000" bench --ranks="$text"
  refuses "--bytes: " "from 1 to 1TiB" bench --bytes="$text"
  refuses "--repetitions: " "from 1 to 1000000" bench --repetitions="$text"
  refuses "--time-limit: " "at most 1000000000" bench --time-limit="$text"
  refuses "--seed: " "from 0 to 2147483647" bench --seed="$text"
  refuses "--servers: " "from 1 to 16" bench overlap --servers="$text"
  refuses "--rate: " "from 1 to 1TiB" bench overlap --rate="$text"
  refuses "--bytes: " "from 4KiB to 1TiB" probe --bytes="$text"
  refuses "--processes: " "from 1 to 1024" probe --processes="$text"
  refuses "--ranks: " "from 1 to 2147483647" hints --file x --ranks="$text"
  refuses "--events: " "from 0 to 2147483647" report x --events="$text"
  refuses "--top: " "from 1 to 2147483647" jobs --top="$text"
  refuses "--restarts: " "from 1 to 1000000" place --restarts="$text"
done
if [ -x "$(dirname "$MERCUTIO")/mercutio-route" ]; then
  refuses "--connections: " "from 1 to 1000000" route --listen 127.0.0.1:0 --to 127.0.0.1:1 --key-file "$scratch/key" --connections "$digits"
  refuses "--parallel: " "from 1 to 64" cp --parallel "$digits" a b
  refuses "--streams: " "from 1 to 16" connect --root d=/tmp --streams "$digits" host
  # Key files that are none.
  mkdir "$scratch/folder"
  : >"$scratch/empty"
  printf '%s\n' "$digits" >"$scratch/long"
  chmod 600 "$scratch/empty" "$scratch/long"
  for file in nosuch/key:"its directory must be there" folder:"is no plain file" empty:"empty: " long:"long: "; do
    code=0
    (cd "$scratch" && timeout 20 "$MERCUTIO" route --listen 127.0.0.1:0 --to 127.0.0.1:1 --key-file "${file%%:*}") 2>"$scratch/err" || code=$?
    [ "$code" = 1 ] || [ "$code" = 2 ] || fail "a router with $file: $code"
    contains "$(cat "$scratch/err")" "key file"
    contains "$(cat "$scratch/err")" "${file#*:}"
  done
fi
