#!/usr/bin/env bash
# The recipes have version and checksum of the tarball they are written for, and the checks see it where they don't.
#
#   recipes.sh SOURCE VERSION
set -euo pipefail
source="$1" version="$2" scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$*"; exit 1; }

make_tarball() {   # VERSION, with a CMakeLists.txt that says so
  mkdir -p "$scratch/tree/mercutio-$1"
  sed "s/^project(mercutio VERSION $version/project(mercutio VERSION $1/" "$source/CMakeLists.txt" >"$scratch/tree/mercutio-$1/CMakeLists.txt"
  tar -C "$scratch/tree" -czf "$scratch/mercutio-$1.tar.gz" "mercutio-$1"
}
write() { python3 "$source/packaging/recipes.py" "$@"; }
spack() { python3 "$source/packaging/spack/check.py" "$scratch/recipes/spack/packages/mercutio/package.py" "$1"; }

make_tarball 9.8.7
tarball="$scratch/mercutio-9.8.7.tar.gz"
write "$tarball" "$scratch" --url https://example.org/dist/mercutio-9.8.7.tar.gz >"$scratch/written"
sum="$(sha256sum "$tarball" | cut -d' ' -f1)"
[ "$(wc -l <"$scratch/written")" = 5 ] || fail "not five recipes"
while read -r file; do
  ! grep -HnE "@[A-Z0-9]+@" "$file" || fail "a placeholder"
  ! grep -HnF "$version" "$file" || fail "this tree's version"
done <"$scratch/written"
for file in spack/packages/mercutio/package.py easybuild/Mercutio-9.8.7-GCCcore-13.3.0.eb conda/recipe.yaml; do
  grep -q "$sum" "$scratch/recipes/$file" || fail "$file lacks the checksum"
  grep -qF https://example.org/dist "$scratch/recipes/$file" || fail "$file lacks the address"
done
spack "$tarball" || fail "the check of Spack's recipe"

# A tarball that changed, and one whose name is not its version.
echo more >>"$tarball"
spack "$tarball" && fail "another checksum was not seen"
mv "$tarball" "$scratch/mercutio-9.8.6.tar.gz"
write "$scratch/mercutio-9.8.6.tar.gz" "$scratch" 2>/dev/null && fail "another version was not seen"
exit 0
