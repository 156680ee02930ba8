#!/usr/bin/env python3
"""Launchers on emulated nodes: ranks go where the files of `mercutio place` say, and Slurm starts programs with Mercutio under them.

    launchers_test.py --mercutio build/bin/mercutio [--hydra mpiexec.hydra] [--slurm mpich=pmi2=PROGRAM --slurm openmpi=pmix=PROGRAM]

Slurm is a real one: slurmctld on the first node, a slurmd on each (Debian: slurmctld, slurmd, slurm-client). Launchers that are not
installed are left out, and named. PROGRAM: one of tests/conformance; it gets --dir.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import cluster

OPTIONS = argparse.Namespace()
NODES, SLOTS = 3, 2
PAIRS = {0: 5, 1: 3, 2: 4}   # who has to do with whom: not those that a launcher puts together by itself
WHERE = ["sh", "-c", "echo ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}} $(hostname)"]
SLURM_CONF = """ClusterName=emulated
SlurmctldHost=n0({controller})
AuthType=auth/none
CredType=cred/none
SlurmUser=root
StateSaveLocation={state}/slurm
SlurmdSpoolDir={state}/slurm/%n
SlurmctldPidFile={state}/slurm/slurmctld.pid
SlurmdPidFile={state}/slurm/%n.pid
SlurmctldLogFile={state}/slurm/slurmctld.log
SlurmdLogFile={state}/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/linear
MailProg=/bin/true
TmpFS=/dev/shm
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


class Slurm:
    """with Slurm(nodes) as slurm: slurm.run(["srun", "hostname"])"""

    NEEDED = ("slurmctld", "slurmd", "srun", "sinfo")

    def __init__(self, nodes):
        self.nodes, self.daemons = nodes, []
        self.folder = os.path.join(nodes.state, "slurm")

    def __enter__(self):
        lines = ["NodeName=%s NodeAddr=%s CPUs=%d" % (name, cluster.ADDRESS % (i + 1), SLOTS) for i, name in enumerate(self.nodes.names)]
        for name in self.nodes.names:
            os.makedirs(os.path.join(self.folder, name))
        os.mkdir(os.path.join(self.folder, "cgroup"))
        conf = os.path.join(self.folder, "slurm.conf")
        with open(conf, "w") as file:
            file.write(SLURM_CONF.format(state=self.nodes.state, controller=cluster.ADDRESS % 1, nodes="\n".join(lines)))
        with open(os.path.join(self.folder, "cgroup.conf"), "w") as file:   # nothing is asked of cgroups, but they are looked for
            file.write("CgroupPlugin=cgroup/v1\nCgroupMountpoint=%s/cgroup\n" % self.folder)
        self.environment = dict(os.environ, SLURM_CONF=conf)
        self.start("n0", ["slurmctld", "-D", "-f", conf])
        for name in self.nodes.names:
            self.start(name, ["slurmd", "-D", "-N", name, "-f", conf])
        deadline = time.monotonic() + 40
        while self.idle() < NODES:
            if time.monotonic() > deadline:
                self.__exit__()
                raise AssertionError("Slurm's nodes don't come up: " + self.logs())
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()

    def start(self, node, words):
        self.daemons.append(subprocess.Popen(self.nodes.command(node, words), env=self.environment, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))

    def idle(self):
        answer = self.run(["sinfo", "--noheader", "--states=idle", "--format=%D"], stderr=subprocess.DEVNULL).stdout.split()
        return int(answer[0]) if answer else 0

    def logs(self):
        text = ""
        for name in ["slurmctld"] + self.nodes.names:
            with open(os.path.join(self.folder, name + ".log")) as log:
                text += "\n%s: %s" % (name, log.read()[-1000:])
        return text

    def run(self, words, variables={}, **options):
        return self.nodes.run("n0", words, env={**self.environment, **variables}, stdout=subprocess.PIPE, text=True, timeout=100, **options)


def slurm_is_here():
    return all(shutil.which(tool) for tool in Slurm.NEEDED)


