#!/usr/bin/env python3
"""Checks with clang that what a mutex guards is only touched by who holds it (src/base/thread_annotations.h).

Every source of the library is looked at that has a mutex, or includes a header that has one. 77: clang or libc++ is missing.
"""
import concurrent.futures
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

    def check(path):
        return path, subprocess.run([clang, *flags, str(path)], capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for path, outcome in pool.map(check, wanted):
            if outcome.returncode != 0:
                failed += 1
                print(outcome.stderr.strip())
    print(f"{len(wanted)} sources, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
