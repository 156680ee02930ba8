# Read by ctest when it begins. Open MPI 4 has a folder for all jobs of a user, and removes it where no other folder is in it at a job's end, even if
# another job is about to use it, which then fails ("orte_session_dir failed").
execute_process(COMMAND sh -c [[umask 077; mkdir -p "${TMPDIR:-${TEMP:-${TMP:-/tmp}}}/ompi.$(uname -n | cut -d . -f 1).$(id -u)/kept"]])
