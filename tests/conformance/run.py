#!/usr/bin/env python3
"""Run the conformance and regress programs under one MPI, on the host's own I/O or through Mercutio.

A program prints one line a case ("run", "ok", "FAILED"). When it dies in a case, that case has failed and the program is
started again behind it. Host runs are judged by host_expectations.txt, whose lines are `mpi program case ranks defect`
with shell patterns; a host failure that is not listed is an error of the tests.

    run.py --mpi mpich --io build/lib/libmercutio.so --ranks 1,2,4 build/tests/conformance/mpich/views
    run.py --mpi openmpi --io host ...            # the tests are tested
    run.py --mpi mpich --io build/lib/libmercutio.so --compare ...   # and the files of both are compared byte for byte

A comparison leaves out the cases that the host is known to fail, and files whose order of records is nobody's to say (their
tags begin with "any"). Where the host is known to leave garbage in holes, ours has to have zeros there.
"""
import argparse
import filecmp
import fnmatch
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "nodes"))
import cluster  # noqa: E402

# The programs and the MPI are not instrumented, only Mercutio is: what the MPI leaks at its end is not ours, and TSan can't
# judge accesses of code whose synchronisation it doesn't see. A race shows in the exit code: a rank that ends at once leaves
# the others waiting.
SANITIZER_OPTIONS = [
    "ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS=halt_on_error=0:second_deadlock_stack=1:ignore_noninstrumented_modules=1",
]


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mpi", choices=["mpich", "openmpi"], required=True)
    p.add_argument("--mpirun", help="default: mpirun.<mpi>")
    p.add_argument("--emulator", default="", help="in front of each program: qemu-aarch64-static -L ROOT")
    p.add_argument("--io", required=True, help="'host' or the path of libmercutio.so")
    p.add_argument("--ranks", default="1,2,4")
    p.add_argument("--nodes", metavar="MAP", help="on four emulated nodes instead: block, cyclic, or the node of each rank")
    p.add_argument("--remote", metavar="MERCUTIOD", help="the files are remote ones: this server is started, and exports everything")
    p.add_argument("--remote-preload", default="", help="libraries to preload into that server, separated by colons")
    p.add_argument("--driver", metavar="NAME", help="the files are moved by libmercutio-driver-NAME.so, found by MERCUTIO_DRIVERS")
    p.add_argument("--opaque", action="store_true", help="what lies on the disk is not what the files hold: look at them by MPI, too")
    p.add_argument("--no-locks", action="store_true", help="the storage has no locks: atomic mode has to be refused")
    p.add_argument("--alarm", type=int, default=50, help="seconds a case may take")
    p.add_argument("--tools", default="", help="folder of the test preloads")
    p.add_argument("--preload", default="", help="further libraries to preload into the ranks, separated by colons")
    p.add_argument("--above", default="", help="libraries to preload in front of Mercutio, separated by colons")
    p.add_argument("--runtime", help="a sanitizer's runtime library (libasan, libtsan), for a library that was built with it")
    p.add_argument("--only", help="one case")
    p.add_argument("--compare", action="store_true", help="also run on the host's I/O and compare the files")
    p.add_argument("--json", help="write the results here")
    p.add_argument("--expectations", default=os.path.join(HERE, "host_expectations.txt"))
    p.add_argument("--leave-out", metavar="FILE", help="cases that this storage can't have, in lines as those of the expectations")
    p.add_argument("--skip-known", action="store_true", help="on the host: leave out the cases that it is known to fail; many of them hang")
    p.add_argument("--keep", action="store_true", help="keep the files")
    p.add_argument("--quiet", action="store_true", help="only failures and the summary")
    p.add_argument("programs", nargs="+")
    return p.parse_args()


def prefix(args):
    driver = args.driver or ""
    return "mercutio://here/top" if args.remote else driver if ":" in driver or not driver else driver + ":"


def command(args, io, ranks, program, directory, after):
    runtime = args.runtime if args.runtime and io != "host" else None
    above = [x for x in args.above.split(":") if x]
    preload = ([runtime] if runtime else []) + above + ([io] if io != "host" else [])   # the runtime has to be first
    preload += cluster.preloads(args.mpi, args.tools, on_nodes=bool(args.nodes))
    if os.path.basename(program).startswith("m1_") and args.tools:
        preload.append(os.path.join(args.tools, "libcount_fsync.so"))
    preload += [x for x in args.preload.split(":") if x]
    line = []
    if preload:
        line += ["env"] + (SANITIZER_OPTIONS if runtime else []) + ["LD_PRELOAD=" + ":".join(preload)]
    line += [*shlex.split(args.emulator), program, "--dir", prefix(args) + directory]
    line += ["--only", args.only] if args.only else []
    line += ["--after", after] if after else []
    mpirun = args.mpirun or "mpirun." + args.mpi
    if args.nodes:
        return args.cluster.mpirun(args.mpi, args.map, line, mpirun)
    return [mpirun] + (["--allow-run-as-root", "--oversubscribe"] if args.mpi == "openmpi" else []) + ["-n", str(ranks)] + line


