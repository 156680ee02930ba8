#!/usr/bin/env python3
"""Proves that the random programs find what they were made for: each patch of tests/programs/undo takes one fix out of the
library; the library is built so, and at least one of 5,000 programs must fail on it.

    undo.py --build build                     # all patches
    undo.py --build build lost_update         # tests/programs/undo/lost_update.patch

A patch gets in by `git diff FIX FIX~1 -- src > tests/programs/undo/NAME.patch`, brought up to date where src has moved on.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True, help="a build with the programs in it")
    p.add_argument("--count", type=int, default=5000)
    p.add_argument("--mpi", default="mpich,openmpi", help="tried one after the other until one finds it")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("patches", nargs="*", help="names; default: all")
    return p.parse_args()


def run(line, **more):
    subprocess.run(line, check=True, **more)


def copy_source(folder):
    """What git knows of the working tree, and nothing that was built."""
    shutil.rmtree(folder, ignore_errors=True)
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        source, target = os.path.join(ROOT, name), os.path.join(folder, name)
        if os.path.isfile(source) and not name.startswith("third_party/"):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)
    os.symlink(os.path.join(ROOT, "third_party"), os.path.join(folder, "third_party"))


def library_without(patch, args):
    """The library with the patch applied."""
    source = os.path.join(os.path.abspath(args.build), "undo", os.path.basename(patch)[:-len(".patch")])
    build = os.path.join(source, "build")   # as in the tree itself: ccache knows most of it
    copy_source(source)
    run(["patch", "-p1", "--quiet", "--directory", source, "--input", os.path.abspath(patch)])
    launcher = ["-DCMAKE_%s_COMPILER_LAUNCHER=ccache" % x for x in ("C", "CXX")] if shutil.which("ccache") else []
    run(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"] + launcher, stdout=subprocess.DEVNULL)
    run(["ninja", "-C", build, "-j", str(args.jobs), "--quiet", "mercutio"], env=dict(os.environ, CCACHE_BASEDIR=source))
    return os.path.join(build, "lib", "libmercutio.so")


def is_found(library, args):
    for mpi in args.mpi.split(","):
        program = os.path.join(args.build, "tests", "programs", mpi, "programs")
        if not os.path.exists(program):
            continue
        line = [sys.executable, os.path.join(HERE, "run.py"), "--mpi", mpi, "--io", library, "--program", program, "--tools",
                os.path.join(args.build, "tests", "tools"), "--count", str(args.count), "--until-wrong"]
        if subprocess.run(line).returncode == 0:
            return True
    return False


def main():
    args = parse_arguments()
    patches = sorted(glob.glob(os.path.join(HERE, "undo", "*.patch")))
    if args.patches:
        patches = [p for p in patches if os.path.basename(p)[:-len(".patch")] in args.patches]
    if not patches or len(patches) < len(args.patches):
        sys.exit("no such patch")
    missed = []
    for patch in patches:
        name = os.path.basename(patch)
        print("# %s" % name, flush=True)
        if not is_found(library_without(patch, args), args):
            missed.append(name)
    print("%d of %d found%s" % (len(patches) - len(missed), len(patches), "".join("; not found: " + x for x in missed)))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
