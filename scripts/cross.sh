#!/usr/bin/env bash
# Builds for another processor and runs its tests emulated (`make cross`): scripts/cross.sh aarch64|riscv64|ppc64le|s390x
#
# Debian's libraries for it, an MPI among them, are in build-cross/roots (scripts/setup.sh cross). Without, the tests that need no MPI remain. A
# line for each kind of tests goes to build-cross/results.jsonl. JOBS, CTEST_JOBS: as in the Makefile; BUILD: the build for this machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
processor="$1"
build="build-cross/$processor" root="build-cross/roots/$processor" jobs="${JOBS:-$(nproc)}"
arguments=(-DMERCUTIO_TOMLPLUSPLUS_INCLUDE_DIR="$PWD/build-cross/include")
[ ! -e "$root/.complete" ] || arguments=(-DMERCUTIO_SYSROOT="$PWD/$root")
launcher=
! command -v ccache >/dev/null || launcher=ccache

echo "# $processor"
# Emulated tests gain little by an optimising compiler, which is most of the time of a build that is made once.
cmake -S . -B "$build" -G Ninja --toolchain "cmake/toolchains/$processor.cmake" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" -DMERCUTIO_ASSERTS=ON -DMERCUTIO_UNITY=ON -DMERCUTIO_GOOGLETEST_SOURCE=/usr/src/googletest \
  -DMERCUTIO_NATIVE_BUILD="$PWD/${BUILD:-build}" "${arguments[@]}" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }

# tests KIND TARGET ARGUMENTS...: builds a target and runs the tests that ctest chooses by the arguments.
tests() {
  local kind="$1" target="$2" status=0
  shift 2
  ninja -C "$build" -j "$jobs" --quiet "$target" || return
  ctest --test-dir "$build" -j "${CTEST_JOBS:-2}" --output-on-failure "$@" | tee "$build/$kind.log" || status=1
  python3 - "$processor" "$kind" "$build/$kind.log" >>build-cross/results.jsonl <<'END'
import json, re, sys
processor, kind, log = sys.argv[1:]
failed, all_tests = re.search(r"(\d+) tests? failed out of (\d+)", open(log).read()).groups()
print(json.dumps(dict(processor=processor, tests=kind, passed=int(all_tests) - int(failed), failed=int(failed))))
END
  return $status
}
failed=0
tests core core_tests -L '^(unit|model|plan|contract|fault|sim)$' -E '^(place$|programs\.faults$|remote\.)' || failed=1
if [ -e "$root/.complete" ]; then
  tests mpi cross_mpi_tests -R '^(conformance\.mpich\.|regress\.mpich$|cross\.)' -E 'mpich\.(seven_ranks|device|compare|remote|unthreaded|shared_by)' || failed=1
fi
exit $failed
