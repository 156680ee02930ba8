#!/usr/bin/env python3
"""Files in external32 that this machine and an emulated one write through MPI are the same, and each reads the other's.

    files.py --native build --foreign build-cross/s390x --emulator "qemu-s390x-static -L ROOT" exchange_native exchange_foreign
"""
import argparse
import filecmp
import os
import shlex
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", required=True, help="the build for this machine")
    parser.add_argument("--foreign", required=True, help="the build for the emulated one")
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--mpirun", default="mpirun.mpich")
    parser.add_argument("programs", nargs=2, metavar="PROGRAM", help="exchange.c, compiled for either")
    args = parser.parse_args()
    builds = {"native": args.native, "foreign": args.foreign}
    programs = {"native": [args.programs[0]], "foreign": [*shlex.split(args.emulator), args.programs[1]]}

    def run(kind, what, path):
        library = os.path.join(builds[kind], "lib/libmercutio.so")
        if not os.path.exists(library):
            sys.exit(f"no such library: {library}")
        line = [args.mpirun, "-n", "2", "env", "LD_PRELOAD=" + os.path.abspath(library), *programs[kind], what, path]
        return subprocess.run(line, timeout=300).returncode == 0

    with tempfile.TemporaryDirectory(prefix="mercutio-cross-") as folder:
        paths = {kind: os.path.join(folder, kind) for kind in builds}
        good = all([run(kind, "write", paths[kind]) for kind in builds])
        good = all([run(kind, "read", paths[other]) for kind, other in (("native", "foreign"), ("foreign", "native"))]) and good
        same = filecmp.cmp(*paths.values(), shallow=False)
        print(f"{os.path.getsize(paths['native'])} bytes, {'identical' if same else 'different'}")
    return 0 if good and same else 1


if __name__ == "__main__":
    sys.exit(main())