class Placement(unittest.TestCase):
    """`mercutio place` for a matrix of pairs; then the launcher is asked where each rank is."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        ranks = NODES * SLOTS
        partner = {**PAIRS, **{b: a for a, b in PAIRS.items()}}
        with open(self.path("matrix"), "w") as matrix:
            matrix.writelines(",".join("9" if partner[i] == j else "0" for j in range(ranks)) + "\n" for i in range(ranks))
        with open(self.path("hosts"), "w") as hosts:
            hosts.writelines("n%d slots=%d\n" % (i, SLOTS) for i in range(NODES))
        subprocess.run([OPTIONS.mercutio, "place", "--matrix", self.path("matrix"), "--hosts", self.path("hosts"), "--rankfile", self.path("ranks"),
                        "--machinefile", self.path("machines"), "--slurm", self.path("slurm")], check=True, stdout=subprocess.DEVNULL)
        with open(self.path("slurm")) as file:
            self.wanted = file.read().split()
        for a, b in PAIRS.items():
            self.assertEqual(self.wanted[a], self.wanted[b])

    def path(self, name):
        return os.path.join(self.folder, name)

    def check(self, job):
        self.assertEqual(job.returncode, 0, job.stdout)
        found = dict(line.split() for line in job.stdout.splitlines() if len(line.split()) == 2 and line[0].isdigit())
        self.assertEqual([found.get(str(rank)) for rank in range(NODES * SLOTS)], self.wanted, job.stdout)

    def launch(self, words, variables={}):
        with cluster.Cluster(NODES) as nodes:
            shell = os.path.join(nodes.state, "rsh")
            words = [word.replace("RSH", shell) for word in words]
            self.check(nodes.run("n0", words + WHERE, env={**os.environ, **variables}, stdout=subprocess.PIPE, text=True, timeout=100))

    @unittest.skipUnless(shutil.which("mpirun.openmpi"), "no Open MPI")
    def test_rankfile_of_open_mpi(self):
        self.launch(["mpirun.openmpi", "--allow-run-as-root", "--mca", "plm_rsh_agent", "RSH", "--mca", "oob_tcp_if_include", "eth0", "-n", "6",
                     "--rankfile", self.path("ranks")])

    @unittest.skipUnless(shutil.which("mpirun.mpich"), "no MPICH")
    def test_machine_file_of_mpich(self):
        self.launch(["mpirun.mpich", "-launcher", "ssh", "-launcher-exec", "RSH", "-n", "6", "-machinefile", self.path("machines")])

    def test_machine_file_of_intel_mpi(self):
        if not OPTIONS.hydra:
            self.skipTest("no Intel MPI")
        root = os.path.dirname(os.path.dirname(OPTIONS.hydra))
        self.launch([OPTIONS.hydra, "-bootstrap", "ssh", "-bootstrap-exec", "RSH", "-n", "6", "-machinefile", self.path("machines")],
                    {"I_MPI_ROOT": root, "PATH": os.path.join(root, "bin") + ":" + os.environ["PATH"]})

    @unittest.skipUnless(slurm_is_here(), "no Slurm")
    def test_host_file_of_slurm(self):
        with cluster.Cluster(NODES) as nodes, Slurm(nodes) as slurm:
            self.check(slurm.run(["srun", "-n", "6", "--distribution=arbitrary"] + WHERE, {"SLURM_HOSTFILE": self.path("slurm")}))


@unittest.skipUnless(slurm_is_here(), "no Slurm")
class UnderSlurm(unittest.TestCase):
    def test_srun_starts_programs_on_mercutio(self):
        """Also where the program's environment is limited by --export; the verdict comes from rank 0 of the job."""
        with cluster.Cluster(NODES) as nodes, Slurm(nodes) as slurm:
            for entry in OPTIONS.slurm:
                mpi, kind, program = entry.split("=", 2)
                preloads = ":".join(cluster.preloads(mpi, OPTIONS.tools, on_nodes=True))
                for export in ([], ["--export=PATH,LD_PRELOAD,OMPI_MCA_mpi_yield_when_idle"]):
                    with self.subTest(mpi=mpi, export=export), tempfile.TemporaryDirectory() as folder:
                        verdict = os.path.join(folder, "verdict")
                        job = slurm.run([OPTIONS.mercutio, "run", "--report=" + verdict, "--", "srun", "--mpi=" + kind, "-n", "4", "-N", "2"] + export +
                                        [program, "--dir", folder], {"LD_PRELOAD": preloads, "OMPI_MCA_mpi_yield_when_idle": "1"}, stderr=subprocess.STDOUT)
                        self.assertEqual(job.returncode, 0, job.stdout[-2000:])
                        with open(verdict) as file:
                            self.assertIn("4 ranks on 2 nodes", file.read())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mercutio", required=True)
    p.add_argument("--hydra", help="Intel MPI's mpiexec.hydra")
    p.add_argument("--slurm", action="append", default=[], help="MPI=KIND=PROGRAM: what srun starts with --mpi=KIND")
    p.add_argument("--tools", help="where the test preloads are")
    _, rest = p.parse_known_args(namespace=OPTIONS)
    return cluster.run_tests(sys.argv[:1] + rest)


if __name__ == "__main__":
    sys.exit(main())
