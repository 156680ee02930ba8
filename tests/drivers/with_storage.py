#!/usr/bin/env python3
"""What every driver has to pass, on its storage: the contract, the conformance programs with 2 ranks, and mpi4py's and PnetCDF's tests.

    with_storage.py [--mpi mpich,openmpi] [--tests contract,conformance,suites] [--build build] [--json FILE] gluster|cephfs|pvfs2
    with_storage.py gluster|cephfs|pvfs2 COMMAND...

GlusterFS and CephFS run on an emulated node of their own (tests/storage/systems.py), and the tests on another one, which has them mounted, too, for
what looks at files by POSIX. PVFS2 is the stand-in for its library. S3 has tests/drivers/s3_store.py for this. The programs find in their environment
MERCUTIO_TEST_STORE_NAME, what the names of MPI's files begin with, and MERCUTIO_TEST_STORE_PLACE, the folder that they are in.

The exit code is 1 if a test fails, 77 if the storage can't be had.
"""
import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for _folder in ("nodes", "storage"):
    sys.path.insert(0, os.path.join(HERE, "..", _folder))
import cluster  # noqa: E402
from mounted import LeftOut  # noqa: E402
from systems import SYSTEMS  # noqa: E402

MOUNTED = {"gluster": "gluster-driver", "cephfs": "cephfs"}
PROGRAMS = ["explicit", "views", "pointers", "shared", "split", "requests", "consistency", "manipulation", "info"]
CONFORMANCE_OPTIONS = {"pvfs2": ["--opaque"]}


@contextlib.contextmanager
def stand_in(build):
    """PVFS2: yields the words that come before a command, and its environment."""
    library = os.path.join(build, "tests/drivers/pvfs2/standin")
    if not os.path.exists(os.path.join(library, "libpvfs2.so.2")):
        raise LeftOut("not built: " + library)
    with tempfile.TemporaryDirectory(prefix="mercutio-pvfs2-") as folder:
        tab = os.path.join(folder, "tab")
        with open(tab, "w") as out:
            out.write("tcp://server:3334/fs / pvfs2 defaults 0 0\n")
        place = os.path.join(folder, "files")   # names of another run would lead nowhere
        os.mkdir(place)
        yield [], dict(os.environ, LD_LIBRARY_PATH=library, PVFS2TAB_FILE=tab, MERCUTIO_TEST_PVFS2=folder, TMPDIR=place, MERCUTIO_TEST_STORE_NAME="pvfs2:",
                       MERCUTIO_TEST_STORE_PLACE=place)