def launch(line, seconds, skip, plain_kinds, emulator):
    """Run in a process group of its own, so that a hang can be ended with everything it started."""
    env = dict(os.environ, MERCUTIO_TEST_ALARM=str(seconds), MERCUTIO_TEST_EMULATOR=emulator, MERCUTIO_TEST_SKIP=" ".join(skip), OMPI_ALLOW_RUN_AS_ROOT="1",
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")
    if plain_kinds:
        env["MERCUTIO_TEST_PLAIN_KINDS"] = "1"
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True, errors="replace",
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds * 6)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err += "\nthe launcher had to be killed"
    return process.returncode, out, err


def run_program(args, io, ranks, program, directory, skip=()):
    """The cases of a program but for those of `skip`: {case: 'ok' | 'FAILED' | 'DIED'}, and what was printed on stderr."""
    results, text, after, launches = {}, "", None, 0
    while launches < 40:
        launches += 1
        code, out, err = launch(command(args, io, ranks, program, directory, after), args.alarm, skip,
                                args.compare and args.mpi == "openmpi", args.emulator)
        current, done = None, False
        for line in out.splitlines():
            word, _, rest = line.strip().partition(" ")
            if word == "run":
                current = rest.strip()
                results[current] = "DIED"
            elif word in ("ok", "FAILED") and rest:
                results[rest.split()[0]] = word
                current = None
            elif word == "done":
                done = True
        text += err
        if done and current is None:
            if code != 0 and "FAILED" not in results.values() and "DIED" not in results.values():
                results["(exit code %d)" % code] = "FAILED"
            break
        if current is None or args.only:
            results.setdefault("(launch)" if not results else "(finalize)", "DIED")
            text += out[-2000:]
            break
        after = current
    return results, text


def load_expectations(path):
    lines = []
    if os.path.exists(path):
        with open(path) as f:
            lines = [line.split(None, 4) for line in f if line.strip() and not line.startswith("#")]
    return lines


def expected(expectations, args, program, case, ranks):
    for mpi, prog, pattern, counts, why in expectations:
        if (fnmatch.fnmatch(args.mpi, mpi) and fnmatch.fnmatch(program, prog) and fnmatch.fnmatch(case, pattern)
                and (counts == "*" or str(ranks) in counts.split(","))):
            return why.strip()
    return None


def known_host_failures(expectations, mpi_name, program, ranks):
    """Patterns of the cases that this host fails; of 'files-<host>', those that pass and leave garbage in holes."""
    return [pattern for mpi, prog, pattern, counts, _ in expectations
            if fnmatch.fnmatch(mpi_name, mpi) and fnmatch.fnmatch(program, prog)
            and (counts == "*" or str(ranks) in counts.split(","))]


def compare(host_dir, our_dir, host_results, our_results, with_garbage):
    """How many files of cases that passed on both are the same, how many but for what the host left in holes (of cases in
    `with_garbage`, where that is known), and the differences of the others. Files are named program_case_tag."""
    same, but_for_holes, different = 0, 0, []
    for name in sorted(set(os.listdir(host_dir)) | set(os.listdir(our_dir))):
        cases = [c for c in our_results if "_%s_" % c in name]
        if not cases or any(host_results.get(c) != "ok" or our_results.get(c) != "ok" for c in cases):
            continue
        case = max(cases, key=len)
        if "_%s_any" % case in name:
            continue
        a, b = os.path.join(host_dir, name), os.path.join(our_dir, name)
        if os.path.isfile(a) and os.path.isfile(b) and filecmp.cmp(a, b, shallow=False):
            same += 1
        elif not (os.path.isdir(a) and os.path.isdir(b)):
            difference = first_difference(a, b, any(fnmatch.fnmatch(case, pattern) for pattern in with_garbage))
            if difference:
                different.append("%s differs from the host's: %s" % (name, difference))
            else:
                but_for_holes += 1
    return same, but_for_holes, different


def first_difference(host, ours, zero_is_a_hole):
    if not (os.path.isfile(host) and os.path.isfile(ours)):
        return "only one of them made it"
    sizes = os.path.getsize(host), os.path.getsize(ours)
    if sizes[0] != sizes[1]:
        return "it has %d bytes, ours %d" % sizes
    at = 0
    with open(host, "rb") as f, open(ours, "rb") as g:
        while a := f.read(1 << 20):
            b = g.read(1 << 20)
            for i in range(len(a)) if a != b else ():
                if a[i] != b[i] and not (zero_is_a_hole and b[i] == 0):
                    return "at byte %d it has %02x, ours %02x" % (at + i, a[i], b[i])
            at += len(a)
    return None


