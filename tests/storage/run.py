#!/usr/bin/env python3
"""Runs the programs of tests/storage on a file system whose nodes have caches of their own, and looks at the server's files after it.

    run.py --system nfs42 --mpi mpich --io build/lib/libmercutio.so --programs build/tests/storage
    run.py --system nfs42,nfs3 --mpi mpich,openmpi --io host --ranks 2,4 --cases 'writes:collective.*' 'turns:*' ...

--io host is the MPI's own I/O, by which the tests are tested. A case that fails there too, or that MPI doesn't promise, is listed with its
reason in known.txt and doesn't count. Where right results can't be had, a case may be refused with an error that says what to change. Systems that need
another kernel run in user-mode Linux (uml.py). The last lines are a table, and which systems can't be had here; the exit code is 1 if a case failed, 77
if no system can be had.
"""
import argparse
import fnmatch
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "nodes"))
import cluster  # noqa: E402
import uml  # noqa: E402
from mounted import LeftOut  # noqa: E402
from systems import SYSTEMS  # noqa: E402

BAD = ("FAILED", "DIED")
PROGRAMS = ["writes", "caches", "turns", "atomic", "shared", "sizes", "names", "posix"]


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
    if args.write and args.cases != ["*"]:
        p.error("--write is for all cases")
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
            nodes, remote, runtime, above, preload, only, compare, mpirun, emulator = True, "", None, "", "", None, False, None, ""
        options = Options()
        options.mpi, options.io, options.tools, options.alarm = self.mpi, self.args.io, self.args.tools, self.args.alarm
        options.driver = self.system.driver
        options.cluster, options.map = self.nodes, [rank * self.system.nodes // self.ranks for rank in range(self.ranks)]
        return options

    def program(self, program):
        """{case: (verdict, text)} of one program, the server's view included."""
        wanted = self.wanted(program)
        if not wanted:
            return {}
        folder = "%s/%s-%s-%d-%d" % (self.shared, program, self.mpi, self.ranks, os.getpid())
        self.nodes.run(self.nodes.names[0], ["mkdir", "-p", "-m", "777", folder], check=True)
        expected = tempfile.mkdtemp(prefix="mercutio-expected-")
        os.environ.update(self.system.environment, MERCUTIO_TEST_EXPECTED=expected, MERCUTIO_TEST_ONLY=" ".join(wanted),
                          MERCUTIO_TEST_PREFIX=self.runner.prefix(self.options(program)))
        path = os.path.join(self.args.programs, self.mpi, program)
        ended = threading.Event()
        beside = threading.Thread(target=self.system.while_running, args=(expected, ended))
        beside.start()
        try:
            verdicts, text = self.runner.run_program(self.options(program), self.args.io, self.ranks, path, folder)
        finally:
            ended.set()
            beside.join()
        results = {case: [verdict, [line for line in text.splitlines() if (" %s," % case) in line][:6]] for case, verdict in verdicts.items()}
        for case, result in results.items():
            refused = [line for line in result[1] if line.startswith("REFUSED")]
            if result[0] == "ok" and refused:   # whoever is told so has no wrong bytes
                result[0] = "refused" if self.system.refuses and all(re.search(self.system.refuses, line) for line in refused) else "FAILED"
            if "HANG %s " % case in text:   # and where
                result[1] = text[text.index("HANG %s " % case):].splitlines()[:200]
            if result[0] == "DIED" and not result[1]:
                result[1] = text.splitlines()[-12:]
        for name in sorted(set(os.listdir(expected)) - {"restart"}):
            wrong = self.compare_on_server(os.path.join(expected, name), os.path.join(folder, name))
            case = max((c for c in verdicts if "_%s_" % c in name), key=len, default=name)
            if wrong and case in results:
                results[case][1].insert(0, "on the server: " + wrong)
                results[case][0] = "FAILED" if results[case][0] == "ok" else results[case][0]
        shutil.rmtree(expected)
        if all(result[0] != "FAILED" for result in results.values()):
            self.nodes.run(self.nodes.names[0], ["rm", "-rf", folder])   # storage of the tests is small, some of it memory
        return results

    def compare_on_server(self, expected, path):
        there = self.system.on_server(path)
        return compare(expected, there) if there else None


def run_here(args, name, rows):
    """All programs on one system; rows of the table are appended."""
    folder = tempfile.mkdtemp(prefix="mercutio-storage-")
    try:
        run_in_folder(args, name, rows, folder)
    except cluster.CannotEmulate as reason:
        raise LeftOut("no emulated nodes here: %s" % reason) from None
    finally:
        if not args.inside:   # where it is the server's
            shutil.rmtree(folder, ignore_errors=True)


def run_in_folder(args, name, rows, folder):
    system = SYSTEMS[name]
    if system.driver and args.io == "host":
        raise LeftOut("it has no driver for it")
    system.before_nodes(folder)
    with cluster.Cluster(system.nodes + 1) as nodes:
        begun = time.time()
        shared = system.start(nodes, nodes.names[:system.nodes])
        print("# %s: %s; mounted in %.0f s" % (name, system.describe, time.time() - begun), flush=True)
        if system.driver:
            os.environ.update(system.environment)
            results = contract(args, system, nodes, shared)
            report(args, (name, "", 1, "contract"), results, rows)
        for mpi in args.mpi.split(","):
            for ranks in (int(word) for word in args.ranks.split(",")):
                one = Run(args, system, mpi, ranks, nodes, shared)
                for program in system.programs or PROGRAMS:
                    begun = time.time()
                    results = one.program(program)
                    report(args, (name, mpi, ranks, program), results, rows)
                    if results:
                        print("%s %s np=%d %s: %d cases, %.0f s" % (name, mpi, ranks, program, len(results), time.time() - begun), flush=True)


def contract(args, system, nodes, shared):
    """`mercutio driver check` on the first node, as a case."""
    command = os.path.join(os.path.dirname(args.io), "..", "bin", "mercutio")
    if not os.path.exists(command):
        return {}
    done = nodes.run(nodes.names[0], [command, "driver", "check", "%s%s/contract" % (system.driver, shared)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                     text=True, timeout=300)
    return {"check": ["FAILED" if done.returncode else "ok", done.stdout.splitlines()]}


def report(args, key, results, rows):
    name, mpi, ranks, program = key
    io = "host" if args.io == "host" else "mercutio"
    for case, (verdict, lines) in results.items():
        known = known_failures(name, mpi, io, "%s:%s" % (program, case)) if verdict in BAD else None
        rows.append(dict(system=name, mpi=mpi, io=io, ranks=ranks, program=program, case=case, verdict=verdict, known=known, text=lines))
        if verdict in BAD:
            print("not ok %s %s np=%d %s:%s%s" % (name, mpi, ranks, program, case, ", known: " + known if known else ""))
            print("\n".join("    " + line for line in lines), flush=True)
        elif args.verbose:
            print("%s %s %s np=%d %s:%s" % (verdict, name, mpi, ranks, program, case), flush=True)


def run_in_uml(args, name, rows):
    """This program again, on a kernel that has the file system's client. The exit code matters where there are no results."""
    why = uml.missing()
    if why:
        raise LeftOut("%s (scripts/setup.sh storage)" % why)
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
        raise LeftOut("user-mode Linux doesn't start here")
    if code == cluster.SKIPPED:
        with open(os.path.join(folder, "output"), errors="replace") as output:
            raise LeftOut(output.read().splitlines()[-1].rpartition("left out: ")[2])
    if code not in (0, 1):
        died(name, rows, "user-mode Linux did not get through it (%s); see %s" % (code, folder))
    else:
        shutil.rmtree(folder)


def died(name, rows, text):
    print("%s: %s" % (name, text), flush=True)
    rows.append(dict(system=name, mpi="", io="", ranks=0, program="", case="(the system)", verdict="DIED", known=None, text=[text.splitlines()[-1]]))


def run_system(args, name, rows):
    """Whatever becomes of a system, the next one has its turn. Why it was left out, or None."""
    try:
        if SYSTEMS[name].needs_uml and not args.inside:
            run_in_uml(args, name, rows)
        else:
            run_here(args, name, rows)
    except LeftOut as reason:
        print("left out: %s: %s" % (name, reason), flush=True)
        return str(reason)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        died(name, rows, str(error))
    return None


def write_json(args, rows):
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file, indent=1)


def table(rows):
    """(system, mpi, io, ranks), and how many of its cases passed, were refused, failed as known, and failed."""
    for key in sorted({(r["system"], r["mpi"], r["io"], r["ranks"]) for r in rows}):
        mine = [r for r in rows if (r["system"], r["mpi"], r["io"], r["ranks"]) == key]
        verdicts = ["known" if r["known"] else r["verdict"] for r in mine]
        yield key, [verdicts.count("ok"), verdicts.count("refused"), verdicts.count("known"), sum(verdict in BAD for verdict in verdicts)]


def print_table(rows):
    print("%-16s %-8s %-9s %5s %6s %8s %6s %6s" % ("system", "mpi", "io", "ranks", "ok", "refused", "known", "failed"))
    for key, counts in table(rows):
        print("%-16s %-8s %-9s %5d %6d %8d %6d %6d" % (*key, *counts))


def row_of(line):
    """The key of a line of a written table, of either kind, as `table` has it; None where it is no such line."""
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) < 4:
        return None
    words = cells[1].partition("`")[0].split(" ") if "`" in cells[1] else [cells[1].split(" ")[0], *cells[2:5]]
    return (*words[:3], int(words[3])) if words[0] in SYSTEMS and words[3].isdigit() else None