@contextlib.contextmanager
def mounted(system):
    """The same on the first of two nodes."""
    folder = tempfile.mkdtemp(prefix="mercutio-storage-")
    try:
        system.before_nodes(folder)
        with cluster.Cluster(2) as nodes:
            place = system.start(nodes, nodes.names[:1])
            yield nodes.command(nodes.names[0], []), dict(os.environ, TMPDIR=place, MERCUTIO_TEST_STORE_NAME=system.driver, MERCUTIO_TEST_STORE_PLACE=place,
                                                          **system.environment)
    except cluster.CannotEmulate as reason:
        raise LeftOut("no emulated nodes here: %s" % reason) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Tests:
    """Each returns rows of the results (scripts/results.py)."""

    def __init__(self, args, before, environment):
        self.args, self.before, self.environment, self.build = args, before, environment, args.build
        self.library = os.path.join(self.build, "lib/libmercutio.so")
        self.name, self.place = environment["MERCUTIO_TEST_STORE_NAME"], environment["MERCUTIO_TEST_STORE_PLACE"]
        self.results = os.path.join(self.build, "drivers")
        os.makedirs(self.results, exist_ok=True)

    def run(self, words):
        return subprocess.run(self.before + words, env=self.environment, stdin=subprocess.DEVNULL).returncode

    def row(self, mpi, tests, ranks, passed, detail=""):
        return {"driver": self.args.driver, "MPI": mpi, "tests": tests, "ranks": str(ranks or ""), "result": "pass" if passed else "fail", "detail": detail}

    def contract(self):
        code = self.run([os.path.join(self.build, "bin/mercutio"), "driver", "check", "%s%s/contract" % (self.name, self.place)])
        return [self.row("", "the contract", 1, code == 0)]

    def conformance(self):
        for mpi in self.args.mpi.split(","):
            path = os.path.join(self.results, "%s-%s.json" % (self.args.driver, mpi))
            self.run([sys.executable, os.path.join(ROOT, "tests/conformance/run.py"), "--mpi", mpi, "--io", self.library, "--tools", os.path.join(self.build, "tests/tools"),
                      "--ranks", "2", "--alarm", str(self.args.alarm), "--driver", self.name, *CONFORMANCE_OPTIONS.get(self.args.driver, []), "--json", path,
                      *[os.path.join(self.build, "tests/conformance", mpi, name) for name in PROGRAMS]])
            rows = read(path)
            bad = ["%s:%s" % (row["program"], row["case"]) for row in rows if row["verdict"] != "ok"]
            yield self.row(mpi, "conformance programs", 2, rows and not bad,
                           "%d cases of %d programs" % (len(rows), len(PROGRAMS)) + (", failing: " + ", ".join(bad[:6]) if bad else ""))

    def suites(self):
        path = os.path.join(self.build, "suites", "store-%s.json" % self.args.driver)
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        self.run([sys.executable, os.path.join(ROOT, "scripts/suites.py"), "--lib", self.library, "--store", self.args.driver, "--mpi", self.args.mpi])
        rows = list(read(path).values()) if os.path.exists(path) else []
        for row in rows:
            passed = row["remote"]["verdict"] == "pass" and row["opened"] > 0
            yield self.row(row["mpi"], "%s %s" % (row["suite"], row["name"]), row["ranks"], passed,
                           "; ".join(text for text in (row["remote"]["detail"], "%d opened" % row["opened"]) if text))
        if not rows:
            yield self.row("", "suites", 0, False, "none was run")


def read(path):
    with open(path) as file:
        return json.load(file)


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("driver", choices=[*MOUNTED, "pvfs2"])
    p.add_argument("--mpi", default="mpich,openmpi")
    p.add_argument("--tests", default="contract,conformance,suites")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--alarm", type=int, default=50, help="seconds a case of the conformance programs may take")
    p.add_argument("--json", help="the rows are written here, in place of those of the same tests")
    p.add_argument("command", nargs=argparse.REMAINDER, help="this alone, in place of the tests")
    args = p.parse_args()
    args.build = os.path.abspath(args.build)
    return args


def key_of(row):
    return tuple(row[name] for name in ("driver", "MPI", "tests", "ranks"))


def write_rows(path, rows):
    before = read(path) if os.path.exists(path) else []
    now = {key_of(row) for row in rows}
    with open(path, "w") as out:
        json.dump(sorted([row for row in before if key_of(row) not in now] + rows, key=key_of), out, indent=1)


def main():
    args = parse_arguments()
    try:
        with mounted(SYSTEMS[MOUNTED[args.driver]]) if args.driver in MOUNTED else stand_in(args.build) as (before, environment):
            if args.command:
                return subprocess.run(before + args.command, env=environment).returncode
            tests = Tests(args, before, environment)
            rows = [row for name in args.tests.split(",") for row in getattr(tests, name)()]
    except LeftOut as reason:
        print("left out: %s: %s" % (args.driver, reason))
        return cluster.SKIPPED
    for row in rows:
        print("%-8s %-8s %-24s %1s  %s  %s" % (row["driver"], row["MPI"], row["tests"], row["ranks"], row["result"], row["detail"]))
    if args.json:
        write_rows(args.json, rows)
    return 0 if all(row["result"] == "pass" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
