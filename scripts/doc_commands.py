#!/usr/bin/env python3
"""Runs the commands of the documentation: the `sh` blocks of a page, one after the other, in a folder of their own.

    scripts/doc_commands.py --mercutio build/bin/mercutio docs/users/start.md...

In the folder are ./app (an MPI program that writes a file by MPI-IO) and the sources that pages compile. Blocks called
`console`, with a prompt, are not run. Exit code 77: what a page needs is not installed here.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 300
# What a page needs besides an MPI, and the command that says whether it is there.
NEEDS = {
    "mpi4py.md": "/usr/bin/python3 -c 'import mpi4py, numpy'",
    "hdf5.md": "/usr/bin/python3 -c 'import mpi4py, h5py._debian_h5py_mpi'",
    "netcdf.md": "pkg-config --exists netcdf-mpi",
    "pnetcdf.md": "test -e /usr/include/pnetcdf.h",
    "report.md": "/usr/bin/python3 -c 'import matplotlib, jinja2'",
}
SOURCES = ("examples/hello.c", "tests/apps/h5py_app.py", "tests/apps/netcdf4_app.c", "tests/apps/pnetcdf_app.c")


def blocks(page):
    """(line, text) of each `sh` block."""
    for match in re.finditer(r"(?ms)^```sh\n(.*?)^```", page.read_text()):
        yield page.read_text().count("\n", 0, match.start()) + 2, match.group(1)


def run_page(page, mercutio, folder):
    environment = {
        "PATH": f"{mercutio.parent}:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(folder), "LANG": "C.UTF-8", "TMPDIR": str(folder), "PMIX_MCA_gds": "hash",
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }
    for source in SOURCES:
        shutil.copy(ROOT / source, folder)
    subprocess.run(["mpicc", "hello.c", "-o", "app"], cwd=folder, env=environment, check=True)
    for line, text in blocks(page):
        try:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=environment, capture_output=True, text=True,
                                  timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            print(f"{page}:{line}: not done after {SECONDS} s")
            return False
        if done.returncode != 0:
            print(f"{page}:{line}: exit code {done.returncode}\n{text}{done.stdout[-2000:]}{done.stderr[-4000:]}")
            return False
        print(f"{page}:{line}: {len(text.splitlines())} lines ran")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mercutio", type=Path, required=True, help="the command of a build")
    parser.add_argument("pages", type=Path, nargs="+")
    args = parser.parse_args()
    if not shutil.which("mpicc", path="/usr/bin") or not shutil.which("mpirun", path="/usr/bin"):
        print("no MPI in /usr/bin")
        return 77
    for page in args.pages:
        needs = NEEDS.get(page.name)
        if needs and subprocess.run(needs, shell=True, capture_output=True, check=False).returncode != 0:
            print(f"{page}: left out, for want of: {needs}")
            return 77
        folder = Path(tempfile.mkdtemp(prefix="mercutio-docs-"))
        try:
            if not run_page(page, args.mercutio.resolve(), folder):
                return 1
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
