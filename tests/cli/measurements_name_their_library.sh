#!/usr/bin/env bash
# What bench and replay measure is what they name, on both MPIs: their own I/O in spite of a preload, Mercutio in spite of MERCUTIO_DISABLE=1,
# and nothing where its backend is missing. Only Mercutio keeps traces.
. "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
library="$("$MERCUTIO" preload)"
mkdir "$scratch/lib"
cp "$library" "$scratch/lib/libmercutio.so"
cd "$scratch"
ran=0
for mpi in mpich openmpi; do
  use_mpi "$mpi" || continue
  launcher=("mpirun.$mpi" "${flags[@]}")
  bench() { timeout 100 "$MERCUTIO" bench --mpi "mpirun.$mpi" --dir . --ranks 2 --bytes 64KiB --patterns vector-1KiB --repetitions 1 "$@"; }
  LD_PRELOAD="$library" MERCUTIO_TRACE="$scratch/host.mtrace" bench --io host >out 2>&1 || fail "$mpi: $(cat out)"
  [ ! -e host.mtrace ] || fail "$mpi: bench measured Mercutio as the host"
  MERCUTIO_DISABLE=1 MERCUTIO_TRACE="$scratch/ours.mtrace" bench --io mercutio >out 2>&1 || fail "$mpi: $(cat out)"
  [ -e ours.mtrace ] || fail "$mpi: bench measured the host as Mercutio"
  rm ours.mtrace
  code=0
  MERCUTIO_LIBDIR="$scratch/lib" bench --io host --io mercutio >out 2>&1 || code=$?
  equals "$code" 1
  contains "$(cat out)" "/mercutio is not measured: there is no libmercutio-$mpi.so beside"
  lacks "$(cat out)" "/mercutio  "

  "mpicc.$mpi" -O1 -o "app.$mpi" "$root/tests/apps/replay_app.c"
  mkdir "$mpi" "$mpi/in"
  (cd "$mpi" && timeout 60 "$MERCUTIO" run --trace=app.mtrace -- "${launcher[@]}" "../app.$mpi" in)
  replay() { timeout 60 "$MERCUTIO" replay "$@" -- "${launcher[@]}"; }
  cd "$mpi"
  LD_PRELOAD="$library" MERCUTIO_TRACE="$scratch/host.mtrace" replay --host app.mtrace >out || fail "$mpi: replay --host"
  [ ! -e ../host.mtrace ] || fail "$mpi: replay --host used Mercutio"
  MERCUTIO_DISABLE=1 MERCUTIO_TRACE="$scratch/ours.mtrace" replay app.mtrace >out || fail "$mpi: replay"
  [ -e ../ours.mtrace ] || fail "$mpi: replay used the host's I/O"
  rm ../ours.mtrace
  code=0
  MERCUTIO_LIBDIR="$scratch/lib" replay app.mtrace >out 2>&1 || code=$?
  equals "$code" 1
  contains "$(cat out)" "there is no libmercutio-$mpi.so beside"
  cd ..
done
[ "$ran" -gt 0 ] || skip "there is no MPI here"
