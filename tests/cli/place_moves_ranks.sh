#!/usr/bin/env bash
# mercutio place: the example of the literature from a matrix and from a traced run; the launchers' files; what is refused.
. "$(dirname "$0")/lib.sh"
cd "$scratch"
printf '0,7,0,0\n7,0,1,0\n0,1,0,7\n0,0,7,0\n' >general.csv
printf 'one slots=2\ntwo slots=2\n' >hosts
printf 'nodes 2\nnode_names one two\nranks_per_node 2\nmap cyclic\n' >cyclic.machine

out="$("$MERCUTIO" place --matrix general.csv --machine cyclic.machine --rankfile r --machinefile m --slurm s)"
contains "$out" "4 ranks on 2 nodes"
contains "$out" "cost before 15, after 1; 2 of 4 ranks"
contains "$out" "mpirun -n 4 --rankfile r"
contains "$out" "mpiexec -n 4 -machinefile m"
contains "$out" "SLURM_HOSTFILE=s srun -n 4 --distribution=arbitrary"
equals "$(cat r)" "$(printf 'rank 0=one slot=0\nrank 1=one slot=1\nrank 2=two slot=0\nrank 3=two slot=1')"
equals "$(cat m)" "$(printf 'one:2\ntwo:2')"
equals "$(cat s)" "$(printf 'one\none\ntwo\ntwo')"
lacks "$out" "another node:"
printf '0,0,7,0\n0,0,0,7\n7,0,0,0\n0,7,0,0\n' >alternating.csv   # ranks 0 and 2, 1 and 3
out="$("$MERCUTIO" place --matrix alternating.csv --hosts hosts --rankfile r --machinefile m --slurm s)"
contains "$out" "MPICH takes a host that comes again in it for another node"
equals "$(cat m)" "$(printf 'one:1\ntwo:1\none:1\ntwo:1')"
equals "$(cat s)" "$(printf 'one\ntwo\none\ntwo')"
equals "$(cat r)" "$(printf 'rank 0=one slot=0\nrank 1=two slot=0\nrank 2=one slot=1\nrank 3=two slot=1')"
for method in setmatch mpipp; do
  contains "$("$MERCUTIO" place --matrix general.csv --machine cyclic.machine --method $method)" "before 15, after 1;"
done
contains "$("$MERCUTIO" place --matrix general.csv --hosts hosts)" "cost before 1, after 1; 0 of 4 ranks"
printf '0 5\n5 0\n' >costs
contains "$("$MERCUTIO" place --matrix general.csv --hosts hosts --costs costs)" "cost before 5, after 5;"
cat >node.xml <<'END'
<topology><object type="NUMANode" cpuset="0x3"/><object type="Core" cpuset="0x1"/><object type="Core" cpuset="0x2"/>
<object type="NUMANode" cpuset="0xc"/><object type="Core" cpuset="0x4"/><object type="Core" cpuset="0x8"/></topology>
END
printf 'all:4\n' >one
printf '0 0 9 0\n0 0 0 9\n9 0 0 0\n0 9 0 0\n' >crossed.csv
"$MERCUTIO" place --matrix crossed.csv --hosts one --topology node.xml --rankfile r >/dev/null
equals "$(cat r)" "$(printf 'rank 0=all slot=0\nrank 1=all slot=2\nrank 2=all slot=1\nrank 3=all slot=3')"

refused() {   # refused CODE TEXT ARGUMENT...
  local code=0
  "$MERCUTIO" place "${@:3}" >/dev/null 2>err || code=$?
  equals "$code" "$1"
  contains "$(cat err)" "$2"
}
refused 2 "give a trace"
refused 1 "a trace is made by: mercutio run --trace=none" none
refused 1 "give them with --hosts" --matrix general.csv
before="$(cat general.csv)"
ln -s general.csv link.csv
for option in --rankfile --machinefile --slurm --write-matrix; do
  refused 2 "is read, and is not overwritten" --matrix general.csv --hosts hosts $option ./general.csv
  refused 2 "is read, and is not overwritten" --matrix general.csv --hosts hosts $option link.csv
