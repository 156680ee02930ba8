"""The suites with their files in an object store: tests/tools/in_store.c renames them. The tests are the same programs, and don't know."""
import os
import tempfile
from pathlib import Path

from .base import ROOT, WORK
from .remote import MPI4PY_TESTS, PATIENCE   # noqa: F401: a request of the store takes as long as a round trip

PLACE = os.environ.get("MERCUTIO_TEST_STORE_PLACE")   # of the files, else they are where the suites are built
SUITES = ("mpi4py", "pnetcdf")


def wanted(suite, name):
    return suite in SUITES and (suite != "mpi4py" or name in MPI4PY_TESTS)


class Store:
    """That of `tests/drivers/s3_store.py run` or `tests/drivers/with_storage.py`, in which this program has been started."""

    def __init__(self, lib):
        if "MERCUTIO_TEST_STORE_NAME" not in os.environ:
            raise SystemExit("suites: start me by .venv-s3/bin/python tests/drivers/s3_store.py run ..., or by tests/drivers/with_storage.py DRIVER ...")
        own = Path(tempfile.mkdtemp(prefix="mercutio-suites-", dir="/tmp"))
        self.opens, temporary = own / "opens", Path(tempfile.mkdtemp(prefix="mercutio-suites-", dir=PLACE))
        self.preloads = [str(ROOT / "build/tests/tools/libin_store.so")]
        # Not the sources, wherever they are: some tests read files that come with them.
        folders = [str(work / name) for work in {WORK, WORK.resolve()} for name in ("mpich", "openmpi")] + [str(temporary)]
        # Open MPI's own folder is not among the tests' temporary files: it maps files there, which storage without a page cache can't.
        self.environment = {"MERCUTIO_TEST_STORE_FOLDERS": PLACE or ":".join(folders), "MERCUTIO_TEST_STORE_OPENS": str(self.opens), "TMPDIR": str(temporary),
                            "OMPI_MCA_orte_tmpdir_base": str(own)}

    def __enter__(self):
        return self

    def opened(self):
        """Opens so far: a test that opens no file there has shown nothing."""
        return len(self.opens.read_text().splitlines()) if self.opens.exists() else 0

    def __exit__(self, *unused):
        pass
