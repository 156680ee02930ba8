#!/usr/bin/env bash
# What is measured is printed, stored for the file system, and in force for files opened there; other hints win.
. "$(dirname "$0")/lib.sh"
export XDG_CONFIG_HOME="$scratch/config"
stored="$XDG_CONFIG_HOME/mercutio/measured"
mkdir "$scratch/data"
probe() { "$MERCUTIO" probe --dir "$scratch/data" --bytes 256k --processes 2 "$@"; }

contains "$(probe --print)" "mercutio_saturation_bytes "
[ ! -e "$stored" ] || fail "--print stored something"
contains "$(probe --print --repetitions 3)" "the median of 3, the lowest and the highest"
probe --print >"$scratch/out"
grep -Eq "^ +4096 bytes +[0-9.]+ MiB/s  \([0-9.]+ to [0-9.]+\)$" "$scratch/out" || fail "no spread"
! probe --print --repetitions 2 2>/dev/null || fail "two repetitions have no median"
out="$(probe)"
contains "$out" "stored in $stored"
contains "$(cat "$stored")" "[$scratch/data]"
size="$(printf '%s\n' "$out" | sed -n 's/^mercutio_saturation_bytes //p')"
count="$(printf '%s\n' "$out" | sed -n 's/^mercutio_aggregators_per_node //p')"
[ "$size" -ge 4096 ] && [ "$size" -le 262144 ] || fail "saturation at '$size'"
[ "$count" -ge 1 ] && [ "$count" -le 2 ] || fail "'$count' processes"
contains "$(cat "$stored")" "mercutio_saturation_bytes $size"
probe >/dev/null
mkdir "$scratch/data/sub"
"$MERCUTIO" probe --dir "$scratch/data/sub" --bytes 256k --processes 2 >/dev/null   # the same file system: what was measured last counts
equals "$(grep '^\[' "$stored")" "[$scratch/data/sub]"
rmdir "$scratch/data/sub"
[ -z "$(ls -A "$scratch/data")" ] || fail "files were left behind"
! "$MERCUTIO" probe --dir "$scratch/none" 2>/dev/null || fail "a directory that is not there was probed"

mpicc="$(command -v mpicc.mpich || command -v mpicc)" || skip "no MPI to open a file with"
cat >"$scratch/get.c" <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_File file;
  MPI_Info info;
  char value[64] = "";
  int found = 0;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "mercutio_saturation_bytes", 63, value, &found);
  printf("%s\n", found ? value : "none");
  MPI_Info_free(&info);
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
C
"$mpicc" "$scratch/get.c" -o "$scratch/get"
printf '[%s]\nmercutio_saturation_bytes 12345\n' "$scratch/data" >"$stored"
asks() { LD_PRELOAD="$("$MERCUTIO" preload)" "$scratch/get" "$1" 2>/dev/null; }
equals "$(asks "$scratch/data/file")" 12345
equals "$(asks "memory:file")" 0
equals "$(MERCUTIO_HINTS=mercutio_saturation_bytes=777 asks "$scratch/data/file")" 777
rm "$stored"
equals "$(asks "$scratch/data/file")" 0
