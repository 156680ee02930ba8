"""Runs a program of this folder on the MPI's own I/O and under Mercutio, in turns, and gives the medians of the figures it prints."""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCH = {"mpich": (["mpirun.mpich"], "-genv LD_PRELOAD {}"),
          "openmpi": (["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"], "-x LD_PRELOAD={}")}


def parser(description, ranks, repetitions):
    """Of the options that all of these scripts have, with their defaults."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    p.add_argument("--dir", default="/dev/shm")
    p.add_argument("--ranks", default=ranks)
    p.add_argument("--repetitions", type=int, default=repetitions)
    p.add_argument("--mpi", default="mpich,openmpi")
    p.add_argument("--json")
    p.add_argument("--check", action="store_true")
    return p


def library_of(args):
    return os.path.realpath(os.path.join(args.build, "lib", "libmercutio.so"))


def write_json(args, rows, **settings):
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"rows": rows, **settings, "repetitions": args.repetitions}, file, indent=1)


def compiled(mpi, source, folder):
    """The program of bench/SOURCE for that MPI, in `folder`."""
    program = os.path.join(folder, os.path.splitext(source)[0] + "." + mpi)
    subprocess.run(["mpicc." + mpi, "-O2", "-o", program, os.path.join(HERE, source)], check=True)
    return program


def figures_of(mpi, ranks, command, library=None):
    launcher, preload = LAUNCH[mpi]
    line = launcher + ["-n", str(ranks)] + (preload.format(library).split() if library else []) + command
    job = subprocess.run(line, stdout=subprocess.PIPE, text=True, timeout=600)
    if job.returncode != 0:
        sys.exit("%s: exit code %d" % (" ".join(line), job.returncode))
    return [float(word) for word in job.stdout.split()]


def medians(mpi, ranks, command, library, repetitions):
    """For each figure that the program prints: (host's median, Mercutio's median)."""
    taken = {"host": [], "mercutio": []}
    for repetition in range(repetitions):
        for io in sorted(taken, reverse=repetition % 2 == 1):
            taken[io].append(figures_of(mpi, ranks, command, library if io == "mercutio" else None))
    return [(statistics.median(host), statistics.median(ours)) for host, ours in zip(zip(*taken["host"]), zip(*taken["mercutio"]))]
