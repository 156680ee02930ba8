#!/usr/bin/env python3
"""What a change does to the speed of Mercutio on one node: the library of a commit and that of the build tree in turns, by mercutio bench.

    bench/change.py BASE [--build build] [--dir DIRECTORY] [--ranks 2,4,8] [--bytes 16MiB] [--repetitions 3] [--mpi mpich,openmpi] [--patterns NAMES] [--check]

BASE is a commit, which is built in BUILD/base, or another libmercutio.so. Cases that seem slower than before are measured again with more than
twice the repetitions. The ratios are the time before the change by that after it: below 1 is slower. --check: exit code 1 if a case stays
below 0.9, or a geometric mean is below 0.97.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

from in_turns import HERE, LAUNCH, parser

SLOWER, MEAN = 0.9, 0.97
PATTERNS = "contiguous,tile,vector,hpio,bt-io,lbmpi,icm,e3sm,field,lattice,ior-"
BACKENDS = ["mercutio", "mercutio_mpich", "mercutio_openmpi"]


def parse_arguments():
    p = parser(__doc__, ranks="2,4,8", repetitions=3)
    p.add_argument("base")
    p.add_argument("--bytes", default="16MiB")
    p.add_argument("--patterns", default=PATTERNS)
    return p.parse_args()


def library_of_base(args):
    if os.path.isfile(args.base):
        return args.base
    top, source, build = os.path.join(HERE, ".."), os.path.join(args.build, "base", "source"), os.path.join(args.build, "base", "build")
    os.makedirs(source, exist_ok=True)
    archive = subprocess.run(["git", "-C", top, "archive", args.base], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
    with open(os.path.join(args.build, "base", "log"), "w") as log:
        for step in (["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"],
                     ["cmake", "--build", build, "--target", *BACKENDS]):
            if subprocess.run(step, stdout=log, stderr=log).returncode != 0:
                sys.exit(f"{args.base} can't be built: see {log.name}")
    return os.path.join(build, "lib", "libmercutio.so")


def measure(args, base, mpi, ranks, patterns, repetitions):
    """{(case, direction): ratio}"""
    with tempfile.NamedTemporaryFile(suffix=".json") as table:
        bench = subprocess.run([os.path.join(args.build, "bin", "mercutio"), "bench", "--dir", args.dir, "-n", str(ranks), "--bytes", args.bytes, "--mpi", LAUNCH[mpi][0][0],
                                "--repetitions", str(repetitions), "--patterns", patterns, "--io", "mercutio", "--against", base, "--json", table.name],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if bench.returncode != 0:
            sys.exit(f"mercutio bench under {mpi} with {ranks} ranks, exit code {bench.returncode}:\n{bench.stdout[-2000:]}")
        rows = json.load(table)["rows"]
    return {(row["case"], row["op"]): row["of_against"] for row in rows if row["of_against"] is not None}


def main():
    args = parse_arguments()
    base = library_of_base(args)
    missed = False
    for mpi in args.mpi.split(","):
        for ranks in map(int, args.ranks.split(",")):
            ratios = measure(args, base, mpi, ranks, args.patterns, args.repetitions)
            slower = {case for (case, _), ratio in ratios.items() if ratio < SLOWER}
            if slower:
                again = measure(args, base, mpi, ranks, ",".join(sorted(slower)), 2 * args.repetitions + 1)
                ratios.update({key: ratio for key, ratio in again.items() if key[0] in slower})
            mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
            missed = missed or mean < MEAN
            print("%-8s %d ranks: geometric mean %.2f of %d" % (mpi, ranks, mean, len(ratios)), flush=True)
            for (case, direction), ratio in sorted(ratios.items(), key=lambda item: item[1]):
                if ratio < SLOWER:
                    missed = True
                    print("    %-32s %-5s %.2f" % (case, direction, ratio), flush=True)
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
