"""An sshd and an rsync daemon of our own behind a link, for programs that copy by them. Each is left out where it can't be had."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

from world import ROOT

sys.path.append(str(ROOT / "tests" / "remote"))
import own_sshd  # noqa: E402


def start_ssh(world, round_trip_ms):
    """The words that ssh needs to get there, or None."""
    folder = world.folder / "ssh"
    started = own_sshd.start(folder)
    if not started:
        return None
    world.jobs.append(started[0])
    return dict(options=own_sshd.options_in(folder), port=world.relay(started[1], round_trip_ms))


def start_rsync(world, round_trip_ms):
    """The port of an rsync daemon whose module `data` is the export, or None."""
    if not shutil.which("rsync"):
        return None
    port, config = own_sshd.free_port(), world.folder / "rsyncd.conf"
    config.write_text(f"use chroot = no\n[data]\npath = {world.export}\nread only = no\nuid = {os.getuid()}\ngid = {os.getgid()}\n")
    world.jobs.append(subprocess.Popen(["rsync", "--daemon", "--no-detach", f"--port={port}", f"--config={config}", "--address=127.0.0.1"]))
    time.sleep(0.5)
    return world.relay(port, round_trip_ms)


class Mounted:
    """The export by sshfs; nothing where it can't be had."""

    def __init__(self, world, ssh):
        self.at = pathlib.Path(world.folder / "sshfs")
        self.there = False
        if not ssh or not shutil.which("sshfs") or not os.path.exists("/dev/fuse"):
            return
        self.at.mkdir(exist_ok=True)
        words = ["sshfs", f"127.0.0.1:{world.export}", str(self.at), "-p", str(ssh["port"]), "-o", "ssh_command=ssh " + " ".join(ssh["options"])]
        self.there = subprocess.run(words, stderr=subprocess.DEVNULL).returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.there:
            subprocess.run(["fusermount", "-u", str(self.at)])
