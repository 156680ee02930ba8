#!/bin/sh
# run.sh PYTHON FILE...: the tests, or 77 where what they need is not installed.
python=$1
shift
for module in pytest fsspec; do
  "$python" -c "import $module" 2>/dev/null || { echo "SKIPPED: there is no $module in $python (scripts/setup.sh check installs it)"; exit 77; }
done
export PYTHONPATH="${TESTED_BUILD:?}/share/mercutio/python"   # as when installed
exec "$python" -m pytest -q -rs -p no:cacheprovider --tb=short "$@"
