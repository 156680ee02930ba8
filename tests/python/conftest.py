"""A server on this machine that exports a fresh folder as mercutio://here/data. TESTED_BUILD names the build to test."""
import contextlib
import os
import pathlib
import subprocess
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESTED_BUILD", ROOT / "build")).resolve()


@contextlib.contextmanager
def served(folder, connections):
    os.environ["MERCUTIO_CONNECTIONS"] = str(connections)
    command = str(BUILD / "bin" / "mercutio")
    words = ["--name", "here", "--root", f"data={folder}:rw", "--root", f"seen={folder}", "--via", "env", "--idle", "900"]
    subprocess.run([command, "connect", *words, "--daemon", str(BUILD / "bin" / "mercutiod")], check=True, timeout=60)
    try:
        yield
    finally:
        subprocess.run([command, "disconnect", "--force", "here"], check=True, timeout=60)


@pytest.fixture(scope="session", autouse=True)
def export(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    with served(folder, tmp_path_factory.mktemp("connections")):
        yield folder


@pytest.fixture
def place(export):
    """A fresh folder there: its path on this machine, and its name as a remote one."""
    folder = export / uuid.uuid4().hex
    folder.mkdir()
    return folder, f"mercutio://here/data/{folder.name}"
