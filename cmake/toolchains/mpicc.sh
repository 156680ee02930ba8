#!/bin/sh
# A cross compiler as the wrapper of the MPICH in a sysroot (scripts/sysroot.sh): mpicc.sh ROOT TRIPLET gcc|g++|gfortran ARGUMENTS...
root="$1" triplet="$2" compiler="$3"
shift 3
library=mpich
[ "$compiler" != gfortran ] || library=mpichfort
exec "$triplet-$compiler" --sysroot="$root" -I"$root/usr/include/$triplet/mpich" "$@" \
  -L"$root/usr/lib/$triplet" -l$library -lmpich -Wl,--allow-shlib-undefined
