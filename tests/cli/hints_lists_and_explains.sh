#!/usr/bin/env bash
# Every hint is listed; one is explained by any of its names; an unknown one is an error.
. "$(dirname "$0")/lib.sh"
table="$(dirname "$0")/../../src/model/hints.def"
equals "$("$MERCUTIO" hints | wc -l)" "$(grep -c '^MERCUTIO_HINT(' "$table")"
contains "$("$MERCUTIO" hints cb_buffer_size)" "default: 8388608"
equals "$("$MERCUTIO" hints stripe_size)" "$("$MERCUTIO" hints striping_unit)"
! "$MERCUTIO" hints no_such_hint 2>/dev/null || fail "an unknown hint was explained"
contains "$("$MERCUTIO" hints cb_nodes)" "OMPI_MCA_io_ompio_num_aggregators"
contains "$("$MERCUTIO" hints romio_cb_pfr)" "has no effect here"
contains "$("$MERCUTIO" hints cb_ndoes 2>&1 || true)" "did you mean 'cb_nodes'?"
