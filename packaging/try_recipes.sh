#!/usr/bin/env bash
# Writes the recipes for a tarball (recipes.py) and tries each as far as its tool goes here:
#
#   EasyBuild   eb checks style and checksums, finds every dependency, then unpacks and configures on this machine's compiler
#   conda       rattler-build renders the recipe, builds its package on this machine's compiler, and runs its tests
#   Spack       without Spack: its directives, checksum and settings of CMake (spack/check.py)
#   Apptainer   without Apptainer: what the definition says in a new root (apptainer/check.sh), after packaging/deb/build.sh
#
#   packaging/try_recipes.sh TARBALL FOLDER [easybuild|conda|spack|apptainer]...      RESULTS names a file for lines of JSON
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
tarball="$(realpath "$1")"
mkdir -p "$2"
folder="$(cd "$2" && pwd)"
shift 2
[ $# -gt 0 ] || set -- easybuild conda spack apptainer
name="$(basename "$tarball" .tar.gz)"
recipes="$folder/recipes"
work="$folder/try-recipes"
tools="$folder/recipe-tools"
. "$here/result.sh"
rm -rf "$recipes" "$work"
mkdir -p "$work"
if [ ! -e "$tools/complete" ]; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/python" -m pip -q --disable-pip-version-check install easybuild==5.4.1 pycodestyle==2.14.0 py-rattler-build==0.73.0
  touch "$tools/complete"
fi
python3 "$here/recipes.py" "$tarball" "$folder" >"$work/written"
tar -xf "$tarball" -C "$work"

try_easybuild() {
  local recipe=("$recipes"/easybuild/*.eb) eb=("$tools/bin/eb" --modules-tool=Lmod "--prefix=$work/easybuild")
  export EB_PYTHON="$tools/bin/python" LMOD_CMD="${LMOD_CMD:-/usr/share/lmod/lmod/libexec/lmod}"
  [ "$(id -u)" -ne 0 ] || eb+=(--allow-use-as-root-and-accept-consequences)
  "${eb[@]}" --check-contrib "${recipe[0]}"
  "${eb[@]}" --robot --dry-run "${recipe[0]}" >"$work/robot"
  grep -q "module: GCCcore/" "$work/robot"
  ! grep -i "missing" "$work/robot"
  mkdir "$work/system"
  sed "s/^toolchain = .*/toolchain = SYSTEM/" "${recipe[0]}" >"$work/system/${name/m/M}.eb"
  "${eb[@]}" --filter-deps=binutils,CLI11,CMake,tomlplusplus,xxHash,lz4,OpenSSL,Python --stop=configure "$work/system/${name/m/M}.eb"
}

try_conda() { "$tools/bin/python" "$here/conda/check.py" "$recipes/conda/recipe.yaml" "$work/conda"; }
try_spack() { "$here/spack/check.py" "$recipes/spack/packages/mercutio/package.py" "$tarball" --configure "$work/$name" "$work/spack"; }
try_apptainer() { "$here/apptainer/check.sh" "$recipes/apptainer/mercutio.def" "$folder"; }

declare -A what=(
  [easybuild]="eb: style, checksum, dependencies, configuring" [conda]="rattler-build: rendered, built with the system's compiler, tested"
  [spack]="without Spack: directives, checksum, configuring" [apptainer]="without Apptainer: its sections in a new root"
)
failed=0
for tool in "$@"; do
  set +e   # in a condition, the commands of a function may fail unseen
  (set -e; "try_$tool") >"$work/$tool.log" 2>&1
  code=$?
  set -e
  if [ $code = 0 ]; then
    result "$tool" recipe "${what[$tool]}" passed
  else
    tail -n 30 "$work/$tool.log"
    result "$tool" recipe "${what[$tool]}" failed
    failed=1
  fi
done
exit $failed
