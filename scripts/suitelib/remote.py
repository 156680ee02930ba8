"""The suites on a remote path: a mercutiod on this machine exports the folders that the tests' files are in, and the hint
mercutio_remote says that these folders live there. The tests are the same programs, and don't know."""
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from .base import WORK

SUITES = ("romio", "mpi4py", "pnetcdf")
PATIENCE = 4   # times the limit of a local run: PnetCDF's nc_test makes millions of accesses of a few bytes, each a round trip
MPI4PY_TESTS = ("test_io", "test_io_unskipped", "test_file")   # the others open no files


def wanted(suite, name):
    return suite in SUITES and (suite != "mpi4py" or name in MPI4PY_TESTS)


class Server:
    """mercutiod as a user starts it, from the build that is tested."""
    preloads = []

    def __init__(self, lib):
        self.programs = Path(lib).resolve().parent.parent / "bin"
        self.folder = Path(tempfile.mkdtemp(prefix="mercutio-suites-"))
        self.audit = self.folder / "audit"
        places = {"work": WORK.resolve(), "linked": WORK, "tmp": Path(tempfile.gettempdir())}
        self.roots = [word for name, path in places.items() for word in ("--root", f"{name}={path}:rw")]
        paths = ",".join(f"{path}=mercutio://suites/{name}" for name, path in places.items())
        self.environment = {"MERCUTIO_CONNECTIONS": str(self.folder / "connections"), "MERCUTIO_HINTS": f"mercutio_remote={paths}"}

    def __enter__(self):
        line = [self.programs / "mercutio", "connect", "--via", "env", "--name", "suites", "--daemon", self.programs / "mercutiod",
                "--idle", "7200", "--audit", self.audit, *self.roots]
        subprocess.run([str(word) for word in line], env={**os.environ, **self.environment}, stdout=subprocess.DEVNULL, check=True)
        return self

    def opened(self):
        """Files that it has opened so far: a test that opens none there has shown nothing."""
        return self.audit.read_text(errors="replace").count(" opens to ") if self.audit.exists() else 0

    def __exit__(self, *unused):
        for entry in Path("/proc").iterdir():   # it went to the background
            try:
                if entry.name.isdigit() and str(self.audit).encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGTERM)
            except OSError:
                continue
