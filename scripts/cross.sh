#!/usr/bin/env bash
# Builds for another processor and runs its tests emulated (`make cross`), or for another C library (`make musl`):
#
#   scripts/cross.sh aarch64|riscv64|ppc64le|s390x|musl
#
# Debian's libraries for it, an MPI among them, are in build-cross/roots (scripts/setup.sh cross). Without, the tests that need no MPI remain. A
# line for each kind of tests goes to build-cross/results.jsonl. JOBS, CTEST_JOBS, KINDS: as in the Makefile; BUILD: the build for this machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
processor="$1"
kinds="${KINDS:-core mpi}"
build="build-cross/$processor" root="build-cross/roots/$processor" jobs="${JOBS:-$(nproc)}"
arguments=(-DMERCUTIO_TOMLPLUSPLUS_INCLUDE_DIR="$PWD/build-cross/include")
[ ! -e "$root/.complete" ] || arguments=(-DMERCUTIO_SYSROOT="$PWD/$root")
export ZIG_GLOBAL_CACHE_DIR="$PWD/build-cross/zig"   # for musl
launcher=
! command -v ccache >/dev/null || launcher=ccache

echo "# $processor"
# Emulated tests gain little by an optimising compiler, which is most of the time of a build that is made once.
cmake -S . -B "$build" -G Ninja --toolchain "cmake/toolchains/$processor.cmake" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DMERCUTIO_ASSERTS=ON -DMERCUTIO_UNITY=ON -DMERCUTIO_GOOGLETEST_SOURCE=/usr/src/googletest \
  -DMERCUTIO_NATIVE_BUILD="$PWD/${BUILD:-build}" "${arguments[@]}" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }

declare -A title=([core]="core" [mpi]="MPI programs")   # results of one kind stay when the other is run

# tests KIND TARGET ARGUMENTS...: builds a target and runs the tests that ctest chooses by the arguments.
tests() {
  local kind="$1" target="$2" status=0
  shift 2
  ninja -C "$build" -j "$jobs" --quiet "$target" || return
  ctest --test-dir "$build" -j "${CTEST_JOBS:-2}" --output-on-failure "$@" | tee "$build/$kind.log" || status=1
  python3 - "$processor, ${title[$kind]}" "$build/Testing/Temporary/LastTest.log" >>build-cross/results.jsonl <<'END'
import json, re, sys
kinds = {"conformance": "cases of the conformance programs, MPICH, 2 ranks", "regress": "cases of the regress programs, MPICH, 4 ranks",
         "cross": "programs that exchange files with x86-64", "": "tests of the core: units, model, plans, contract, faults, simulations"}
counts = {}
for name, told in re.findall(r"^\d+/\d+ Testing: (\S+)\n(.*?)^\"[^\n]*\" end time: ", open(sys.argv[2], errors="replace").read(), re.S | re.M):
    kind = kinds.get(name.split(".")[0], kinds[""])
    cases = re.findall(r"^(\d+) ok, \d+ known failures, (\d+) bad$", told, re.M) or [(1, 0) if "\nTest Passed.\n" in told else (0, 1)]
    counts[kind] = [sum(int(case[i]) for case in cases) + counts.get(kind, (0, 0))[i] for i in (0, 1)]
for kind, (passed, failed) in counts.items():
    print(json.dumps(dict(processor=sys.argv[1], tests=kind, passed=passed, failed=failed)))
END
  return $status
}
failed=0
target=core_tests left_out='place$|programs\.faults$|remote\.'
if [ "$processor" = musl ]; then   # linked statically: nothing can be loaded
  target=static_tests left_out+='|contract\.|drivers\.|stripes\.|unit\.omp$'
fi
if [[ "$kinds" == *core* ]]; then
  tests core "$target" -L '^(unit|model|plan|contract|fault|sim)$' -E "^($left_out)" || failed=1
fi
if [[ "$kinds" == *mpi* && -e "$root/.complete" ]]; then
  tests mpi cross_mpi_tests -R '^(conformance\.mpich\.|regress\.mpich$|cross\.)' -E 'mpich\.(seven_ranks|device|compare|remote|unthreaded|shared_by)' || failed=1
fi
exit $failed