done
equals "$(cat general.csv)" "$before"
printf 'one\n' >small
printf 'one slots=3\n' >few
refused 1 "the nodes take 3 ranks, but there are 4" --matrix general.csv --hosts few
refused 1 "costs between 2 nodes, but there are 1" --matrix general.csv --hosts small --costs costs
printf '1 2\n3\n' >broken
refused 1 "broken: line 2: 1 numbers" --matrix broken --hosts hosts
refused 1 "it holds no cores" --matrix general.csv --hosts hosts --topology general.csv

# The same from a run: 2 x 2 ranks, tiles of 4 lines of 4 bytes.
launcher=""
for mpi in mpich openmpi; do
  command -v "mpirun.$mpi" >/dev/null && command -v "mpicc.$mpi" >/dev/null && launcher="mpirun.$mpi" compiler="mpicc.$mpi" && break
done
[ -n "$launcher" ] || exit 0
cat >tiles.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, whole[2] = {8, 8}, part[2] = {4, 4}, at[2], step;
  char tile[16] = "0123456789abcde";
  MPI_Datatype type;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  at[0] = rank / 2 * 4, at[1] = rank % 2 * 4;
  MPI_Type_create_subarray(2, whole, part, at, MPI_ORDER_C, MPI_CHAR, &type);
  MPI_Type_commit(&type);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 0, MPI_CHAR, type, "native", MPI_INFO_NULL);
  for (step = 0; step < 20; ++step) MPI_File_write_at_all(file, 0, tile, 16, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
END
"$compiler" -o tiles tiles.c
[ "$launcher" != mpirun.mpich ] || export LD_PRELOAD="$TEST_BUILD/tests/tools/libmpich_yield.so"
mapfile -t flags < <(launch_flags "$launcher")
flags[${#flags[@]} - 1]=4
timeout 120 "$MERCUTIO" run --trace=tiles.mtrace --hint cb_nodes=2 --hint mercutio_strategy=two_phase -- "$launcher" "${flags[@]}" ./tiles data >out 2>&1 || fail "$(cat out)"
unset LD_PRELOAD
out="$("$MERCUTIO" place tiles.mtrace --use neighbours --machine cyclic.machine --write-matrix w.csv)"
# Eight of the twenty accesses are kept, each of them with the example's matrix.
equals "$(cat w.csv)" "$(printf '0,56,0,0\n56,0,8,0\n0,8,0,56\n0,0,56,0')"
contains "$out" "cost before 120, after 8;"
out="$("$MERCUTIO" place tiles.mtrace --machine cyclic.machine --rankfile r)"
contains "$out" "start, as in cyclic.machine"
contains "$out" "of 1.2 KiB that collective accesses exchange, between nodes: before 640 B, after 0 B"
contains "$out" "after 0; 2 of 4 ranks"
equals "$(cat r)" "$(printf 'rank 0=one slot=0\nrank 1=one slot=1\nrank 2=two slot=0\nrank 3=two slot=1')"
# Four aggregators in turn over the nodes: what ranks have in common goes to both of them, wherever they sit.
cat >halves.c <<'END'
#include <mpi.h>
static char data[16 * 4096];
int main(int argc, char** argv) {
  int rank;
  MPI_Datatype type;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_vector(16, 4096, 8192, MPI_CHAR, &type);
  MPI_Type_commit(&type);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, rank % 2 * 32 * 4096 + rank / 2 * 4096, MPI_CHAR, type, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, data, sizeof data, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Type_free(&type);
  MPI_Finalize();
  return 0;
}
END
"$compiler" -o halves halves.c
for aggregators in 4 2; do
  [ "$launcher" != mpirun.mpich ] || export LD_PRELOAD="$TEST_BUILD/tests/tools/libmpich_yield.so"
  timeout 120 "$MERCUTIO" run --trace=halves.mtrace --hint cb_nodes=$aggregators --hint mercutio_strategy=two_phase -- "$launcher" "${flags[@]}" ./halves data2 >out 2>&1 || fail "$(cat out)"
  unset LD_PRELOAD
  out="$("$MERCUTIO" place halves.mtrace --hosts hosts)"
  if [ "$aggregators" = 2 ]; then
    contains "$out" "between nodes: before 128 KiB, after 0 B"
    contains "$out" "2 of 4 ranks sit on another node"
  else
    contains "$out" "between nodes: before 128 KiB, after 128 KiB"
    contains "$out" "0 of 4 ranks sit on another node"
    contains "$out" "ranks stay where they were"
  fi
done
lacks "$("$MERCUTIO" report tiles.mtrace --json)" sketch
