#!/usr/bin/env bash
# The commit in the version is that of the tree which is built, and not that of a repository around it.
. "$(dirname "$0")/lib.sh"
command -v git >/dev/null && command -v cmake >/dev/null || skip "git and cmake are needed"
root="$(cd "$(dirname "$0")/../.." && pwd)"
cd "$scratch"

# revision FOLDER: as the build writes it
revision() {
  cmake -DSOURCE="$1" -DVERSION=1.2.3 -DHEADER="$PWD/revision.h" -P "$root/cmake/MercutioRevision.cmake" || fail "the header can't be made"
  sed -n 's/.*MERCUTIO_REVISION "\(.*\)"/\1/p' revision.h
}

mkdir -p around/tree/cmake
cp "$root/cmake/commit.txt" around/tree/cmake/
cp -r around/tree/cmake around/
git -C around init -q
git -C around add .
git -C around -c user.name=n -c user.email=e@example.org commit -qm "The first one"
commit="$(git -C around rev-parse --short=12 HEAD)"
equals "$(revision "$PWD/around")" "1.2.3 ($commit)"
equals "$(revision "$PWD/around/tree")" 1.2.3   # no commit of its own
echo 0123456789abcdef0123 >around/tree/cmake/commit.txt
equals "$(revision "$PWD/around/tree")" "1.2.3 (0123456789ab)"   # a tarball
