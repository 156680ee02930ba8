#!/usr/bin/env python3
"""Checks a wheel by what its files need, show and hold: no versioned symbol newer than a C library, no library beyond the C
library's and libgcc_s, no C++ symbols that a program could see, no run path, no path of the build folder, every expected file.

    check.py --glibc 2.28 [--build FOLDER] [--auditwheel PROGRAM] WHEEL      prints the newest versions that each file needs
    check.py --glibc 2.28 FILE.so                                            one library or program
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# What every Linux has (the manylinux policies allow these, and more).
SYSTEM = re.compile(r"lib(c|m|pthread|dl|rt|gcc_s)\.so\.\d+$|ld-linux[-\w]*\.so\.\d$")
VERSIONED = re.compile(r"\b(GLIBC|GCC|GLIBCXX|CXXABI)_([0-9.]+)\b")
CPLUSPLUS = re.compile(r"_Z|__cxa|__gxx")
COMMANDS = ["mercutio", "mercutio-probe", "mercutiod", "mercutio-connect", "mercutio-connections", "mercutio-cp", "mercutio-files",
            "mercutio-route"]
LIBRARIES = ["libmercutio.so", "libmercutio-mpich.so", "libmercutio-openmpi.so", "libmercutio-abi.so", "libmercutio-remote.so",
             "libmercutio-omp.so", "mercutio/drivers/libmercutio-driver-cephfs.so", "mercutio/drivers/libmercutio-driver-gluster.so",
             "mercutio/drivers/libmercutio-driver-pvfs2.so"]
SHARED = ["man/man1/mercutio.1", "man/man1/mercutiod.1", "mercutio/report/report.py", "mercutio/tune/tune.py", "mercutio/bench/plot.py"]
MODULES = ["mercutio/__init__.py", "mercutio/filesystem.py", "mercutio/remote.py"]
EXPECTED = [f"bin/{name}" for name in COMMANDS] + [f"lib/{name}" for name in LIBRARIES] + [f"share/{name}" for name in SHARED] + MODULES


def readelf(*words):
    return subprocess.run(["readelf", "-W", *words], check=True, capture_output=True, text=True).stdout


def number(version):
    return tuple(int(part) for part in version.split("."))


def newest(path):
    """The newest version of each set that the file needs."""
    found = {}
    needs = readelf("--version-info", path).partition("Version needs section")[2]
    for kind, version in VERSIONED.findall(needs):
        if number(version) > number(found.get(kind, "0")):
            found[kind] = version
    return found


def elf_findings(path, name, glibc):
    versions = newest(path)
    print(f"{name:48}", " ".join(f"{kind}_{version}" for kind, version in sorted(versions.items())))
    if number(versions.get("GLIBC", "0")) > number(glibc):
        yield f"{name} needs GLIBC_{versions['GLIBC']}"
    for kind in ("GLIBCXX", "CXXABI"):
        if kind in versions:
            yield f"{name} needs {kind}_{versions[kind]}: the C++ library must be inside"
    dynamic = readelf("-d", path)
    for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not SYSTEM.match(needed):
            yield f"{name} needs {needed}"
    relocations = readelf("-r", path)
    if re.search(r"R_\w+_COPY .* environ@", relocations):
        yield f"{name} has a copy of environ that the C library doesn't fill"
    if re.search(r" pthread_once \+", relocations):
        yield f"{name} needs pthread_once of no library: libpthread isn't linked"
    for run_path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
        yield f"{name} has the run path {run_path}"
    for line in readelf("--dyn-syms", path).splitlines():
        words = line.split()
        if len(words) == 8 and words[6] != "UND" and words[4] in ("GLOBAL", "WEAK", "UNIQUE") and CPLUSPLUS.match(words[7]):
            yield f"{name} exports {words[7]}"
            break


def wheel_findings(wheel, glibc, build, folder):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        executable = {item.filename for item in archive.infolist() if item.external_attr >> 16 & 0o111}
    seen = set()
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
        inside = path.relative_to(folder)
        name = "/".join(inside.parts[2:] if inside.parts[0].endswith(".data") else inside.parts)
        seen.add(name)
        if name.startswith("bin/") and str(inside) not in executable:
            yield f"{name} isn't executable"
        content = path.read_bytes()
        if build and os.fsencode(build) in content:
            yield f"{name} holds the build folder's path"
        if content.startswith(b"\x7fELF"):
            yield from elf_findings(path, name, glibc)
    yield from (f"{name} is missing" for name in EXPECTED if name not in seen)
    if sum(name.endswith(".dist-info/METADATA") for name in seen) != 1:
        yield "not exactly one dist-info"


def auditwheel_findings(program, wheel, glibc):
    told = subprocess.run([program, "show", wheel], capture_output=True, text=True)
    tags = re.search(r'constrains the platform tag to\s+"manylinux_(\d+)_(\d+)_', told.stdout) or re.search(r'"manylinux_(\d+)_(\d+)_', told.stdout)
    if told.returncode != 0 or not tags:
        yield "auditwheel: " + (told.stdout + told.stderr).strip()
    elif (int(tags[1]), int(tags[2])) > number(glibc):
        yield f"auditwheel says manylinux_{tags[1]}_{tags[2]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glibc", required=True)
    parser.add_argument("--build", type=os.path.realpath, help="no file may hold this folder's path")
    parser.add_argument("--auditwheel")
    parser.add_argument("file")
    options = parser.parse_args()
    if not options.file.endswith(".whl"):
        found = list(elf_findings(options.file, Path(options.file).name, options.glibc))
    else:
        with tempfile.TemporaryDirectory() as folder:
            found = list(wheel_findings(options.file, options.glibc, options.build, folder))
        if options.auditwheel:
            found += auditwheel_findings(options.auditwheel, options.file, options.glibc)
    print("\n".join(found) if found else f"{Path(options.file).name}: no findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
