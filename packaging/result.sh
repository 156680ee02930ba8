# Sourced. result PACKAGE FORM TESTS OUTCOME prints what a package did on this system, and adds a line of JSON to the file RESULTS.
result() {
  local system libc processor
  system="$(. /etc/os-release && echo "$PRETTY_NAME")"
  libc="$(ldd --version | sed -n '1s/.* //p')"
  processor="$(uname -m)"
  echo "$1 on $system, $processor, glibc $libc, $2: $3: $4"
  [ -z "${RESULTS:-}" ] || printf '{"package": "%s", "system": "%s", "processor": "%s", "glibc": "%s", "with": "%s", "what": "%s", "outcome": "%s"}\n' \
    "$1" "$system" "$processor" "$libc" "$2" "$3" "$4" >>"$RESULTS"
}
