#!/usr/bin/env python3
"""What the libraries export and need: exactly the names of src/api/symbols.txt, the whole I/O chapter of the standard among
them, and no MPI library nor libstdc++, so that the same file serves every program of its ABI. libmercutio-omp.so exports the
names of src/omp/symbols.txt, among them all omp_file routines, and needs no OpenMP runtime either: it is the program's.

    exports.py --symbols LIST --trampoline libmercutio.so --omp libmercutio-omp.so --omp-symbols LIST [--sanitized] backend.so...
"""
import argparse
import re
import subprocess
import sys

# The I/O chapter of MPI 4.1 and 5.0. A name with * also has a large-count twin.
CHAPTER = """
open close delete set_size preallocate get_size get_group get_amode set_info get_info set_view get_view
read_at* read_at_all* write_at* write_at_all* iread_at* iwrite_at* iread_at_all* iwrite_at_all*
read_at_all_begin* read_at_all_end write_at_all_begin* write_at_all_end
read* read_all* write* write_all* iread* iwrite* iread_all* iwrite_all*
read_all_begin* read_all_end write_all_begin* write_all_end seek get_position get_byte_offset
read_shared* write_shared* iread_shared* iwrite_shared* seek_shared get_position_shared
read_ordered* write_ordered* read_ordered_begin* read_ordered_end write_ordered_begin* write_ordered_end
get_type_extent* set_atomicity get_atomicity sync
create_errhandler set_errhandler get_errhandler call_errhandler c2f f2c toint fromint
"""
PROCEDURES = 63
TWINS = 30   # with MPI_Register_datarep's


def omp_routines():
    """The interfaces of the IWOMP 2012 paper: open, close, and eight each that write and read."""
    names = {"omp_file_open_all", "omp_file_close_all"}
    for verb in ("write", "read"):
        for common in ("", "com_"):
            for shape in ("", "at_", "list_", "list_at_"):
                names.add("omp_file_%s_%s%sall" % (verb, common, shape))
    if len(names) != 18:
        sys.exit("the test's own list of omp_file routines is wrong")
    return names


def chapter():
    names = []
    for word in CHAPTER.split():
        names.append("File_" + word.rstrip("*"))
        if word.endswith("*"):
            names.append("File_" + word.rstrip("*") + "_c")
    names += ["Register_datarep", "Register_datarep_c"]
    twins = [n for n in names if n.endswith("_c")]
    procedures = [n for n in names if n.startswith("File_") and not n.endswith("_c")]
    if len(twins) != TWINS or len(procedures) != PROCEDURES:
        sys.exit("the test's own list is wrong: %d procedures, %d twins" % (len(procedures), len(twins)))
    return {prefix + name for name in names for prefix in ("MPI_", "PMPI_")}


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library], check=True, capture_output=True, text=True)
    return {line.split()[0].split("@")[0] for line in out.stdout.splitlines() if line.strip()}


def needed(library):
    out = subprocess.run(["readelf", "-dW", library], check=True, capture_output=True, text=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", out.stdout)


def check_library(library, want, forbidden):
    got, bad = exported(library), 0
    for title, names in (("is missing", want - got), ("exports, and must not,", got - want)):
        for name in sorted(names):
            print("%s %s %s" % (library, title, name))
            bad += 1
    for name in needed(library):
        if re.match(forbidden, name):
            print("%s needs %s" % (library, name))
            bad += 1
    return bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--symbols", required=True)
    p.add_argument("--trampoline", required=True)
    p.add_argument("--omp", required=True)
    p.add_argument("--omp-symbols", required=True)
    p.add_argument("--sanitized", action="store_true", help="a build of a sanitizer, or without a static libstdc++, may need libstdc++")
    p.add_argument("backends", nargs="+")
    args = p.parse_args()
    with open(args.symbols) as f:
        want = set(f.read().split())
    bad = 0
    for name in sorted(chapter() - want):
        print("src/api/symbols.txt is missing " + name)
        bad += 1
    mpi = r"lib(p?mpi|open-(pal|rte)|fmpi|mpifort|hwloc|ucp)"
    bad += check_library(args.trampoline, want | {"mercutio_version"}, mpi + r"|libstdc\+\+")
    with open(args.omp_symbols) as f:
        omp = set(f.read().split())
    for name in sorted(omp_routines() - omp):
        print("src/omp/symbols.txt is missing " + name)
        bad += 1
    omp_runtimes = r"|lib([gi]?omp|iomp5)"
    bad += check_library(args.omp, omp, mpi + omp_runtimes + ("" if args.sanitized else r"|libstdc\+\+"))
    for backend in args.backends:
        bad += check_library(backend, want, mpi if args.sanitized else mpi + r"|libstdc\+\+")
    print("%d names, %d libraries, %d bad" % (len(want), 2 + len(args.backends), bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
