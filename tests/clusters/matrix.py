#!/usr/bin/env python3
"""Programs of one emulated cluster on files of another one (clusters.py), with another MPI on each side.

    matrix.py --programs build/bin --io build/lib/libmercutio.so --tools build/tests/tools --rounds build/tests/clusters
              --near mpich --far openmpi [--quick] [--only PATTERN]

Each case is what a user would see: bytes that the other cluster's own MPI reads there and finds right, or an error of the right
class on every rank, soon, that says what to do. No case depends on how long anything takes, but that nothing may hang.
"""
import argparse
import fnmatch
import os
import subprocess
import sys
import time

import clusters
from clusters import FAR0, FAR1, NEAR0, NEAR1

HANG_S = 30   # nobody may wait longer for an error, by default
SHAPE = [4096, 16]   # blocks of a rank in a round
CASES = []


def case(*variants, quick=None):
    """Registers a test. The variants are its arguments; `quick` says under which MPIs of the near side one is of the short selection."""
    def register(function):
        CASES.extend((function, variant, (quick or {}).get(variant, ())) for variant in variants or [()])
        return function
    return register


class World:
    """What the cases share: the clusters, the programs, and connections by name."""

    def __init__(self, args, nodes):
        self.args, self.nodes, self.count = args, nodes, 0
        self.data = os.path.join(nodes.far, "data")
        self.connections = os.path.join(nodes.near, "connections")
        self.mercutio, self.daemon = (os.path.join(args.programs, name) for name in ("mercutio", "mercutiod"))
        self.route_key = os.path.join(nodes.state, "route.key")
        nodes.on("far0", "mkdir", self.data)
        os.environ["MERCUTIO_CONNECTIONS"] = self.connections

    # Ways.
    def connect_words(self, name, *options):
        words = ["connect", "--name", name, "--root", "data=%s:rw" % self.data, "--idle", "300", "--daemon", self.daemon]
        if self.nodes.ssh:
            return [self.mercutio, *words, *options, "far0"]
        agent = "%s %s/agent.py run %s far0 env HOME=%s/home" % (sys.executable, os.path.dirname(clusters.cluster.__file__),
                                                                  self.nodes.state, self.nodes.far)
        listen = [] if "--listen" in options else ["--listen", clusters.ADDRESSES[FAR0] + ":0"]
        return [self.mercutio, *words, "--via", agent, *listen, *options]

    def connect(self, *options):
        """Its name; each case has a connection, and mercutiod, of its own."""
        self.count += 1
        name = "far%d.example" % self.count
        self.nodes.on("near0", *self.connect_words(name, *options))
        return name

    def start_router(self, port=0):
        router = self.nodes.start("gateway", self.mercutio, "route", "--listen", "10.77.0.254:%d" % port, "--to", "10.78.0.1:*", "--key-file",
                                  self.route_key)
        return router, int(router.wait_for("mercutio-route 1 ").split()[1])

    def way(self, path, *options):
        """A connection on that way."""
        self.nodes.open(path == "direct")
        if path == "router":
            self.router, self.router_port = self.start_router()
            options += ("--router", "10.77.0.254:%d=%s" % (self.router_port, self.route_key))
        return self.connect(*options, *(["--forward"] if path == "forward" else []))

    def lines_of(self, name):
        """The words of each line of a connection file."""
        with open(self.nodes.outside(os.path.join(self.connections, name))) as lines:
            return [line.split() for line in lines if line.strip() and not line.startswith("#")]

    def edit(self, name, **lines):
        changed = [[line[0], *lines[line[0]]] if line[0] in lines else line for line in self.lines_of(name)]
        with open(self.nodes.outside(os.path.join(self.connections, name)), "w") as out:
            out.writelines(" ".join(line) + "\n" for line in changed)

    def delay(self, name, milliseconds):
        """Puts a relay before the first station of a connection."""
        hops = [line for line in self.lines_of(name) if line[0] in ("via", "server")]
        hops.sort(reverse=True)   # "via" before "server"
        word, address, port, *rest = hops[0]
        relay = self.nodes.start("gateway", sys.executable, os.path.join(clusters.HERE, "relay.py"), "10.77.0.254", 0, address, port,
                                 milliseconds)
        self.edit(name, **{word: ["10.77.0.254", relay.wait_for("relay ")] + rest})

    # Programs.
    def rounds(self, side, *words, ranks_on=None):
        mpi = getattr(self.args, side)
        preloads = [self.args.io] + clusters.cluster.preloads(mpi, self.args.tools, on_nodes=True)
        program = ["env", "LD_PRELOAD=" + ":".join(preloads), os.path.join(self.args.rounds, mpi, "rounds"), *words]
        return self.nodes.start_mpi(mpi, ranks_on or ([NEAR0] * 2 if side == "near" else [FAR0] * 2), program)

    def write(self, side, name, until, ranks_on=None):
        return self.rounds(side, "write", name, until, *SHAPE, 4, ranks_on=ranks_on)

    def verify(self, side, name, synced, latest, ranks=2):
        """What `ranks` ranks wrote up to a round, and have synced, is there."""
        assert synced > 0
        self.rounds(side, "read", name, synced, latest, *SHAPE, ranks).good()

    def verify_acknowledged(self, job, name):
        self.verify("far", name, max(job.numbers("synced")), max(job.numbers("begins")))

    def endless(self, name, file):
        """A program that writes until it is told to stop, and has synced something; and what tells it."""
        stop = os.path.join(self.nodes.near, "stop%d" % self.count)
        job = self.write("near", "mercutio://%s/data/%s" % (name, file), stop)
        job.wait_for("synced 4")
        return job, lambda: self.nodes.on("near0", "touch", stop)

    def there(self, file):
        return os.path.join(self.data, file)

    def clean(self):
        """mercutiod, routers and relays of a case; all of them have namespaces of their own."""
        for name in ("far0", "far1"):
            self.nodes.run(name, ["sh", "-c", "kill -9 $(pidof mercutiod) 2>/dev/null; rm -rf %s/*" % self.data])
        keep = []
        for job in self.nodes.jobs:
            if "sshd" in " ".join(job.process.args):
                keep.append(job)
            elif job.process.poll() is None:
                job.kill()
        self.nodes.jobs = keep


