#!/usr/bin/env python3
"""debian.py SOURCE BUILD: what `cmake --install` installs is in one of Debian's packages, or listed in packaging/debian/not-installed.

dh_missing says the same, but only after the packages have been built.
"""
import fnmatch
import pathlib
import subprocess
import sys
import tempfile

source, build = map(pathlib.Path, sys.argv[1:3])
debian = source / "packaging" / "debian"
lists = [*debian.glob("*.install"), debian / "not-installed"]
patterns = [line.split()[0] for path in lists for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]


def packaged(name):
    return any(fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(name, pattern + "/*") for pattern in patterns)


with tempfile.TemporaryDirectory() as root:
    prefix = pathlib.Path(root) / "usr"
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    names = sorted(str(path.relative_to(root)) for path in prefix.rglob("*") if not path.is_dir())
    library = build / "CMakeCache.txt"
    folder = next(line.split("=")[1] for line in library.read_text().splitlines() if line.startswith("CMAKE_INSTALL_LIBDIR:"))
# Debian's folder of libraries has the name of the processor in it.
names = [name.replace(f"usr/{folder}/", "usr/lib/x86_64-linux-gnu/", 1) if "gnu" not in folder else name for name in names]
missing = [name for name in names if not packaged(name)]
for name in missing:
    print(f"{name}: in no packaging/debian/*.install, nor in not-installed")
if len(names) < 20:
    sys.exit(f"only {len(names)} files were installed")
sys.exit(1 if missing else 0)
