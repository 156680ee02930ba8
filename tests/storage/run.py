#!/usr/bin/env python3
"""Runs the programs of tests/storage on a file system whose nodes have caches of their own, and looks at the server's files after it.

    run.py --system nfs42 --mpi mpich --io build/lib/libmercutio.so --programs build/tests/storage
    run.py --system nfs42,nfs3 --mpi mpich,openmpi --io host --ranks 2,4 --cases 'writes:collective.*' 'turns:*' ...

--io host is the MPI's own I/O, by which the tests are tested. A case that fails there too, or that MPI doesn't promise, is listed with its
reason in known.txt and doesn't count. Systems that need another kernel run in user-mode Linux (uml.py). The last lines are a table; the
exit code is 1 if a case failed, 77 if the system can't be had here.
"""
import argparse
import fnmatch
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "nodes"))
import cluster  # noqa: E402
import uml  # noqa: E402
from systems import SYSTEMS  # noqa: E402

PROGRAMS = ["writes", "caches", "turns", "atomic", "shared", "sizes", "names", "posix"]
NODES = 2


def conformance_runner():
    """tests/conformance/run.py, which runs a program case by case."""
    spec = importlib.util.spec_from_file_location("conformance_run", os.path.join(HERE, "..", "conformance", "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--system", required=True, help="all, or names of systems.py, separated by commas: " + ", ".join(SYSTEMS))
    p.add_argument("--mpi", default="mpich,openmpi")
    p.add_argument("--io", required=True, help="'host' or the path of libmercutio.so")
    p.add_argument("--ranks", default="2", help="on two nodes; 2 or 4, or both")
    p.add_argument("--cases", nargs="*", default=["*"], help="patterns of program:case")
    p.add_argument("--programs", default="build/tests/storage", help="the folder with the programs of each MPI")
    p.add_argument("--tools", default="build/tests/tools", help="the folder of the test preloads")
    p.add_argument("--alarm", type=int, default=60, help="seconds a case may take")
    p.add_argument("--seconds", type=int, default=3000, help="a system may take in user-mode Linux")
    p.add_argument("--json", help="write the results here")
    p.add_argument("--write", help="write the table here, in Markdown")
    p.add_argument("--verbose", action="store_true", help="also what passed")
    p.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    args.system = ",".join(SYSTEMS) if args.system == "all" else args.system
    for name in args.system.split(","):
        if name not in SYSTEMS:
            p.error("no system '%s'" % name)
    for name in ("programs", "tools", "json", "write") + (("io",) if args.io != "host" else ()):
        setattr(args, name, getattr(args, name) and os.path.abspath(getattr(args, name)))
    if args.io != "host" and not os.path.exists(args.io):
        p.error("no such library: " + args.io)
    return args


def known_failures(system, mpi, io, name):
    """Why this failure doesn't count, or None. Lines of known.txt: system mpi io case reason."""
    with open(os.path.join(HERE, "known.txt")) as lines:
        for line in lines:
            words = line.split(None, 4)
            if len(words) == 5 and words[0] != "#" and all(fnmatch.fnmatch(have, pattern) for have, pattern in zip((system, mpi, io, name), words)):
                return words[4].strip()
    return None


def compare(expected, path):
    """What is wrong with a server's file, or None."""
    with open(expected, "rb") as file:
        want = file.read()
    try:
        with open(path, "rb") as file:
            got = file.read()
    except OSError as error:
        return "no file: %s" % error.strerror
    if want == got:
        return None
    text = "it has %d bytes, not %d; " % (len(got), len(want)) if len(want) != len(got) else ""
    wrong = [i for i in range(min(len(want), len(got))) if want[i] != got[i]]
    if wrong:
        zero = sum(got[i] == 0 for i in wrong)
        text += "%d bytes wrong, %d of them zero; the first at %d: want %02x, got %02x" % (len(wrong), zero, wrong[0], want[wrong[0]], got[wrong[0]])
    return text.rstrip("; ")


class Run:
    """One program, MPI and number of ranks on a system that is mounted."""

    def __init__(self, args, system, mpi, ranks, nodes, shared):
        self.args, self.system, self.mpi, self.ranks, self.nodes, self.shared = args, system, mpi, ranks, nodes, shared
        self.runner = conformance_runner()

    def wanted(self, program):
        """Patterns of the program's cases."""
        return [pattern.partition(":")[2] or "*" for pattern in self.args.cases if fnmatch.fnmatch(program, pattern.partition(":")[0])]

    def options(self, program):
        class Options:
            nodes, remote, runtime, above, preload, only, compare, mpirun = True, "", None, "", "", None, False, None
        options = Options()
        options.mpi, options.io, options.tools, options.alarm = self.mpi, self.args.io, self.args.tools, self.args.alarm
        options.cluster, options.map = self.nodes, [rank * NODES // self.ranks for rank in range(self.ranks)]
        return options

    def program(self, program):
        """{case: (verdict, text)} of one program, the server's view included."""
        wanted = self.wanted(program)
        if not wanted:
            return {}
        folder = "%s/%s-%s-%d-%d" % (self.shared, program, self.mpi, self.ranks, os.getpid())
        self.nodes.run(self.nodes.names[0], ["mkdir", "-p", "-m", "777", folder], check=True)
        expected = tempfile.mkdtemp(prefix="mercutio-expected-")
        os.environ.update(MERCUTIO_TEST_EXPECTED=expected, MERCUTIO_TEST_ONLY=" ".join(wanted))
        path = os.path.join(self.args.programs, self.mpi, program)
        verdicts, text = self.runner.run_program(self.options(program), self.args.io, self.ranks, path, folder)
        results = {case: [verdict, [line for line in text.splitlines() if (" %s," % case) in line or ("HANG %s " % case) in line][:6]] for case, verdict in verdicts.items()}
        for case in results:
            if results[case][0] == "DIED" and not results[case][1]:
                results[case][1] = text.splitlines()[-12:]
        for name in sorted(os.listdir(expected)):
            wrong = self.compare_on_server(os.path.join(expected, name), os.path.join(folder, name))
            case = max((c for c in verdicts if "_%s_" % c in name), key=len, default=name)
            if wrong and case in results:
                results[case][1].insert(0, "on the server: " + wrong)
                results[case][0] = "FAILED" if results[case][0] == "ok" else results[case][0]
        shutil.rmtree(expected)
        return results

    def compare_on_server(self, expected, path):
        there = self.system.on_server(path)
        return compare(expected, there) if there else None


def run_system(args, name, rows):
    """All programs on one system; rows of the table are appended."""
    system = SYSTEMS[name]
    folder = tempfile.mkdtemp(prefix="mercutio-storage-")
    system.before_nodes(folder)
    with cluster.Cluster(NODES + 1) as nodes:
        begun = time.time()
        shared = system.start(nodes, nodes.names[:NODES])
        print("# %s: %s; mounted in %.0f s" % (name, system.describe, time.time() - begun), flush=True)
        for mpi in args.mpi.split(","):
            for ranks in (int(word) for word in args.ranks.split(",")):
                one = Run(args, system, mpi, ranks, nodes, shared)
                for program in PROGRAMS:
                    begun = time.time()
                    results = one.program(program)
                    report(args, (name, mpi, ranks, program), results, rows)
                    if results:
                        print("%s %s np=%d %s: %d cases, %.0f s" % (name, mpi, ranks, program, len(results), time.time() - begun), flush=True)


def report(args, key, results, rows):
    name, mpi, ranks, program = key
    io = "host" if args.io == "host" else "mercutio"
    for case, (verdict, lines) in results.items():
        known = known_failures(name, mpi, io, "%s:%s" % (program, case)) if verdict != "ok" else None
        rows.append(dict(system=name, mpi=mpi, io=io, ranks=ranks, program=program, case=case, verdict=verdict, known=known, text=lines))
        if verdict != "ok":
            print("not ok %s %s np=%d %s:%s%s" % (name, mpi, ranks, program, case, ", known: " + known if known else ""))
            print("\n".join("    " + line for line in lines), flush=True)
        elif args.verbose:
            print("ok %s %s np=%d %s:%s" % (name, mpi, ranks, program, case), flush=True)


def run_in_uml(args, name, rows):
    """This program again, on a kernel that has the file system's client. The exit code matters where there are no results. False: no such
    kernel starts here."""
    folder = tempfile.mkdtemp(prefix="mercutio-storage-")
    results = os.path.join(folder, "results.json")
    words = [sys.executable, os.path.abspath(__file__), "--inside", "--system", name, "--mpi", args.mpi, "--io", args.io, "--ranks", args.ranks,
             "--programs", args.programs, "--tools", args.tools, "--alarm", str(args.alarm), "--json", results, "--cases", *args.cases]
    code = uml.run(words + (["--verbose"] if args.verbose else []), folder, args.seconds)
    if os.path.exists(results):
        with open(results) as file:
            rows += json.load(file)
    if code is None and os.path.getsize(os.path.join(folder, "output")) == 0:
        with open(os.path.join(folder, "console"), errors="replace") as console:
            print("\n".join(console.read().splitlines()[-12:]))
        return False
    if code not in (0, 1):
        print("%s: user-mode Linux did not get through it (%s); see %s" % (name, code, folder))
        rows.append(dict(system=name, mpi=args.mpi, io="", ranks=0, program="", case="(the system)", verdict="DIED", known=None, text=[]))
    else:
        shutil.rmtree(folder)
    return True


def write_json(args, rows):
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


def table(rows):
    """(system, mpi, io, ranks), and of its cases how many passed, failed as known, and failed."""
    for key in sorted({(r["system"], r["mpi"], r["io"], r["ranks"]) for r in rows}):
        mine = [r for r in rows if (r["system"], r["mpi"], r["io"], r["ranks"]) == key]
        good, known = sum(r["verdict"] == "ok" for r in mine), sum(r["known"] is not None for r in mine)
        yield key, good, known, len(mine) - good - known


def print_table(rows):
    print("%-14s %-8s %-9s %5s %6s %6s %6s" % ("system", "mpi", "io", "ranks", "ok", "known", "failed"))
    for key, *counts in table(rows):
        print("%-14s %-8s %-9s %5d %6d %6d %6d" % (*key, *counts))


def write_table(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write("# Storage whose nodes have caches\n\nWritten by `make storage` (tests/storage/run.py). A case counts once, with what the server holds after it.\n\n"
                  "| system | MPI | I/O | ranks | ok | known failures | failed |\n|---|---|---|---|---|---|---|\n")
        for key, *counts in table(rows):
            out.write("| %s | %s | %s | %d | %d | %d | %d |\n" % ("%s (%s)" % (key[0], SYSTEMS[key[0]].describe), *key[1:], *counts))
        bad = [r for r in rows if r["verdict"] != "ok"]
        out.write("\n| not ok | what was wrong |\n|---|---|\n" if bad else "")
        for r in bad:
            what = r["known"] or (r["text"][0] if r["text"] else r["verdict"])
            out.write("| %s %s %s %d `%s:%s` | %s |\n" % (r["system"], r["mpi"], r["io"], r["ranks"], r["program"], r["case"], what.strip().replace("|", "/")))


def main():
    args = parse_arguments()
    rows = []
    for name in args.system.split(","):
        if SYSTEMS[name].needs_uml and not args.inside:
            why = uml.missing()
            if why:
                print("skipped: %s: %s (scripts/setup.sh storage)" % (name, why))
                return cluster.SKIPPED
            if not run_in_uml(args, name, rows):
                print("skipped: %s: user-mode Linux doesn't start here" % name)
                return cluster.SKIPPED
        else:
            run_system(args, name, rows)
        write_json(args, rows)   # what is there, should the next one not end
    if not args.inside:
        print_table(rows)
    if args.write:
        write_table(args.write, rows)
    return 1 if any(r["verdict"] != "ok" and not r["known"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