def kept_rows(path, rows):
    """The lines of a written table that aren't replaced by these rows: those of the results, and those of what wasn't ok. Where a system did not start,
    its line has no ranks, and goes with the next run of the system."""
    now = {(r["system"], r["mpi"], r["io"], r["ranks"]) for r in rows} | {(r["system"], "", "", 0) for r in rows}
    kept = [], []
    if os.path.exists(path):
        with open(path) as lines:
            for line in lines:
                key = row_of(line)
                if key and key not in now:
                    kept["`" in line.split("|")[1]].append(line)
    return kept


def write_table(path, rows):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    results, bad = kept_rows(path, rows)
    for key, counts in table(rows):
        results.append("| %s (%s) | %s | %s | %d | %d | %d | %d | %d |\n" % (key[0], SYSTEMS[key[0]].describe, *key[1:], *counts))
    for r in rows:
        if r["verdict"] in BAD:
            what = r["known"] or (r["text"][0] if r["text"] else r["verdict"])
            bad.append("| %s %s %s %d `%s:%s` | %s |\n" % (r["system"], r["mpi"], r["io"], r["ranks"], r["program"], r["case"], what.strip().replace("|", "/")))
    with open(path, "w") as out:
        out.write("# Storage whose nodes have caches\n\nWritten by `make storage` (tests/storage/run.py), which leaves the rows alone that it hasn't run. A case counts once, "
                  "with what the\nserver holds after it. Refused: opening the file, or atomic mode, is an error that says what to change.\n\n"
                  "| system | MPI | I/O | ranks | ok | refused | known failures | failed |\n|---|---|---|---|---|---|---|---|\n" + "".join(sorted(results)))
        if bad:
            out.write("\n| not ok | what was wrong |\n|---|---|\n" + "".join(sorted(bad)))


def main():
    args = parse_arguments()
    rows, left_out = [], {}
    for name in args.system.split(","):
        why = run_system(args, name, rows)
        if why:
            left_out[name] = why
        write_json(args, rows)   # what is there, should the next one not end
    if not args.inside and rows:
        print_table(rows)
        print("\n".join("left out: %s: %s" % reason for reason in left_out.items()))
    if args.write and rows:
        write_table(args.write, rows)
    if not rows and len(left_out) == len(args.system.split(",")):
        return cluster.SKIPPED
    if not rows:
        print("no case was run")
        return 1
    return 1 if any(r["verdict"] in BAD and not r["known"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
