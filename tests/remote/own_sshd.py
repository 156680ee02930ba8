"""An sshd of our own on this machine, for tests and bench/: the system's, or the one that scripts/setup.sh has unpacked. Nothing of it stays."""
import os
import pathlib
import shutil
import socket
import subprocess
import time

UNPACKED = pathlib.Path(__file__).resolve().parents[2] / "third_party" / "sshd" / "usr" / "sbin"
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
Subsystem sftp internal-sftp
StrictModes no
UsePAM no
PidFile none
PasswordAuthentication no
PermitRootLogin yes
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def options_in(folder):
    """What ssh needs beside the port."""
    return ["-i", str(folder / "user"), "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
            "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "-F", "none"]


def start(folder):
    """The process and its port, with keys in this fresh folder; None where it can't be had."""
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin:" + str(UNPACKED))
    if not sshd or not shutil.which("ssh") or not shutil.which("ssh-keygen") or os.getuid() != 0:
        return None
    folder.mkdir()
    port = free_port()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "sshd_config").write_text(CONFIG % dict(port=port, folder=folder))
    job = subprocess.Popen(["unshare", "-m", "sh", "-c", START % dict(sshd=sshd, folder=folder)], stderr=subprocess.DEVNULL)
    for _ in range(100):
        if subprocess.run(["ssh", *options_in(folder), "-p", str(port), "127.0.0.1", "true"], stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL).returncode == 0:
            return job, port
        if job.poll() is not None:
            break
        time.sleep(0.1)
    job.kill()
    job.wait()
    return None
