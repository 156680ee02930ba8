"""What the tests of the commands share: the programs, a folder with an export in it, and servers on this machine."""
import contextlib
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from own_sshd import free_port  # noqa: F401

programs = pathlib.Path(sys.argv[1]).resolve()
mercutio = str(programs / "mercutio")
folder = pathlib.Path(tempfile.mkdtemp(prefix="mercutio-commands-"))
export = folder / "export"
export.mkdir()
environment = dict(os.environ, MERCUTIO_CONNECTIONS=str(folder / "connections"), HOME=str(folder))
servers = []


def run(*words, fails=None, **more):
    done = subprocess.run([mercutio, *map(str, words)], env=environment, capture_output=True, text=True, timeout=60, **more)
    text = done.stdout + done.stderr
    if fails is None:
        assert done.returncode == 0, (words, text)
    else:
        assert done.returncode != 0 and fails in text, (words, text)
    return text


def connect(name, *options, **more):
    return run("connect", "--name", name, "--root", f"data={export}:rw", "--idle", "600", "--grace", "60", "--daemon", programs / "mercutiod", *options, **more)


def keeps_nothing(command):
    """Runs what goes on in the background: it leaves alone what its starter had open, a lock for example."""
    ours, others = os.pipe()
    try:
        command(pass_fds=[others])
    finally:
        os.close(others)
    ready, _, _ = select.select([ours], [], [], 10)
    os.close(ours)
    assert ready, "a descriptor of its starter is open in the background"


def local(name, *options):
    connect(name, "--via", "env", *options)


def content(bytes_, seed):
    block = bytes((i * 7 + seed) & 255 for i in range(65537))
    return (block * (bytes_ // len(block) + 1))[:bytes_]


def part_of(target):
    return target.parent / f".{target.name}.mercutio-part"


def stopped_copy(*words, target, before):
    """A cp that is stopped while it copies to this target, where these bytes were before."""
    for _ in range(20):
        target.write_bytes(before)
        copy = subprocess.Popen([mercutio, "cp", *map(str, words)], env=environment, stderr=subprocess.PIPE, text=True)
        while not part_of(target).exists() and copy.poll() is None:
            time.sleep(0.001)
        copy.send_signal(signal.SIGSTOP)
        if copy.poll() is None:
            os.waitid(os.P_PID, copy.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if copy.poll() is None and part_of(target).exists():
            return copy
        copy.send_signal(signal.SIGCONT)
        copy.communicate(timeout=60)
    raise AssertionError(f"no copy to {target} could be stopped")


def processes():
    """The servers that export the folder of this test."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else [b""]
        except OSError:
            continue
        if words[0].endswith(b"mercutiod") and f"data={export}:rw".encode() in words:
            found.add(int(entry.name))
    return found


def ends(pids, seconds=30):
    for _ in range(20 * seconds):
        if not pids & processes():
            return True
        time.sleep(0.05)
    return False


def terminate(pids):
    """Those that are still there: a server that was told to end, or is idle, may go at any moment."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def runs(text):
    """The processes with this text in their command lines."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and text.encode() in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def takes_number(pid):
    """A process that has the number of one that has ended; None where that can't be had."""
    last = pathlib.Path("/proc/sys/kernel/ns_last_pid")
    for _ in range(200):
        try:
            last.write_text(str(pid - 1))
        except OSError:
            return None
        other = subprocess.Popen(["sleep", "1000"])
        servers.append(other)
        if other.pid == pid:
            return other
        other.kill()
        other.wait()
        servers.remove(other)
    return None


@contextlib.contextmanager
def world():
    """Nothing of the servers and the folder stays."""
    try:
        yield
    finally:
        for server in servers:
            server.kill()
            server.wait()
        terminate(processes())   # they went to the background
        shutil.rmtree(folder, ignore_errors=True)
