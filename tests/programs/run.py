#!/usr/bin/env python3
"""Run random programs under one MPI, through Mercutio or on the host's own I/O. What fails is made small and printed as C.

    run.py --mpi mpich --io build/lib/libmercutio.so --program build/tests/programs/mpich/programs --count 1500
    run.py ... --first 4217 --count 1                 # one seed
    run.py ... --io host                              # the oracle is tested: hosts have defects of their own
    run.py ... --until-wrong --count 5000             # for tests of the test: 0 if something is wrong
    run.py ... --nodes 3                              # on three emulated nodes (tests/nodes/cluster.py), over TCP

Seeds come in blocks of 100, which have the number of ranks and the environment in common. One job runs them, or two at a time,
each with half of the ranks. On nodes every second block has its ranks in turns, the others in a row.
"""
import argparse
import concurrent.futures
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import shrink

BLOCK = 100
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "nodes"))
import cluster  # noqa: E402
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1:handle_abort=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=0:second_deadlock_stack=1:ignore_noninstrumented_modules=1",
}
SANITIZER_REPORT = re.compile(r"(AddressSanitizer|ThreadSanitizer|runtime error:).*")


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mpi", choices=["mpich", "openmpi"], required=True)
    p.add_argument("--mpirun", help="default: mpirun.<mpi>")
    p.add_argument("--emulator", default="", help="in front of each program: qemu-aarch64-static -L ROOT")
    p.add_argument("--program", required=True, help="the executable, built for that MPI")
    p.add_argument("--io", required=True, help="'host' or the path of libmercutio.so")
    p.add_argument("--first", type=int, default=0, help="the first seed")
    p.add_argument("--count", type=int, default=1500)
    p.add_argument("--tools", default="", help="folder of the test preloads")
    p.add_argument("--nodes", type=int, default=0, help="number of emulated nodes (default 0: none); all of them must see the folder of the files")
    p.add_argument("--late-transfers", action="store_true", help="on storage that blocks: with a test preload, and --dir in no memory")
    p.add_argument("--runtime", help="a sanitizer's runtime library (libasan, libtsan), for a library that was built with it")
    p.add_argument("--seconds", type=int, default=20, help="a program that takes longer hangs")
    p.add_argument("--workers", type=int, default=2, help="jobs at a time")
    p.add_argument("--at-most", type=int, default=8, help="failing programs after which the run ends")
    p.add_argument("--shrink-seconds", type=int, default=120, help="for each of the first three; 0: they stay as they are")
    p.add_argument("--artifacts", default="programs-failed", help="folder for what fails: seed, text, C program")
    p.add_argument("--dir", help="where the files are made (default /dev/shm; with --nodes, each of which has its own, the current one)")
    p.add_argument("--until-wrong", action="store_true", help="succeed at the first failure, fail without one")
    p.add_argument("--edits", default="", help="changes to the programs (edits.h)")
    return p.parse_args()


