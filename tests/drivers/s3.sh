#!/bin/sh
# s3.sh DRIVER.so MERCUTIO [ARGUMENTS]: the driver's tests, with the Python that has moto (scripts/setup.sh), and `mercutio driver check` on its store.
# s3.sh --served PROGRAMS DRIVERS [ARGUMENTS]: the commands on objects that a mercutiod serves; the words are folders.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
python="$here/../../.venv-s3/bin/python"
[ -x "$python" ] || { echo "left out: no moto (scripts/setup.sh check)"; exit 77; }
if [ "$1" = --served ]; then
  shift
  exec "$python" "$here/s3_served.py" "$@"
fi
driver="$1"
export MERCUTIO_TEST_COMMAND="$2"
shift 2
exec "$python" "$here/s3_test.py" "$driver" "$@"
