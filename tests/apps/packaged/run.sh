#!/usr/bin/env bash
# Applications that Debian ships, unmodified, on Open MPI's own I/O and through Mercutio: they must leave the same files.
# Those that are not installed are left out; `make apps` installs them.
#   run.sh [lammps|petsc|p4est|cp2k|adios|saturne|abinit]...
set -euo pipefail
: "${MERCUTIO:?the path of the mercutio command}"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
launcher=(mpirun.openmpi --oversubscribe -n 4)
[ "$(id -u)" -ne 0 ] || launcher+=(--allow-run-as-root)
export OMP_NUM_THREADS=1
apps=("$@")
[ "${#apps[@]}" -gt 0 ] || apps=(lammps petsc p4est cp2k adios saturne abinit)

# The command of an application, run in its own folder with its inputs, and the files it leaves.
lammps() { command=(lmp -in "$here/lammps.in") files='*mpiio*' && type -P lmp >/dev/null; }
petsc() {
  local module
  module="$(compgen -G '/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages' | head -n 1)"
  export PYTHONPATH="$module"
  command=(/usr/bin/python3 "$here/petsc.py") files='petsc.bin*' && [ -n "$module" ]
}
p4est() {
  command=("$scratch/p4est") files='forest.*' && [ -e /usr/include/p4est.h ] &&
    mpicc.openmpi -O1 -o "$scratch/p4est" "$here/p4est.c" -lp4est -lsc
}
adios() {
  local libraries=/usr/lib/x86_64-linux-gnu
  command=("$scratch/adios") files='*.read' && [ -e "$libraries/adios/openmpi/libadios.a" ] &&
    mpicc.openmpi -O1 -o "$scratch/adios" "$here/adios.c" "$libraries/adios/openmpi/libadios.a" -lnetcdf_mpi \
      "-L$libraries/hdf5/openmpi" -lhdf5_hl -lhdf5 -lsz -lz -lbz2 -llz4 -lblosc -lm -lpthread
}
saturne() {
  local programs=/usr/lib/code_saturne
  command=("$programs/cs_solver" --quality) inputs=("$scratch/mesh_input") files='postprocessing/*' && [ -x "$programs/cs_solver" ] &&
    python3 "$here/saturne_mesh.py" "$scratch/cube.msh" &&
    "$programs/cs_preprocess" "$scratch/cube.msh" --out "$scratch/mesh_input" >/dev/null
}
abinit() { command=(abinit abinit.abi) inputs=("$here/abinit.abi") files='*_DS*' && type -P abinit >/dev/null && [ -e /usr/share/abinit/psp ]; }
cp2k() { command=(cp2k.psmp -i "$here/cp2k.inp" -o log) files='*.cube' && type -P cp2k.psmp >/dev/null; }

seconds() { date +%s.%N; }
failed=0
for app in "${apps[@]}"; do
  inputs=()
  if ! "$app"; then
    echo "$app: not installed"
    continue
  fi
  for folder in "$scratch/host" "$scratch/mercutio"; do
    mkdir "$folder"
    [ "${#inputs[@]}" -eq 0 ] || cp "${inputs[@]}" "$folder"
  done
  good=1 start="$(seconds)"
  (cd "$scratch/host" && timeout 600 "${launcher[@]}" "${command[@]}" >../host.out 2>&1) || good=0
  middle="$(seconds)"
  (cd "$scratch/mercutio" && timeout 600 "$MERCUTIO" run -- "${launcher[@]}" "${command[@]}" >../mercutio.out 2>&1) || good=0
  end="$(seconds)"
  count=0 differing=""
  for file in $(cd "$scratch/host" && compgen -G "$files"); do
    count=$((count + 1))
    cmp -s "$scratch/host/$file" "$scratch/mercutio/$file" || differing+=" $file"
  done
  if [ "$good" = 1 ] && [ "$count" -gt 0 ] && [ -z "$differing" ]; then
    awk -v app="$app" -v files="$count" -v a="$start" -v b="$middle" -v c="$end" \
      'BEGIN { printf "%s: %d files, the same; %.1f s on the host, %.1f s through Mercutio\n", app, files, b - a, c - b }'
  else
    failed=1
    echo "$app: FAILED, $count files, differing:${differing:- none}"
    tail -n 15 "$scratch/host.out" "$scratch/mercutio.out"
  fi
  rm -rf "$scratch/host" "$scratch/mercutio"
done
exit "$failed"