class Runner:
    """`nodes`: a cluster.Cluster, or None: all ranks are started here."""

    def __init__(self, args, nodes):
        self.args, self.emulator, self.nodes = args, shlex.split(args.emulator), nodes
        memory = "/dev/shm" if os.path.isdir("/dev/shm") and not nodes else None
        self.base = tempfile.mkdtemp(prefix="mercutio-programs-", dir=os.path.abspath(args.dir) if args.dir else memory or os.getcwd())
        self.stopped = threading.Event()
        self.running, self.lock = set(), threading.Lock()

    def close(self):
        self.stopped.set()
        with self.lock:
            for process in self.running:
                kill(process)
        shutil.rmtree(self.base, ignore_errors=True)

    def job(self, seed, folder):
        """The ranks, the jobs and the environment of a seed's block."""
        lines = subprocess.run([*self.emulator, self.args.program, "--job", str(seed), "--dir", folder], capture_output=True, text=True, check=True,
                               env=dict(os.environ, LD_PRELOAD="")).stdout.split("\n")
        ranks, jobs = map(int, lines[0].split())
        return ranks, jobs, dict(line.split("=", 1) for line in lines[1:] if line)

    def ranks_on(self, seed, ranks):
        """The node of each rank."""
        by_turns = seed // BLOCK % 2 == 1
        return [rank % self.args.nodes if by_turns else rank * self.args.nodes // max(ranks, self.args.nodes) for rank in range(ranks)]

    def command(self, seed, ranks, environment, arguments):
        args = self.args
        preload = [args.runtime] if args.runtime and args.io != "host" else []   # the runtime has to be first
        preload += [os.path.join(os.path.abspath(args.tools), "liblate_transfers.so")] if args.late_transfers else []
        preload += [os.path.abspath(args.io)] if args.io != "host" else []
        preload += cluster.preloads(args.mpi, args.tools, on_nodes=self.nodes is not None)
        launcher = args.mpirun or "mpirun." + args.mpi
        line = ["env"]
        if args.io != "host":
            line += ["%s=%s" % item for item in environment.items()]
        if args.runtime:
            line += ["%s=%s" % item for item in SANITIZER_OPTIONS.items()] + ["MERCUTIO_TEST_SANITIZED=1"]
        if preload:
            line += ["LD_PRELOAD=" + ":".join(preload)]
        line += [*self.emulator, os.path.abspath(args.program), *arguments]
        if self.nodes:
            return self.nodes.mpirun(args.mpi, self.ranks_on(seed, ranks), line, launcher)
        options = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"] if args.mpi == "openmpi" else []
        return [launcher, *options, "-n", str(ranks), *line]

    def commands(self, seed, ranks, jobs, environment, arguments):
        """One of each job. A rank alone is one job."""
        if min(ranks, jobs) == 1:
            return [self.command(seed, ranks, environment, arguments)]
        first = (ranks + 1) // 2
        return [self.command(seed, share, environment, arguments + ["--of-two-jobs", str(job), "--ranks", str(ranks)])
                for job, share in enumerate((first, ranks - first))]

    def launch(self, seed, count, edits="", repeat=1, ranks=None, seconds=None):
        """Runs the seeds in one job: {seed: what was wrong}, and the seed of one that ended the job."""
        folder = tempfile.mkdtemp(dir=self.base)
        of_job, jobs, environment = self.job(seed, folder)
        ranks = ranks or of_job
        seconds = seconds or self.args.seconds
        arguments = ["--first", str(seed), "--count", str(count), "--repeat", str(repeat), "--seconds", str(seconds), "--dir", folder]
        edits = " ".join(x for x in (self.args.edits, edits) if x)
        arguments += ["--edits", edits] if edits else []
        env = dict(os.environ, XDG_CONFIG_HOME=folder, MERCUTIO_SITE_HINTS="/dev/null", OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")
        commands = self.commands(seed, ranks, jobs, environment, arguments)
        with open(os.path.join(folder, "out"), "a+", errors="replace") as out:
            processes = [subprocess.Popen(x, stdout=out, stderr=subprocess.STDOUT, env=env, start_new_session=True) for x in commands]
            with self.lock:
                self.running.update(processes)
            end, late = time.time() + count * repeat * seconds + 60, ""
            for process in processes:
                try:
                    process.wait(max(end - time.time(), 0))
                except subprocess.TimeoutExpired:
                    kill(process)
                    process.wait()
                    late = "\nthe launcher had to be killed\n"
            with self.lock:
                self.running.difference_update(processes)
            out.seek(0)
            text = out.read() + late
        last = seed
        if os.path.exists(os.path.join(folder, "progress")):
            last = int(open(os.path.join(folder, "progress")).read() or seed)
        shutil.rmtree(folder, ignore_errors=True)
        return self.judge(text, [process.returncode for process in processes], last)

    def judge(self, out, codes, last):
        wrong = {}
        for match in re.finditer(r"(WRONG|HANG|CRASH) seed (\d+)\b.*", out):
            wrong.setdefault(int(match.group(2)), []).append(match.group(0))
        ended = None
        # 1: something is wrong. What ranks print may stand on the same line.
        if not set(codes) <= {0, 1} or out.count("done") < len(codes):
            cut = [seed for seed, lines in wrong.items() if not lines[-1].startswith("WRONG")]
            ended = max(cut, default=last)   # a rank may have gone on to the next one
            if not cut:
                wrong.setdefault(last, []).append("CRASH seed %d: the job ended with %s" % (last, " and ".join(map(str, codes))))
                wrong[last] += out.strip().split("\n")[-12:]
        report = SANITIZER_REPORT.search(out)
        if self.args.runtime and report:
            wrong.setdefault(last, []).append("seed %d or before: %s" % (last, out[report.start():][:6000]))
        return wrong, ended

    def block(self, first, count):
        """All seeds of a part of a block; a job that was ended goes on behind the seed that ended it."""
        wrong, end = {}, first + count
        while first < end and not self.stopped.is_set():
            found, ended = self.launch(first, end - first)
            wrong.update(found)
            first = end if ended is None else ended + 1
        return wrong


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def blocks(first, count):
    end = first + count
    while first < end:
        last = min(end, (first // BLOCK + 1) * BLOCK)
        yield first, last - first
        first = last


def run_all(runner, args):
    """{seed: what was wrong} and the number of programs run."""
    wrong, done = {}, 0
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        waiting = {pool.submit(runner.block, *part): part for part in blocks(args.first, args.count)}
        for future in concurrent.futures.as_completed(waiting):
            if future.cancelled():
                continue
            done += waiting[future][1]
            for seed, lines in future.result().items():
                wrong[seed] = lines
                print("\n".join(lines[:4]), flush=True)
            if len(wrong) >= (1 if args.until_wrong else args.at_most) and not runner.stopped.is_set():
                runner.stopped.set()
                for other in waiting:
                    other.cancel()
    return wrong, done


def main():
    args = parse_arguments()
    if args.io != "host" and not os.path.exists(args.io):
        sys.exit("no such library: " + args.io)
    try:
        with cluster.Cluster(args.nodes) if args.nodes else contextlib.nullcontext() as nodes:
            return run_programs(args, nodes)
    except cluster.CannotEmulate as reason:
        print("skipped: no emulated nodes here: %s" % reason)
        return cluster.SKIPPED


def run_programs(args, nodes):
    runner, begun = Runner(args, nodes), time.time()
    try:
        wrong, done = run_all(runner, args)
        seconds = time.time() - begun
        print("%s: %d programs from seed %d, %d wrong, %.0f s, %.1f programs a second"
              % (args.mpi, done, args.first, len(wrong), seconds, done / max(seconds, 0.001)), flush=True)
        if args.until_wrong:
            return 0 if wrong else 1
        for seed in sorted(wrong)[:3]:
            shrink.artifact(runner, seed, wrong[seed])
    finally:
        runner.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
