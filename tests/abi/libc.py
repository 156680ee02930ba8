#!/usr/bin/env python3
"""From which glibc on the built libraries run, by the versions of the symbols that they need.

    libc.py [--floor 2.34] [--sources 2.28] library...

Fails where a symbol is newer than --floor: what a library built here may need. Fails also where one would be newer than --sources if it were built
with an old glibc: most of the newer versions are functions that older ones have as well, and that moved from libpthread and libdl into libc in
2.34, or became functions instead of inline ones in 2.33.
"""
import argparse
import re
import subprocess
import sys

# name of the function: where older ones have it
OLDER = {name: "2.2.5" for name in (
    "dlopen dlsym dlclose dlerror dladdr dladdr1 __libc_start_main __pthread_key_create pthread_create pthread_detach pthread_join pthread_once pthread_key_create "
    "pthread_key_delete pthread_getspecific pthread_setspecific pthread_mutex_trylock pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock "
    "pthread_sigmask pthread_setname_np pthread_getname_np pthread_setaffinity_np pthread_getaffinity_np fstat fstat64 stat stat64 lstat lstat64 fstatat "
    "fstatat64 mknod exp log pow log2 exp2 sem_init sem_wait sem_post shm_open shm_unlink pthread_kill pthread_cancel").split()}
# Those that come with the compiler's own libraries as they were built: another compiler, another need.
COMPILERS = {"__libc_single_threaded", "_dl_find_object", "pthread_cond_clockwait", "__cxa_thread_atexit_impl", "arc4random"}


def number(version):
    return tuple(int(part) for part in version.split("."))


def needs(library):
    """(function, version of glibc) of all that the library does not have itself."""
    out = subprocess.run(["readelf", "--dyn-syms", "-W", library], check=True, capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"\bUND (\w+)@GLIBC_([0-9.]+)", out)))


def newest(pairs):
    return max((number(version), name) for name, version in pairs) if pairs else ((0,), "")


def text_of(version):
    return ".".join(map(str, version))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--floor", default="")
    p.add_argument("--sources", default="2.28")
    p.add_argument("libraries", nargs="+")
    a = p.parse_args()
    bad = 0
    for library in a.libraries:
        symbols = needs(library)
        if not symbols:
            print("%s needs nothing of glibc: is it one of ours?" % library)
            bad += 1
            continue
        built_old = [(name, OLDER.get(name, version)) for name, version in symbols if name not in COMPILERS]
        print("%s: needs %s (%s); built with an old glibc %s (%s)" % ((library.rsplit("/", 1)[-1], text_of(newest(symbols)[0]), newest(symbols)[1],
                                                                      text_of(newest(built_old)[0]), newest(built_old)[1])))
        for limit, pairs in ((a.floor, symbols), (a.sources, built_old)):
            for name, version in pairs:
                if limit and number(version) > number(limit):
                    print("  %s is of %s, later than %s" % (name, version, limit))
                    bad += 1
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
