"""A Linux kernel of its own in an ordinary process: user-mode Linux, as Debian packages it (user-mode-linux).

It has what the machine's kernel may lack: NFS, CephFS, quotas. It sees the machine's files; what it writes is gone with it, but for one
folder. It has one processor, and a nap takes a millisecond at least.
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = "linux.uml"


def missing():
    """Why none can be started here, or None."""
    if not shutil.which(KERNEL):
        return "user-mode-linux is not installed"
    if not shutil.which("cc"):
        return "no C compiler"
    return None


def run(words, folder, seconds, memory="3G"):
    """Runs a command in one, as root, with `folder` the same on both sides, and prints what it prints. Its exit code; None if it did not end."""
    shim = os.path.join(folder, "xstate.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", shim, os.path.join(HERE, "uml", "xstate.c")], check=True)
    with open(os.path.join(folder, "command"), "w") as command:
        command.write("cd %s\nexec %s\n" % (shlex.quote(os.getcwd()), shlex.join(words)))
    home = tempfile.mkdtemp(prefix="mercutio-uml-", dir="/dev/shm")   # the kernel's memory is a file there
    kernel = [KERNEL, "mem=" + memory, "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", "init=" + os.path.join(HERE, "uml", "init.sh"),
              "mercutio_folder=" + folder, "con=null", "con0=null,fd:1", "umid=" + os.path.basename(home)]
    output = os.path.join(folder, "output")
    open(output, "w").close()
    with open(os.path.join(folder, "console"), "w") as console, open(output, errors="replace") as lines:
        process = subprocess.Popen(kernel, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True,
                                   env=dict(os.environ, LD_PRELOAD=shim, TMPDIR=home, HOME=home))
        try:
            follow(process, lines, console.name, time.monotonic() + seconds)
        finally:
            stop(process)
            shutil.rmtree(home, ignore_errors=True)
    try:
        with open(os.path.join(folder, "code")) as code:
            return int(code.read())
    except (OSError, ValueError):
        return None


def follow(process, lines, console, deadline):
    while time.monotonic() < deadline:
        with open(console, errors="replace") as said:   # it has killed one of its processes, for which others would wait
            if "UML ran out of memory on the host side" in said.read():
                print("a process in user-mode Linux had too many pages: vm.max_map_count of this machine is too small, or its memory")
                return
        ended = process.poll() is not None
        for line in lines:
            sys.stdout.write(line)
        sys.stdout.flush()
        if ended:
            return
        time.sleep(0.2)


def stop(process):
    """All of its processes are of one session."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
        process.wait()
