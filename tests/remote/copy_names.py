#!/usr/bin/env python3
"""Which names mercutio-cp copies to which, on this machine alone.
   copy_names.py MERCUTIO_CP"""
import os
import pathlib
import subprocess
import sys
import tempfile

program = str(pathlib.Path(sys.argv[1]).resolve())


def cp(*words, fails=None, user=None):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=60, user=user)
    if fails is None:
        assert done.returncode == 0, (words, done.stderr)
    else:
        assert done.returncode != 0 and fails in done.stderr, (words, done.returncode, done.stderr)
    return done.stderr


def names_that_meet(folder):
    """Two files of one name don't both go to it."""
    for run in ("run1", "run2"):
        (folder / run / "deep").mkdir(parents=True)
        (folder / run / "x.nc").write_text(run)
        (folder / run / "deep" / "y.nc").write_text(run)
        (folder / run / "deep" / f"{run}.nc").write_text(run)
    into = folder / "into"
    into.mkdir()
    cp(folder / "run1" / "x.nc", folder / "run2" / "x.nc", into, fails="another file is copied to")
    assert (into / "x.nc").read_text() == "run1"
    cp("-r", folder / "run1" / "deep", folder / "run2" / "deep", into, fails="y.nc")
    assert (into / "deep" / "y.nc").read_text() == "run1"
    assert (into / "deep" / "run2.nc").read_text() == "run2", "directories of one name become one"


def names_that_lead_up(folder):
    """A source called .. or . goes into the target, not beside it."""
    inside = folder / "up" / "target" / "inside"
    inside.mkdir(parents=True)
    (folder / "source" / "deep").mkdir(parents=True)
    (folder / "source" / "x").write_text("x")
    for end in ("deep/..", "deep/../", "."):
        cp("-r", f"{folder}/source/{end}", inside)   # pathlib would leave the end out
        assert (inside / "x").read_text() == "x"
        (inside / "x").unlink()
    assert sorted(path.name for path in (folder / "up" / "target").iterdir()) == ["inside"]


def names_for_a_terminal(folder):
    """No failure, the first or a later one, writes what a terminal acts on."""
    odd = folder / "odd"
    odd.mkdir()
    for i in range(3):
        os.mkfifo(odd / f"{i}\x1b]0;title\x07\x1b[31m")
    said = cp("-r", odd, folder / "odd-copy", fails="not a regular file")
    assert "\x1b" not in said and "\x07" not in said, said


def names_nobody_may_read(folder):
    if os.getuid() != 0:
        return   # the unit test has it
    folder.chmod(0o777)
    closed = folder / "closed"
    closed.mkdir()
    (closed / "x").write_text("x")
    closed.chmod(0o444)
    cp("-r", closed, folder / "closed-copy", fails="closed", user=65534)


with tempfile.TemporaryDirectory(prefix="mercutio-copy-names-", dir="/tmp") as made:
    for test in (names_that_meet, names_that_lead_up, names_for_a_terminal, names_nobody_may_read):
        test(pathlib.Path(made))
print("all names are right")
