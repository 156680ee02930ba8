#!/usr/bin/env python3
"""Emulated nodes: several "machines" on this one, for MPI jobs over real TCP.

A node is a set of namespaces (network, host name, IPC, processes, mounts) with its own /dev/shm, its own $TMPDIR, and
an address on a bridge, which has a namespace of its own too. Links can be given a rate. All nodes see the machine's file
systems, so any directory is their parallel file system. Ranks of different nodes can't share memory.

    cluster.py [--nodes 4] [--rate 1gbit] run n0 COMMAND..
    cluster.py [--nodes 4] [--rate 1gbit] [--map block|cyclic|0,0,1,..] mpirun mpich|openmpi LAUNCHER_OPTIONS.. PROGRAM..

Both print what went over the links. Everything vanishes with this process, whichever way it ends: a node's first process is
killed with its parent, and takes all others of its process namespace with it. Needs unshare and nsenter (util-linux), ip and
tc (iproute2), and root or unprivileged user namespaces. Where these are not permitted, exit code 77.
"""
import argparse
import ctypes
import itertools
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import agent

SKIPPED = 77
PRELOADS = {"mpich": ["libmpich_yield.so", "libmpich_finalize.so"], "openmpi": ["libopenmpi_yield.so"]}   # tests/tools
HERE = os.path.dirname(os.path.abspath(__file__))
ADDRESS = "10.77.0.%d"
PR_SET_PDEATHSIG = 1
SETUP = """
set -e
mount --bind %(fast)s %(state)s/fast
mount -t tmpfs -o size=50%% tmpfs /dev/shm
mount --bind %(state)s/hosts /etc/hosts
mount -t sysfs sysfs /sys
hostname %(node)s
ip link set lo up
exec %(python)s %(here)s/agent.py serve %(state)s %(node)s %(pipe)d
"""


def preloads(mpi, tools, on_nodes):
    """The paths of the test preloads that an MPI needs here or on emulated nodes, as far as they are in the folder `tools` ("": none)."""
    names = PRELOADS[mpi] if on_nodes else ["libmpich_yield.so"] if mpi == "mpich" else []
    paths = [os.path.abspath(os.path.join(tools, name)) for name in names if tools]
    return [path for path in paths if os.path.exists(path)]


class CannotEmulate(Exception):
    """Nodes can't be made here; the text says why."""


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setpgid(0, 0)   # Ctrl-C is for this process, which tidies up


