"""Two emulated clusters and a gateway between them: each has nodes, a network, files and an MPI of its own.

    near0 near1 -- 10.77.0.0/24 -- gateway -- 10.78.0.0/24 -- far0 far1

A node of one cluster has no route to the other; the gateway has one to both, and passes packets on only where open() says so. near/
and far/ are each cluster's file system, seen by its own nodes only. far0 and the gateway run an sshd with keys made for the
purpose; where it can't run, `mercutio connect` starts mercutiod through the nodes' own agent in its place (ssh is None).
"""
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "nodes"))
import cluster  # noqa: E402
from cluster import CannotEmulate, SKIPPED  # noqa: E402, F401

NAMES = ["near0", "near1", "gateway", "far0", "far1"]
NEAR0, NEAR1, GATEWAY, FAR0, FAR1 = range(5)
ADDRESSES = ["10.77.0.1", "10.77.0.2", "10.77.0.254", "10.78.0.1", "10.78.0.2"]
GATEWAY_TO_FAR = "10.78.0.254"
UNPACKED = os.path.abspath(os.path.join(HERE, "..", "..", "third_party", "sshd", "usr", "sbin"))   # scripts/setup.sh
# The user that sshd wants, and its folder, on the node only.
START_SSHD = """
if ! grep -q ^sshd: /etc/passwd; then
  { cat /etc/passwd; echo sshd:x:65533:65534::/run/sshd:/bin/false; } > %(path)s.passwd
  mount --bind %(path)s.passwd /etc/passwd
fi
mkdir -p /run/sshd
exec %(sshd)s -D -e -f %(path)s
"""
SSHD = """ListenAddress %(address)s
HostKey %(keys)s/host
AuthorizedKeysFile %(keys)s/user.pub
SetEnv MERCUTIO_TEST_NODES=%(state)s HOME=%(home)s TMPDIR=%(state)s/tmp-%(name)s
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
PermitRootLogin yes
AllowTcpForwarding yes
"""
SSH = """Host *
  IdentityFile %(keys)s/user
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile %(keys)s/known
  LogLevel ERROR
  BatchMode yes
Host far0 far0-slow
  HostName %(far0)s
  ProxyJump gateway
Host gateway
  HostName %(gateway)s
"""


class Job:
    """A command on a node whose lines are read while it runs; its end is waited for with a limit, always."""

    def __init__(self, name, words):
        self.name, self.lines, self.fresh = name, [], queue.Queue()
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        errors="replace")
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            self.fresh.put(line.rstrip("\n"))
        self.fresh.put(None)

    def wait_for(self, start, seconds=60):
        """The next line that begins like this, without its beginning."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                line = self.fresh.get(timeout=left)
            except queue.Empty:
                break
            if line is None:
                raise AssertionError("%s ended before it said '%s':\n%s" % (self.name, start, self.text()))
            if line.startswith(start):
                return line[len(start):].strip()
        raise AssertionError("%s did not say '%s' within %d s:\n%s" % (self.name, start, seconds, self.text()))

    def end(self, seconds=60):
        """Its exit code. More than `seconds` is a failure of the test."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("%s hangs: no end within %d s:\n%s" % (self.name, seconds, self.text())) from None
        self.reader.join(10)
        return code

    def good(self, seconds=180):   # where nothing fails, only a busy machine takes time
        code = self.end(seconds)
        assert code == 0, "%s: exit code %d:\n%s" % (self.name, code, self.text())
        return self

    def kill(self):
        """The node's agent then kills the command."""
        self.process.kill()
        self.process.wait()

    def text(self):
        return "\n".join(self.lines[-30:])

    def numbers(self, word):
        return [int(line.split()[1]) for line in self.lines if re.fullmatch(word + r" -?\d+", line)]

    def failures(self):
        return [line for line in self.lines if line.startswith("failed ")]