def same_error(job, ranks, cls, *words):
    """Every rank failed in the same call with the same class, and one at least says why."""
    failures = [line for line in job.failures() if " close " not in line]
    calls = {tuple(line.split()[3:7]) for line in failures}
    assert len(failures) == ranks and len(calls) == 1 and cls in failures[0].split()[6].rstrip(":"), job.text()
    for word in words:
        assert any(word in line for line in failures), "'%s' is not said:\n%s" % (word, job.text())


# What is written on one side is read on the other, by the other MPI.
@case(("direct", 0), ("router", 0), ("forward", 0), ("direct", 20), ("router", 20), ("direct", 50), ("router", 50),
      quick={("router", 0): ["mpich"], ("forward", 0): ["mpich"], ("direct", 20): ["openmpi"]})
def files_are_the_same(world, path, delay_ms):
    if path == "forward" and not world.nodes.ssh:
        return "no sshd here"
    name = world.way(path)
    if delay_ms:
        world.delay(name, delay_ms)
    job = world.write("near", "mercutio://%s/data/out" % name, 12).good()
    assert max(job.numbers("synced")) == 12
    world.verify("far", world.there("out"), 12, 12)
    world.write("far", world.there("in"), 12).good()
    world.verify("near", "mercutio://%s/data/in" % name, 12, 12)


@case(("5mbit",))
def files_are_the_same_on_a_thin_link(world, rate):
    world.nodes.limit(rate)
    try:
        files_are_the_same(world, "router", 20)
    finally:
        world.nodes.limit(None)


