#!/usr/bin/env bash
# MERCUTIO_SITE: each job leaves one small record, on any MPI; never a word on stderr, nor another end, where it can't be written. Opting out.
. "$(dirname "$0")/lib.sh"
cd "$scratch"
cat >app.c <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
  char name[64], data[512] = "";
  int rank, files = atoi(argv[1]), calls = atoi(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < files; i++) {
    MPI_File file;
    snprintf(name, sizeof name, "out.%03d", i);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    for (int k = 0; k < calls; k++) MPI_File_write_at(file, (k * 2 + rank) * 512, data, 512, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_write_at_all(file, 0, data, 512, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
  }
  if (argc > 3 && rank == 0) sleep(atoi(argv[3]));
  MPI_Finalize();
  return 3;
}
C
# Only rank 0 has a record: nobody waits for the others.
cat >some.sh <<'S'
#!/bin/sh
[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = 0 ] || unset MERCUTIO_SITE
exec "$@"
S
chmod +x some.sh
ran=0
for mpi in mpich openmpi; do
  use_mpi "$mpi" || continue
  "mpicc.$mpi" -O1 -o "$mpi.app" app.c
  go() { "$MERCUTIO" run -- timeout 60 "mpirun.$mpi" "${flags[@]}" "./$mpi.app" "$@" >out 2>err || code=$?; }
  mkdir "$mpi"
  export MERCUTIO_SITE="$scratch/$mpi/%Y/%u-%j" SLURM_JOB_ID=42 USER=anna
  code=0
  go 1 20000
  equals "$code" 3
  lacks "$(cat out err)" mercutio
  record="$(echo "$mpi"/*/anna-42.mjob)"
  [ -f "$record" ] || fail "no record: $(find "$mpi")"
  equals "$(wc -l <"$record")" 1
  contains "$(cat "$record")" '"independent_writes":40000'
  contains "$(cat "$record")" '"written":20481024'
  contains "$(cat "$record")" '"job":"42","user":"anna"'
  contains "$(cat "$record")" '"ranks":2,'
  go 300 2   # a second step of the job: beside the first one
  second="$(echo "$mpi"/*/anna-42.2.mjob)"
  contains "$(cat "$second")" '"file_count":300'
  contains "$(cat "$second")" '"name":"out.###"'
  [ "$(wc -c <"$second")" -lt 100000 ] || fail "the record has $(wc -c <"$second") bytes"
  contains "$("$MERCUTIO" jobs "$mpi")" "2 jobs of 1 user"
  go 0 0     # no MPI-IO
  equals "$(find "$mpi" -name '*.mjob' | wc -l)" 2
  # Opting out, and where it can't be.
  for site in off 0 "$scratch/app.c/%j" "/proc/%j" "relative/%j" "/%q" "/dev/full/%j"; do
    code=0
    MERCUTIO_SITE="$site" go 1 2
    equals "$code" 3
    lacks "$(cat out err)" mercutio
  done
  MERCUTIO_DISABLE=1 go 1 2
  equals "$(find "$mpi" -name '*.mjob' | wc -l)" 2
  # Ranks without a record, and one that is late.
  code=0
  MERCUTIO_SITE="$scratch/$mpi/some" "$MERCUTIO" run -- timeout 60 "mpirun.$mpi" "${flags[@]}" ./some.sh "./$mpi.app" 1 2 >out 2>err || code=$?
  equals "$code" 3
  lacks "$(cat out err)" mercutio
  contains "$(cat "$mpi/some.mjob")" '"ranks":2,"ranks_known":1,'
  MERCUTIO_SITE="$scratch/$mpi/late" go 1 2 3
  contains "$(cat "$mpi/late.mjob")" '"ranks":2,"ranks_known":2,'
  lacks "$(cat out err)" WARN
  rm "$mpi/some.mjob" "$mpi/late.mjob"
  # From the site's file. Asked for a report, the user is told why there is no record.
  unset MERCUTIO_SITE
  printf 'jobs = "%s/%s/from-file-%%j"\n' "$scratch" "$mpi" >site.toml
  MERCUTIO_SITE_HINTS="$scratch/site.toml" go 1 2
  [ -f "$mpi/from-file-42.mjob" ] || fail "the site's file has no effect: $(find "$mpi")"
  contains "$(MERCUTIO_SITE_HINTS="$scratch/site.toml" "$MERCUTIO" hints --check site.toml 2>&1)" "site.toml"
  MERCUTIO_SITE_HINTS="$scratch/site.toml" MERCUTIO_SITE=off go 1 2
  equals "$(find "$mpi" -name 'from-file*.mjob' | wc -l)" 1
  MERCUTIO_SITE=/proc/%j MERCUTIO_REPORT=1 go 1 2
  contains "$(cat err)" "no record for the site"
  MERCUTIO_SITE="$scratch/$mpi/traced-%j" MERCUTIO_TRACE="$scratch/$mpi.mtrace" go 1 2
  [ -f "$mpi/traced-42.mjob" ] && [ -f "$mpi.mtrace" ] || fail "no trace beside the record"
done
[ "$ran" -gt 0 ] || skip "no MPI"