def become_root():
    """Without root, the same in a user namespace where one is root. Does not return if it has to start again."""
    if os.geteuid() == 0:
        return
    if os.environ.get("MERCUTIO_TEST_USER_NAMESPACE") or subprocess.run(
            ["unshare", "--user", "--map-root-user", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise CannotEmulate("neither root nor unprivileged user namespaces")
    os.environ["MERCUTIO_TEST_USER_NAMESPACE"] = "1"
    os.execvp("unshare", ["unshare", "--user", "--map-root-user", sys.executable] + sys.argv)


def rate_words(rate):
    return ["tbf", "rate", rate, "burst", "256k", "latency", "50ms"]


class Node:
    """A set of namespaces with an agent in it."""

    def __init__(self, state, name):
        self.name = name
        readable, writable = os.pipe()
        script = SETUP % dict(state=state, fast=os.path.realpath(os.path.join(state, "memory")), node=name, here=HERE,
                              pipe=writable, python=sys.executable)
        self.log = open(os.path.join(state, name + ".log"), "wb+")
        self.process = subprocess.Popen(
            ["unshare", "--net", "--uts", "--ipc", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
             "--mount-proc", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            pass_fds=[writable], preexec_fn=die_with_parent)
        os.close(writable)
        self.ready = readable
        self.first_process = None

    def wait(self, state):
        """Until the agent serves. The kernel names it in the numbers of this process's namespace."""
        answer = os.read(self.ready, 5)
        os.close(self.ready)
        if answer != b"ready":
            self.log.seek(0)
            raise CannotEmulate("namespaces: " + self.log.read().decode(errors="replace").strip().replace("\n", "; "))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(agent.socket_path(state, self.name))
            self.first_process = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def end(self):
        """unshare ends after its child, and that one after all processes of the node."""
        if self.first_process:
            try:
                os.kill(self.first_process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        else:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def network(self, *words, lines=""):
        """Runs ip or tc in the network of this node, with this process's other namespaces; its output."""
        return subprocess.run(["nsenter", "--net=/proc/%d/ns/net" % self.process.pid] + list(words), input=lines, check=True,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


class Cluster:
    """with Cluster(4, rate="1gbit") as cluster: cluster.run("n0", ["hostname"])"""

    def __init__(self, count=4, rate=None):
        self.count, self.rate = count, rate
        self.names = ["n%d" % i for i in range(count)]
        self.addresses = [ADDRESS % (i + 1) for i in range(count)]
        self.state, self.nodes, self.switch = None, [], None
        self.fast = None   # a folder in memory that all nodes share, at this place on them
        self.counts_pairs = True

    def __enter__(self):
        missing = [tool for tool in ("unshare", "nsenter", "ip", "tc") if not shutil.which(tool)]
        if missing:
            raise CannotEmulate("not installed: " + ", ".join(missing))
        become_root()
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
        self.state = tempfile.mkdtemp(prefix="mercutio-nodes-")
        self.fast = os.path.join(self.state, "fast")
        os.mkdir(self.fast)
        os.symlink(tempfile.mkdtemp(prefix="mercutio-nodes-", dir="/dev/shm"), os.path.join(self.state, "memory"))
        try:
            self.make()
        except subprocess.CalledProcessError as error:
            self.end()
            raise CannotEmulate("%s: %s" % (" ".join(error.cmd[2:6]), error.stderr.strip())) from error
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def make(self):
        with open(os.path.join(self.state, "hosts"), "w") as hosts:
            hosts.write("127.0.0.1 localhost\n")
            hosts.writelines("%s %s\n" % named for named in zip(self.addresses, self.names))
        launcher = os.path.join(self.state, "rsh")
        with open(launcher, "w") as script:
            script.write('#!/bin/sh\nexec %s %s/agent.py shell "$@"\n' % (sys.executable, HERE))
        os.chmod(launcher, 0o755)
        self.switch = Node(self.state, "switch")
        for name in self.names:
            # Open MPI 4 removes its folder when no other one is in it, even where another job is about to use it (tests/openmpi_folder.cmake).
            os.makedirs(os.path.join(self.state, "tmp-" + name, "ompi.%s.%d" % (name, os.getuid()), "kept"))
            self.nodes.append(Node(self.state, name))
        for node in [self.switch] + self.nodes:
            node.wait(self.state)
        self.wire()

    def wire(self):
        lines = ["link add br0 type bridge", "link set br0 up"]
        for i, node in enumerate(self.nodes):
            lines += ["link add ve%d type veth peer name eth0 netns %d" % (i, node.process.pid),
                      "link set ve%d master br0 up" % i]
        self.switch.network("ip", "-batch", "-", lines="\n".join(lines))
        for i, node in enumerate(self.nodes):
            node.network("ip", "-batch", "-", lines="addr add %s/24 dev eth0\nlink set eth0 up\n" % self.addresses[i])
            self.shape(i, node)

    def shape(self, i, node):
        """The rate, both ways, and below it a class for each other node, whose only use is its counter."""
        if self.rate:
            shape = rate_words(self.rate)
            node.network("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", *shape)
            self.switch.network("tc", "qdisc", "add", "dev", "ve%d" % i, "root", *shape)
        lines = ["qdisc add dev eth0 %s handle 2: htb default ff" % ("parent 1:1" if self.rate else "root"),
                 "class add dev eth0 parent 2: classid 2:ff htb rate 100gbit quantum 60000"]
        for j in range(self.count):
            lines += ["class add dev eth0 parent 2: classid 2:%x htb rate 100gbit quantum 60000" % (j + 1),
                      "filter add dev eth0 parent 2: protocol ip u32 match ip dst %s flowid 2:%x" % (self.addresses[j], j + 1)]
        try:
            node.network("tc", "-batch", "-", lines="\n".join(lines))
        except subprocess.CalledProcessError:   # a kernel without these
            self.counts_pairs = False

    def end(self):
        for node in self.nodes + ([self.switch] if self.switch else []):
            node.end()
        self.nodes, self.switch = [], None
        shutil.rmtree(os.path.realpath(os.path.join(self.state, "memory")), ignore_errors=True)
        shutil.rmtree(self.state, ignore_errors=True)

    # Counters.
    def sent(self):
        """Bytes each node has sent so far, as its link counts them."""
        links = {link["ifname"]: link for link in json.loads(self.switch.network("ip", "-json", "-stats", "link"))}
        return [links["ve%d" % i]["stats64"]["rx"]["bytes"] for i in range(self.count)]

    def sent_to(self):
        """Bytes each node has sent to each other so far; None where the kernel can't count them."""
        if not self.counts_pairs:
            return None
        table = []
        for node in self.nodes:
            row, current = [0] * self.count, None
            for line in node.network("tc", "-s", "class", "show", "dev", "eth0").splitlines():
                words = line.split()
                if words[:2] == ["class", "htb"]:
                    current = int(words[2].split(":")[1], 16) - 1
                elif words[:1] == ["Sent"] and current is not None and current < self.count:
                    row[current] = int(words[1])
            table.append(row)
        return table

    # Commands.
    def command(self, node, words):
        """The words that run a command on a node from this machine."""
        return [sys.executable, os.path.join(HERE, "agent.py"), "run", self.state, node] + list(words)

    def run(self, node, words, **options):
        return subprocess.run(self.command(node, words), **options)

    def mpirun(self, mpi, ranks_on, program, launcher=None):
        """A whole command line: rank r on node ranks_on[r], started on that of rank 0."""
        return self.command(self.names[ranks_on[0]], self.mpirun_words(mpi, ranks_on, program, launcher))

    def mpirun_words(self, mpi, ranks_on, program, launcher=None):
        """The same as it is called on that node."""
        runs = [(self.names[node], len(list(ranks))) for node, ranks in itertools.groupby(ranks_on)]
        words = self.launcher_words(mpi, launcher)
        if mpi == "mpich":   # which takes a host that is named twice for two, and begins again at the end of the list
            period = len(set(ranks_on))
            if ranks_on == (ranks_on[:period] * len(ranks_on))[:len(ranks_on)]:
                runs = runs[:period]
            return words + ["-hosts", ",".join("%s:%d" % run for run in runs), "-n", str(len(ranks_on))] + program
        for node, count in runs:   # Open MPI adds up what a list says of a host, so each run is an application of its own
            words += ["-H", "%s:%d" % (node, count), "-n", str(count)] + program + [":"]
        return words[:-1]

    def launcher_words(self, mpi, launcher=None):
        shell = os.path.join(self.state, "rsh")
        if mpi == "mpich":
            words = [launcher or "mpirun.mpich", "-launcher", "ssh", "-launcher-exec", shell]
        else:
            words = [launcher or "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
            for key, value in dict(plm_rsh_agent=shell, pml="ob1", btl="tcp,vader,self", btl_tcp_if_include="eth0",
                                   oob_tcp_if_include="eth0", mpi_yield_when_idle="1",
                                   btl_vader_single_copy_mechanism="none").items():
                words += ["--mca", key, value]
            for name in os.environ:   # hydra takes all of them to the ranks
                words += ["-x", name] if name.startswith(("MERCUTIO_", "CEPH_")) else []
        return words


def parse_map(text, count, ranks_per_node=2):
    if text == "block":
        return [i // ranks_per_node for i in range(count * ranks_per_node)]
    if text == "cyclic":
        return [i % count for i in range(count * ranks_per_node)]
    return [int(word) for word in text.split(",")]


def run_tests(words):
    """The unit tests of the running file; the exit code."""
    try:
        with Cluster(2):
            pass
    except CannotEmulate as reason:
        print("skipped: no emulated nodes here: %s" % reason)
        return SKIPPED
    return 0 if unittest.main("__main__", argv=words, exit=False).result.wasSuccessful() else 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--nodes", type=int, default=4)
    p.add_argument("--rate", help="of a link, as tc writes it: 1gbit")
    p.add_argument("--map", default="block", help="block, cyclic, or a list: the node of each rank")
    p.add_argument("what", choices=["run", "mpirun"])
    p.add_argument("where", help="a node, or the MPI")
    p.add_argument("words", nargs=argparse.REMAINDER)
    args = p.parse_args()
    begun = time.time()
    try:
        with Cluster(args.nodes, args.rate) as cluster:
            print("# %d nodes in %.2f s" % (args.nodes, time.time() - begun), file=sys.stderr)
            if args.what == "run":
                code = cluster.run(args.where, args.words).returncode
            else:
                code = subprocess.run(cluster.mpirun(args.where, parse_map(args.map, args.nodes), args.words)).returncode
            print("# sent by node: %s; to node: %s" % (cluster.sent(), cluster.sent_to()), file=sys.stderr)
            return code
    except CannotEmulate as reason:
        print("skipped: no emulated nodes here: %s" % reason)
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
