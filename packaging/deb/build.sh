#!/usr/bin/env bash
# Builds Debian's packages from the release tarball (`make dist`) and checks them with lintian.
#
#   packaging/deb/build.sh TARBALL FOLDER      the packages appear in FOLDER/deb, with the source package and lintian.txt
#
# What packaging/debian/control names must be installed (scripts/setup.sh packages). The build has no network. lintian's errors and
# warnings are failures. The same tarball on the same system gives the same packages.
set -euo pipefail
tarball="$(realpath "$1")"
name="$(basename "$tarball" .tar.gz)"
rm -rf "$2/deb"
mkdir -p "$2/deb"
cd "$2/deb"

cp "$tarball" "${name/-/_}.orig.tar.gz"
tar -xf "$tarball"
cp -r "$name/packaging/debian" "$name/debian"
cd "$name"
version="$(dpkg-parsechangelog -S Version)"
[ "mercutio-${version%-*}" = "$name" ] || { echo "build.sh: packaging/debian/changelog has $version, the tarball is $name" >&2; exit 1; }
SOURCE_DATE_EPOCH="$(stat -c %Y CMakeLists.txt)"   # the commit's time
export SOURCE_DATE_EPOCH DEB_BUILD_OPTIONS="terse parallel=${JOBS:-2}"
net=(unshare --net)
[ "$(id -u)" -eq 0 ] || net=(unshare --map-root-user --net)
"${net[@]}" dpkg-buildpackage --no-sign >../build.log 2>&1 || { tail -n 40 ../build.log; exit 1; }
cd ..
if ! lintian --allow-root --info --display-info --fail-on error,warning ./*.changes >lintian.txt 2>&1; then
  grep '^[EW]:' lintian.txt || tail -n 20 lintian.txt
  exit 1
fi
printf '%s\n' "$PWD"/*.deb
