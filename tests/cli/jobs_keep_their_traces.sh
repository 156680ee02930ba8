#!/usr/bin/env bash
# Jobs of one program, with one directory for their traces and one file for their reports: each has its own, in the directory also those
# that come later. A file is replaced by a later job.
. "$(dirname "$0")/lib.sh"
cd "$scratch"
unset SLURM_JOB_ID SLURM_JOBID PBS_JOBID LSB_JOBID FLUX_JOB_ID PJM_JOBID COBALT_JOBID OAR_JOB_ID JOB_ID
mine="traces/app-uid$(id -u)"
cat >app.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 0, argv[1], 1, MPI_BYTE, MPI_STATUS_IGNORE);
  if (strcmp(argv[1], "killed") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 2) fclose(fopen(argv[3], "w"));
  for (int left = 1200; argc > 2 && access(argv[2], F_OK) != 0 && left > 0; --left) usleep(50000);
  MPI_Finalize();
}
C
ran=0
for mpi in mpich openmpi; do
  use_mpi "$mpi" || continue
  mkdir "$mpi" "$mpi/traces"
  "mpicc.$mpi" -O1 -o "$mpi/app" app.c
  cd "$mpi"
  MERCUTIO_TRACE=traces timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app first go first.open 2>err &
  for _ in $(seq 600); do [ ! -e first.open ] || break; sleep 0.05; done
  MERCUTIO_TRACE=traces timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app second
  touch go
  wait $!
  contains "$("$MERCUTIO" report "$mine.mtrace" --json)" second
  contains "$("$MERCUTIO" report "$mine.2.mtrace" --json)" first
  contains "$(cat err)" "the trace of this one is $PWD/$mine.2.mtrace"
  MERCUTIO_TRACE=traces timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app third
  contains "$("$MERCUTIO" report "$mine.3.mtrace" --json)" third
  SLURM_JOB_ID=7 MERCUTIO_TRACE=traces timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app fourth 2>err
  SLURM_JOB_ID=../8 MERCUTIO_TRACE=traces timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app fifth 2>>err
  equals "$(cat err)" ""
  contains "$("$MERCUTIO" report traces/app-7.mtrace --json)" fourth
  contains "$("$MERCUTIO" report traces/app-_._8.mtrace --json)" fifth
  equals "$(ls traces | wc -l)" 5
  for name in first second; do MERCUTIO_TRACE=one.mtrace timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app "$name"; done
  contains "$("$MERCUTIO" report one.mtrace --json)" second
  [ ! -e one.2.mtrace ] || fail "a file was not replaced"

  # What another user has put there first: nothing of it is used, and the trace is there in the end.
  if [ "$(id -u)" = 0 ]; then
    mkdir traces/app-9.mtrace.pieces
    chown 12345 traces/app-9.mtrace.pieces
    SLURM_JOB_ID=9 MERCUTIO_TRACE=traces timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app sixth 2>err
    contains "$(cat err)" "belongs to another user; the trace is in memory only until the end"
    equals "$(ls traces/app-9.mtrace.pieces 2>/dev/null)" ""
    contains "$("$MERCUTIO" report traces/app-9.mtrace --json 2>/dev/null)" sixth
    rm -r traces/app-9.mtrace*
  fi

  # Killed: what it did is shown, and not what the last one did.
  MERCUTIO_TRACE=traces timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app killed >/dev/null 2>&1 && fail "it was not killed"
  contains "$("$MERCUTIO" report "$mine.mtrace" --json 2>err)" killed
  contains "$(cat err)" "note: a later job has not ended, or was killed"
  rm -r "$mine.mtrace.pieces"

  # The trace can't be written in the end: what was recorded stays.
  rm -f go first.open
  MERCUTIO_TRACE=late.mtrace timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app first go first.open 2>err &
  for _ in $(seq 600); do [ ! -e first.open ] || break; sleep 0.05; done
  mkdir late.mtrace
  touch go
  wait $!
  contains "$(cat err)" "no trace: $PWD/late.mtrace: it is no file"
  rmdir late.mtrace
  contains "$("$MERCUTIO" report late.mtrace --json)" first

  # All end at the same moment, and each names its own.
  runners=()
  rm -f go
  for job in 1 2 3 4; do
    MERCUTIO_TRACE=traces MERCUTIO_REPORT=report.txt timeout 60 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./app "file.$job" go "open.$job" 2>"err.$job" &
    runners+=($!)
  done
  for _ in $(seq 600); do [ "$(ls open.* 2>/dev/null | wc -l)" -lt 4 ] || break; sleep 0.05; done
  "$MERCUTIO" report "$mine.mtrace" --csv >running 2>err   # one of them, and nothing of the others
  equals "$(grep -c "file\." running) $(cut -d, -f3 running | sort -u | grep -c "file\.")" "2 1"
  touch go
  wait "${runners[@]}"
  equals "$(ls report*.txt | wc -l)" 4
  for job in 1 2 3 4; do
    trace="$(sed -n "s/.*: the trace of this one is //p" "err.$job")"
    contains "$("$MERCUTIO" report "${trace:-$mine.mtrace}" --json)" "file.$job"
  done
  cd ..
done
[ "$ran" -gt 0 ] || { echo "no MPI: left out"; exit 77; }