@case()
def many_nodes_on_both_sides(world):
    name = world.way("direct")
    world.write("near", "mercutio://%s/data/out" % name, 12, [NEAR0, NEAR0, NEAR1, NEAR1]).good()
    world.verify("far", world.there("out"), 12, 12, 4)


# The server dies: the error comes soon, on all ranks, and what was synced is there.
@case(("direct", 60), ("router", 60), ("forward", 60), ("router", 12), quick={("router", 12): ["mpich", "openmpi"]})
def the_server_is_killed(world, path, patience_s):
    if path == "forward" and not world.nodes.ssh:
        return "no sshd here"
    name = world.way(path)
    world.edit(name, patience_ms=["%d000" % patience_s])
    job, _ = world.endless(name, "out")
    world.nodes.on("far0", "sh", "-c", "kill -9 $(pidof mercutiod)")
    assert job.end(HANG_S) != 0
    same_error(job, 2, "MPI_ERR_IO", "the connection to " + name, "mercutio connect")
    world.verify_acknowledged(job, world.there("out"))


@case(quick={(): ["mpich"]})
def the_router_is_restarted(world):
    name = world.way("router")
    job, stop = world.endless(name, "out")
    for _ in range(2):
        world.router.kill()
        world.router, _ = world.start_router(world.router_port)
        again = max(job.numbers("synced")) + 12
        job.wait_for("synced %d" % again)
    stop()
    world.verify_acknowledged(job.good(), world.there("out"))


@case()
def the_router_is_gone(world):
    name = world.way("router")
    world.edit(name, patience_ms=["5000"])
    job, _ = world.endless(name, "out")
    world.router.kill()
    assert job.end(HANG_S) != 0
    same_error(job, 2, "MPI_ERR_IO", "the connection to " + name, "is lost")
    world.verify_acknowledged(job, world.there("out"))


@case(("direct",), ("router",), ("forward",), quick={("direct",): ["openmpi"]})
def a_client_is_killed(world, path):
    if path == "forward" and not world.nodes.ssh:
        return "no sshd here"
    name = world.way(path)
    job, _ = world.endless(name, "out")
    processes = dict(line.split()[1:] for line in job.lines if line.startswith("process "))
    world.nodes.on("near0", "kill", "-9", processes["1"])
    assert job.end(HANG_S) != 0
    world.verify_acknowledged(job, world.there("out"))
    world.write("near", "mercutio://%s/data/out" % name, 12).good()   # which finds nothing of the dead in its way
    world.verify("far", world.there("out"), 12, 12)


# The link is cut for a while, and the program goes on: by TCP alone, and where the client has given the streams up meanwhile.
@case(("direct", 5, 30), ("router", 5, 30), ("forward", 5, 30), ("direct", 5, 2), ("router", 5, 2), ("router", 2, 1),
      quick={("router", 2, 1): ["mpich"]})
def the_link_is_cut_for_a_while(world, path, seconds, silence_s):
    if path == "forward" and not world.nodes.ssh:
        return "no sshd here"
    name = world.way(path)
    world.edit(name, silence_ms=["%d000" % silence_s])
    job, stop = world.endless(name, "out")
    world.nodes.link(False)
    time.sleep(seconds)
    world.nodes.link(True)
    world.nodes.open(path == "direct")   # a cable that is drawn takes routes along
    job.wait_for("synced %d" % (max(job.numbers("synced")) + 12))
    stop()
    world.verify_acknowledged(job.good(), world.there("out"))


@case(quick={(): ["openmpi"]})
def the_disk_is_full(world):
    small = os.path.join(world.nodes.far, "small")
    world.nodes.on("far0", "mkdir", "-p", small)
    world.nodes.on("far0", "mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", small)
    name = world.way("direct", "--root", "small=%s:rw" % small)
    job = world.write("near", "mercutio://%s/small/out" % name, 12)
    assert job.end() != 0
    same_error(job, 2, "MPI_ERR_NO_SPACE", "(on far0)")


