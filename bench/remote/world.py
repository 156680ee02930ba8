"""A server of remote files on this machine behind a link with a round trip and a rate, for the programs of bench/ that measure them."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LAUNCH = {"mpich": ["mpirun.mpich"], "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"]}


class World:
    """A folder in memory with an export in it, and connections to it. Nothing stays."""

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()
        self.programs = self.build / "bin"
        self.mercutio = str(self.programs / "mercutio")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mercutio-bench-", dir="/dev/shm"))
        self.export = self.folder / "export"
        self.export.mkdir()
        self.environment = dict(os.environ, MERCUTIO_CONNECTIONS=str(self.folder / "connections"), HOME=str(self.folder))
        self.names, self.jobs = [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run([self.mercutio, "disconnect", "--force", name], env=self.environment, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=60)
        for job in self.jobs:
            job.kill()
            job.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *words, **more):
        """A program that goes on until the end, and its first line."""
        job = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, text=True, **more)
        self.jobs.append(job)
        return job.stdout.readline().split()

    def relay(self, port, round_trip_ms, mb_per_s=0):
        """The port of a way to that port which has a round trip and a rate."""
        return int(self.start(self.programs / "slow_relay", port, round_trip_ms, mb_per_s)[1])

    def connect(self, name, *options, round_trip_ms=0, mb_per_s=0):
        """A server of its own, and the way to it."""
        words = [self.mercutio, "connect", "--name", name, "--via", "env", "--root", f"data={self.export}:rw", "--daemon", self.programs / "mercutiod"]
        subprocess.run([*map(str, words), *map(str, options)], env=self.environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        self.names.append(name)
        if round_trip_ms or mb_per_s:
            self.lead(name, self.relay(self.port(name), round_trip_ms, mb_per_s))

    def file(self, name):
        return self.folder / "connections" / name

    def port(self, name):
        return int(re.search(r"^server \S+ (\d+)$", self.file(name).read_text(), re.M)[1])

    def lead(self, name, port):
        """Programs connect to this port from now on."""
        file = self.file(name)
        file.write_text(re.sub(r"^server \S+ \d+$", f"server 127.0.0.1 {port}", file.read_text(), flags=re.M))

    def run(self, *words, seconds=300, good=True, **more):
        """What a command printed, and its seconds are the caller's to take."""
        done = subprocess.run(list(map(str, words)), env=dict(self.environment, **more), capture_output=True, text=True, timeout=seconds)
        if good and done.returncode != 0:
            raise SystemExit("%s: exit code %d\n%s%s" % (" ".join(map(str, words)), done.returncode, done.stdout[-2000:], done.stderr[-2000:]))
        return done if not good else done.stdout

    def mpi(self, mpi, ranks, *program, before=(), **more):
        return self.run(*before, self.mercutio, "run", "--", *LAUNCH[mpi], "-n", ranks, *program, **more)

    def compile(self, mpi, source):
        program = self.folder / f"{source.stem}.{mpi}"
        subprocess.run(["mpicc." + mpi, "-std=gnu11", "-O2", "-o", str(program), str(source)], check=True)
        return program