class Clusters(cluster.Cluster):
    def __init__(self):
        super().__init__(len(NAMES))
        self.names, self.addresses = NAMES, ADDRESSES
        self.ssh, self.jobs = None, []

    def wire(self):
        lines = ["link add %s type bridge\nlink set %s up" % (bridge, bridge) for bridge in ("near", "far")]
        ports = [(i, "eth0", "far" if i >= FAR0 else "near", address) for i, address in enumerate(ADDRESSES)]
        ports.append((GATEWAY, "eth1", "far", GATEWAY_TO_FAR))
        for i, device, bridge, _ in ports:
            lines += ["link add ve%d%s type veth peer name %s netns %d" % (i, device, device, self.nodes[i].process.pid),
                      "link set ve%d%s master %s up" % (i, device, bridge)]
        self.switch.network("ip", "-batch", "-", lines="\n".join(lines))
        for i, device, _, address in ports:
            self.nodes[i].network("ip", "-batch", "-", lines="addr add %s/24 dev %s\nlink set %s up\n" % (address, device, device))
        self.near, self.far = os.path.join(self.fast, "near"), os.path.join(self.fast, "far")
        for folder in (self.near, self.far):
            os.makedirs(os.path.join(self.outside(folder), "home"))
        for i, name in enumerate(NAMES):
            for hidden in ([self.near] if i >= GATEWAY else []) + ([self.far] if i <= GATEWAY else []):
                self.on(name, "mount", "-t", "tmpfs", "tmpfs", hidden)
        os.environ["HOME"] = os.path.join(self.near, "home")
        self.open(False)
        self.start_ssh()

    def outside(self, path):
        """Where a file of near or far is for this process."""
        return os.path.join(self.state, "memory", os.path.relpath(path, self.fast))

    # Commands on nodes.
    def on(self, name, *words, seconds=60):
        """Runs a command; its output. It has to end well."""
        done = self.run(name, [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        text=True, timeout=seconds)
        if done.returncode != 0:
            raise subprocess.CalledProcessError(done.returncode, ["on", name, *map(str, words)], done.stdout, done.stdout + done.stderr)
        return done.stdout

    def start(self, name, *words):
        job = Job("%s on %s" % (os.path.basename(str(words[0])), name), self.command(name, [str(word) for word in words]))
        self.jobs.append(job)
        return job

    def start_mpi(self, mpi, ranks_on, program):
        job = Job("the job of %s" % NAMES[ranks_on[0]], self.mpirun(mpi, ranks_on, [str(word) for word in program]))
        self.jobs.append(job)
        return job

    def end(self):
        for job in self.jobs:
            if job.process.poll() is None:
                job.kill()
        super().end()

    # The ways between the clusters.
    def open(self, yes):
        """Whether the gateway passes packets on, so that nodes reach each other without help."""
        self.on("gateway", "sh", "-c", "echo %d > /proc/sys/net/ipv4/ip_forward" % yes)
        for i, network, gateway in ((NEAR0, "10.78.0.0/24", ADDRESSES[GATEWAY]), (NEAR1, "10.78.0.0/24", ADDRESSES[GATEWAY]),
                                    (FAR0, "10.77.0.0/24", GATEWAY_TO_FAR), (FAR1, "10.77.0.0/24", GATEWAY_TO_FAR)):
            self.nodes[i].network("ip", "route", "flush", network)
            if yes:
                self.nodes[i].network("ip", "route", "add", network, "via", gateway)

    def link(self, up):
        """The cable between the gateway and the far cluster."""
        self.nodes[GATEWAY].network("ip", "link", "set", "eth1", "up" if up else "down")

    def limit(self, rate):
        """Of that cable, as tc writes it; None: what it gives."""
        for node, device in ((self.nodes[GATEWAY], "eth1"), (self.switch, "ve%deth1" % GATEWAY)):
            if rate:
                node.network("tc", "qdisc", "replace", "dev", device, "root", *cluster.rate_words(rate))
            else:
                node.network("tc", "qdisc", "del", "dev", device, "root")

    def start_ssh(self):
        sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:" + UNPACKED)
        ssh, keygen = shutil.which("ssh"), shutil.which("ssh-keygen")
        if not (sshd and ssh and keygen):
            return
        keys = os.path.join(self.state, "keys")
        os.makedirs(os.path.join(keys, "bin"))
        for name in ("host", "user"):
            subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(keys, name)], check=True)
        for i, name in ((GATEWAY, "gateway"), (FAR0, "far0")):
            path = os.path.join(keys, "sshd-" + name)
            with open(path, "w") as out:
                out.write(SSHD % dict(address=ADDRESSES[i], name=name, keys=keys, state=self.state, home=os.path.join(self.far, "home")))
            self.start(name, "sh", "-c", START_SSHD % dict(sshd=sshd, path=path))
        with open(os.path.join(keys, "config"), "w") as out:
            out.write(SSH % dict(keys=keys, far0=ADDRESSES[FAR0], gateway=ADDRESSES[GATEWAY]))
        wrapper = os.path.join(keys, "bin", "ssh")
        with open(wrapper, "w") as out:
            out.write('#!/bin/sh\nexec %s -F %s/config "$@"\n' % (ssh, keys))
        os.chmod(wrapper, 0o755)
        for _ in range(40):
            if self.run("near0", [wrapper, "far0", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL, timeout=60).returncode == 0:
                self.ssh = wrapper
                os.environ["PATH"] = os.path.dirname(wrapper) + ":" + os.environ["PATH"]
                return
            if any(job.process.poll() is not None for job in self.jobs):
                return
            time.sleep(0.1)

