#!/usr/bin/env python3
"""Checks with clang that what a mutex guards is only touched by who holds it (src/base/thread_annotations.h).

Every source of the library is looked at that has a mutex, or includes a header that has one; ten of a folder at a time, and one by one if
something is found, or if they can't be compiled together. 77: clang or libc++ is missing.
"""
import concurrent.futures
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUTEX = re.compile(r"\bstd::(shared_)?mutex\b|MERCUTIO_(GUARDED_BY|REQUIRES)")
SKIPPED = 77
AT_A_TIME = 10


def sources():
    has_mutex = {}

    def look(path):
        if path not in has_mutex:
            has_mutex[path] = path.is_file() and bool(MUTEX.search(path.read_text(errors="replace")))
        return has_mutex[path]

    for path in sorted((ROOT / "src").rglob("*.cpp")):
        if path.name.endswith("_test.cpp"):
            continue
        included = re.findall(r'#include "([^"]+)"', path.read_text(errors="replace"))
        if look(path) or any(look(ROOT / "src" / name) for name in included):
            yield path


def groups_of(paths):
    for _, in_folder in itertools.groupby(paths, lambda path: path.parent):
        in_folder = list(in_folder)
        for first in range(0, len(in_folder), AT_A_TIME):
            yield in_folder[first:first + AT_A_TIME]


def main():
    clang = next((c for c in ("clang++-19", "clang++") if shutil.which(c)), None)
    flags = ["-std=c++20", "-stdlib=libc++", "-D_LIBCPP_ENABLE_THREAD_SAFETY_ANNOTATIONS", "-fsyntax-only", "-Wno-everything",
             "-DMERCUTIO_ABI_MPICH", "-Wthread-safety", "-Werror=thread-safety", f"-I{ROOT}/src", f"-I{ROOT}/include"]
    probe = clang and subprocess.run([clang, *flags, "-x", "c++", "-"], input="#include <mutex>\n", text=True, capture_output=True)
    if not clang or probe.returncode != 0:
        print("left out: needs clang++ (clang-19) and libc++ (libc++-19-dev)")
        return SKIPPED
    generated = tempfile.TemporaryDirectory()   # what a build generates
    (Path(generated.name) / "mercutio_revision.h").write_text('#define MERCUTIO_REVISION ""\n')
    flags.append(f"-I{generated.name}")
    wanted = [Path(name).resolve() for name in sys.argv[1:]] or list(sources())

    def run(text):
        return subprocess.run([clang, *flags, "-x", "c++", "-"], input=text, capture_output=True, text=True)

    def check(group):
        """What is found in the sources of a group."""
        include = ['#include "%s"\n' % path for path in group]
        if run("".join(include)).returncode == 0:
            return []
        return [outcome.stderr.strip() for outcome in map(run, include) if outcome.returncode != 0]

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for findings in pool.map(check, groups_of(wanted)):
            failed += len(findings)
            print(*findings, sep="\n", end="\n" if findings else "")
    print(f"{len(wanted)} sources, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
