#!/usr/bin/env python3
"""The emulated nodes themselves: what is counted, what a rate does, and that nothing stays behind.

    cluster_test.py [--mpi mpich --mpirun mpirun.mpich --io libmercutio.so --tools build/tests/tools --killed killed_rank]
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import cluster

OPTIONS = argparse.Namespace()
RECEIVE = "import socket; s = socket.create_server(('', 7000)); print('ready', flush=True); c = s.accept()[0]\nwhile c.recv(1 << 16): pass"
SEND = "import socket; s = socket.create_connection(('n1', 7000)); s.sendall(bytes(%d)); s.close()"


def send(nodes, count):
    """Bytes from n0 to n1, and the seconds that took."""
    receiver = subprocess.Popen(nodes.command("n1", [sys.executable, "-c", RECEIVE]), stdout=subprocess.PIPE, text=True)
    assert receiver.stdout.readline() == "ready\n"
    begun = time.monotonic()
    assert nodes.run("n0", [sys.executable, "-c", SEND % count]).returncode == 0
    receiver.wait(timeout=30)
    receiver.stdout.close()
    return time.monotonic() - begun


def processes_with(word):
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % entry, "rb") as words:
                if entry.isdigit() and int(entry) != os.getpid() and word.encode() in words.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            pass
    return found


class Nodes(unittest.TestCase):
    def test_links_count_what_is_sent(self):
        with cluster.Cluster(3) as nodes:
            pairs = nodes.sent_to()

            def counted():
                before = nodes.sent()
                send(nodes, 1 << 20)
                return [now - then for now, then in zip(nodes.sent(), before)]

            sent = min(counted() for _ in range(3))   # on a busy machine TCP sends some bytes again
            self.assertGreater(sent[0], 1 << 20)
            self.assertLess(sent[0], 1.1 * (1 << 20))
            self.assertLess(sent[1] + sent[2], 1 << 16)
            if pairs:
                self.assertGreater(nodes.sent_to()[0][1], 1 << 20)
                self.assertLess(nodes.sent_to()[0][2], 1 << 16)

    def test_a_rate_is_kept(self):
        with cluster.Cluster(2, rate="80mbit") as nodes:
            self.assertGreater(send(nodes, 4 << 20), 0.3)   # 0.42 s, less what the bucket holds

    def test_nodes_have_names_and_memory_of_their_own(self):
        with cluster.Cluster(2) as nodes:
            name = nodes.run("n1", ["hostname"], stdout=subprocess.PIPE, text=True).stdout
            self.assertEqual(name, "n1\n")
            self.assertEqual(nodes.run("n0", ["touch", "/dev/shm/mercutio-node-test"]).returncode, 0)
            self.assertNotEqual(nodes.run("n1", ["test", "-e", "/dev/shm/mercutio-node-test"]).returncode, 0)
            self.assertEqual(nodes.run("n0", ["sh", "-c", "exit 3"]).returncode, 3)

    def ended_by(self, number):
        word = "98765.%d%d" % (os.getpid(), number)
        process = subprocess.Popen([sys.executable, cluster.__file__, "--nodes", "2", "run", "n1", "sleep", word],
                                   stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while len(processes_with(word)) < 3 and time.monotonic() < deadline:   # cluster.py, the client, and sleep itself
            time.sleep(0.05)
        self.assertGreaterEqual(len(processes_with(word)), 3)
        process.send_signal(number)
        process.wait(timeout=30)
        while processes_with(word) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(processes_with(word), [])

    def test_nothing_is_left_after_termination(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TMPDIR"] = tempfile.tempdir = folder
            self.ended_by(signal.SIGTERM)
            self.assertEqual(os.listdir(folder), [])
            self.ended_by(signal.SIGKILL)   # which can't remove its folders
            for state in os.listdir(folder):
                shutil.rmtree(os.path.realpath(os.path.join(folder, state, "memory")))

    def tearDown(self):
        os.environ.pop("TMPDIR", None)
        tempfile.tempdir = None

    def test_a_killed_rank_ends_the_job(self):
        for mpi, mpirun, program in zip(OPTIONS.mpi, OPTIONS.mpirun, OPTIONS.killed):
            folder = tempfile.mkdtemp()
            preloads = [OPTIONS.io] + cluster.preloads(mpi, OPTIONS.tools, on_nodes=True)
            words = ["env", "LD_PRELOAD=" + ":".join(preloads), program, "--dir", folder]
            with self.subTest(mpi=mpi), cluster.Cluster(3) as nodes:
                job = subprocess.run(nodes.mpirun(mpi, [0, 1, 2, 2], words, mpirun), timeout=40, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
                self.assertNotEqual(job.returncode, 0)
                self.assertNotIn("done", job.stdout)
                self.assertNotIn("HANG", job.stdout)
            shutil.rmtree(folder)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("mpi", "mpirun", "killed"):
        p.add_argument("--" + name, action="append", default=[])
    p.add_argument("--io")
    p.add_argument("--tools")
    p.parse_args(namespace=OPTIONS)
    return cluster.run_tests(sys.argv[:1])


if __name__ == "__main__":
    sys.exit(main())