@case(quick={(): ["mpich"]})
def who_may_not_is_refused(world):
    audit = os.path.join(world.nodes.far, "audit")
    name = world.way("direct", "--audit", audit)
    world.nodes.on("far0", "ln", "-s", world.nodes.far, world.there("out"))
    for path in ("../audit", "out/audit", "/../audit"):
        job = world.write("near", "mercutio://%s/data/%s" % (name, path), 4)
        assert job.end() != 0
        same_error(job, 2, "MPI_ERR_ACCESS", "leaves the directory")
    world.edit(name, key=["5" * 64])
    job = world.write("near", "mercutio://%s/data/x" % name, 4)
    assert job.end() != 0
    same_error(job, 2, "MPI_ERR_ACCESS", "mercutio connect")
    log = world.nodes.on("far0", "cat", audit)
    assert log.count("refused") >= 4, log
    world.nodes.on("far0", "test", "!", "-e", world.there("x"))


@case(quick={(): ["openmpi"]})
def no_way_without_the_gateway(world):
    name = world.way("direct")
    world.nodes.open(False)
    job = world.write("near", "mercutio://%s/data/out" % name, 4)
    assert job.end(HANG_S) != 0
    same_error(job, 2, "MPI_ERR_IO", "can't be made", "mercutio connect")


# mercutiod as ranks of the other cluster's own mpirun, on two nodes.
@case(quick={(): ["mpich", "openmpi"]})
def the_other_mpirun_starts_the_servers(world):
    world.nodes.open(True)
    launcher = " ".join(world.nodes.mpirun_words(world.args.far, [FAR0, FAR1], ["PROGRAM"])).split(" -n ")[0]
    if world.args.far == "openmpi":
        launcher = launcher.replace("-H far0:1", "-H far0:1,far1:1")
    name = world.connect("--launcher", launcher, "--servers", "2", "--listen", "0.0.0.0:0")
    lines = world.lines_of(name)
    assert sorted(line[1] for line in lines if line[0] == "server") == ["far0", "far1"], lines
    job = world.write("near", "mercutio://%s/data/out" % name, 12, [NEAR0] * 3)
    world.verify("far", world.there("out"), max(job.good().numbers("synced")), 12, 3)


def run_case(world, function, variant):
    begun = time.monotonic()
    try:
        said = function(world, *variant) or "passes"
    except (AssertionError, subprocess.SubprocessError) as error:
        said = "FAILS"
        print(error, getattr(error, "stderr", "") or "", flush=True)
    finally:
        world.clean()
    print("%-14s %s%s  %.1f s" % (said, function.__name__, list(variant) or "", time.monotonic() - begun), flush=True)
    return said


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("programs", "io", "tools", "rounds"):
        p.add_argument("--" + name, required=True, type=os.path.abspath)
    for name in ("near", "far"):
        p.add_argument("--" + name, required=True, choices=["mpich", "openmpi"])
    p.add_argument("--quick", action="store_true")
    p.add_argument("--only", default="*", help="cases of this name, a shell pattern")
    args = p.parse_args()
    chosen = [(function, variant) for function, variant, quick in CASES
              if (args.near in quick or not args.quick) and fnmatch.fnmatch(function.__name__, args.only)]
    try:
        with clusters.Clusters() as nodes:
            world = World(args, nodes)
            print("%s near, %s far%s" % (args.near, args.far, "" if nodes.ssh else "; no sshd here"), flush=True)
            said = [run_case(world, *one) for one in chosen]
    except clusters.CannotEmulate as reason:
        print("skipped: no emulated nodes here: %s" % reason)
        return clusters.SKIPPED
    print("%d of %d pass" % (said.count("passes"), len(said)))
    return 1 if "FAILS" in said else 0


if __name__ == "__main__":
    sys.exit(main())
