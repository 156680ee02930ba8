"""An sshd and an rsync daemon of our own behind a link, for programs that copy by them. Each is left out where it can't be had."""
import os
import pathlib
import shutil
import subprocess
import time

from world import ROOT

# The user that sshd wants, and its folder, in a mount namespace of its own.
START = """
set -e
if ! grep -q ^sshd: /etc/passwd; then
  { cat /etc/passwd; echo sshd:x:65533:65534::/run/sshd:/bin/false; } > %(folder)s/passwd
  mount --bind %(folder)s/passwd /etc/passwd
fi
mkdir -p /run/sshd
exec %(sshd)s -D -e -f %(folder)s/sshd_config
"""
CONFIG = """Port %(port)d
ListenAddress 127.0.0.1
HostKey %(folder)s/host
AuthorizedKeysFile %(folder)s/user.pub
Subsystem sftp /usr/lib/openssh/sftp-server
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
PermitRootLogin yes
"""


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_ssh(world, round_trip_ms):
    """The words that ssh needs to get there, or None."""
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:" + str(ROOT / "third_party" / "sshd" / "usr" / "sbin"))
    if not sshd or not shutil.which("ssh-keygen") or os.getuid() != 0:
        return None
    folder, port = world.folder / "ssh", free_port()
    folder.mkdir()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "sshd_config").write_text(CONFIG % dict(port=port, folder=folder))
    world.jobs.append(subprocess.Popen(["unshare", "-m", "sh", "-c", START % dict(sshd=sshd, folder=folder)], stderr=subprocess.DEVNULL))
    options = ["-i", str(folder / "user"), "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
               "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "-F", "none"]
    relay = world.relay(port, round_trip_ms)
    for _ in range(50):
        if subprocess.run(["ssh", *options, "-p", str(relay), "127.0.0.1", "true"], stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL).returncode == 0:
            return dict(options=options, port=relay)
        time.sleep(0.1)
    return None


def start_rsync(world, round_trip_ms):
    """The port of an rsync daemon whose module `data` is the export, or None."""
    if not shutil.which("rsync"):
        return None
    port, config = free_port(), world.folder / "rsyncd.conf"
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