class Server:
    """mercutiod, and the connection file through which the ranks find it."""

    def __init__(self, program, preload):
        self.folder, key = tempfile.mkdtemp(prefix="mercutio-connections-"), os.urandom(32).hex()
        line = (["env", "LD_PRELOAD=" + preload] if preload else []) + [program]
        self.process = subprocess.Popen([*line, "--listen", "127.0.0.1:0", "--root", "top=/:rw", "--key-fd", "0", "--audit",
                                         os.path.join(self.folder, "audit")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(key + "\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if words[:1] != ["mercutiod"]:
            sys.exit("%s does not start" % program)
        path = os.path.join(self.folder, "here")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as out:
            out.write("host here\nkey %s\nserver %s %s\n" % (key, words[2], words[3]))
        os.environ["MERCUTIO_CONNECTIONS"] = self.folder

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait(30)
        shutil.rmtree(self.folder)


def main():
    args = parse_arguments()
    os.environ["MERCUTIO_TEST_PREFIX"] = prefix(args)
    if args.opaque:
        os.environ["MERCUTIO_TEST_OPAQUE"] = "1"
    if args.no_locks:
        os.environ["MERCUTIO_TEST_NO_LOCKS"] = "1"
    if args.remote:
        with Server(args.remote, args.remote_preload):
            return run_all(args)
    if not args.nodes:
        return run_all(args)
    args.map = cluster.parse_map(args.nodes, 4)
    args.ranks = str(len(args.map))
    try:
        with cluster.Cluster(4) as args.cluster:
            return run_all(args)
    except cluster.CannotEmulate as reason:
        print("skipped: no emulated nodes here: %s" % reason)
        return cluster.SKIPPED


def run_all(args):
    args.programs = [os.path.abspath(p) for p in args.programs]
    args.io = args.io if args.io == "host" else os.path.abspath(args.io)
    if args.io != "host" and not os.path.exists(args.io):
        sys.exit("no such library: " + args.io)
    host_failures = load_expectations(args.expectations)
    expectations = host_failures if args.io == "host" else []
    table, bad, counts = [], 0, {"ok": 0, "known": 0, "bad": 0, "identical": 0, "but for holes": 0}
    base = tempfile.mkdtemp(prefix="mercutio-conformance-", dir=os.environ.get("MERCUTIO_TEST_STORE_PLACE"))   # tests/drivers/with_storage.py
    for program in args.programs:
        name = os.path.basename(program)
        for ranks in [int(r) for r in args.ranks.split(",")]:
            folders = [os.path.join(base, "%s-%s-%d" % (kind, name, ranks)) for kind in ("host", "run")]
            for folder in folders:
                os.mkdir(folder)
            begun = time.time()
            left_out = known_host_failures(expectations, args.mpi, name, ranks) if args.skip_known else []
            left_out += known_host_failures(load_expectations(args.leave_out), args.mpi, name, ranks) if args.leave_out else []
            results, text = run_program(args, args.io, ranks, program, folders[1], left_out)
            seconds = time.time() - begun
            wrong = []
            for case, verdict in results.items():
                why = expected(expectations, args, name, case, ranks) if verdict != "ok" else None
                kind = "ok" if verdict == "ok" else "known" if why else "bad"
                counts[kind] += 1
                if kind == "bad":
                    wrong.append(case)
                    print("%s %s np=%d %s: %s" % (args.mpi, name, ranks, case, verdict))
                elif kind == "known" and not args.quiet:
                    print("%s %s np=%d %s: %s, known: %s" % (args.mpi, name, ranks, case, verdict, why))
                table.append(dict(mpi=args.mpi, io="host" if args.io == "host" else "mercutio", program=name, ranks=ranks,
                                  case=case, verdict=verdict, known=why))
            if wrong:
                bad += len(wrong)
                print("\n".join("    " + line for line in text.strip().splitlines()[:40]))
            if args.compare and args.io != "host":
                skip = known_host_failures(host_failures, args.mpi, name, ranks)
                with_garbage = known_host_failures(host_failures, "files-" + args.mpi, name, ranks)
                host_results, _ = run_program(args, "host", ranks, program, folders[0], skip)
                same, but_for_holes, different = compare(folders[0], folders[1], host_results, results, with_garbage)
                counts["identical"] += same
                counts["but for holes"] += but_for_holes
                for difference in different:
                    bad += 1
                    print("%s %s np=%d: the file %s" % (args.mpi, name, ranks, difference))
            if not args.quiet:
                print("%-8s %-24s np=%d %3d cases %5.1f s" % (args.mpi, name, ranks, len(results), seconds), flush=True)
            if not args.keep:
                for folder in folders:
                    shutil.rmtree(folder, ignore_errors=True)
    if args.keep:
        print("files in " + base)
    else:
        shutil.rmtree(base, ignore_errors=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(table, f, indent=1)
    looked_at = (", %d files byte-identical with the host's, %d but for garbage of the host in holes"
                 % (counts["identical"], counts["but for holes"]) if args.compare else "")
    print("%d ok, %d known failures, %d bad%s" % (counts["ok"], counts["known"], bad, looked_at))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
