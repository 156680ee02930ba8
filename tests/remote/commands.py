#!/usr/bin/env python3
"""mercutio connect, cp and route as a user calls them, with mercutiod on this machine; through a real sshd where there is one.
   commands.py DIRECTORY_OF_THE_PROGRAMS"""
import filecmp
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

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
    run("connect", "--name", name, "--root", f"data={export}:rw", "--idle", "60", "--grace", "60", "--daemon", programs / "mercutiod", *options, **more)


def local(name, *options):
    connect(name, "--via", "env", *options)


def content(bytes_, seed):
    block = bytes((i * 7 + seed) & 255 for i in range(65537))
    return (block * (bytes_ // len(block) + 1))[:bytes_]


def copies():
    local("here")
    source = folder / "source"
    source.write_bytes(content(20_000_003, 1))
    assert run("cp", source, "mercutio://here/data/there") == "", "no progress bar without a terminal"
    assert filecmp.cmp(source, export / "there", shallow=False)
    (folder / "back").mkdir()
    run("cp", "--parallel", "2", "mercutio://here/data/there", folder / "back")
    assert filecmp.cmp(source, folder / "back" / "there", shallow=False)
    run("cp", "mercutio://here/data/there", "mercutio://here/data/third")
    assert filecmp.cmp(source, export / "third", shallow=False)
    empty = folder / "empty"
    empty.write_bytes(b"")
    run("cp", empty, "mercutio://here/data/third")
    assert (export / "third").stat().st_size == 0, "what is longer is cut"
    run("cp", source, empty, "mercutio://here/data/", fails=None)
    run("cp", source, empty, "mercutio://here/data/x", fails="slash")
    run("cp", source, source, fails="same file")
    local("squeezed", "--compress", "lz4")
    assert "compress lz4" in (folder / "connections" / "squeezed").read_text()
    run("cp", source, "mercutio://squeezed/data/squeezed")
    assert filecmp.cmp(source, export / "squeezed", shallow=False)
    run("connect", "--name", "x", "--root", f"data={export}", "--via", "env", "--compress", "zip", fails="lz4 is what there is")
    run("cp", folder / "missing", "mercutio://here/data/x", fails="missing")
    run("cp", source, "mercutio://here/nothing/x", fails="exports no root")
    run("cp", source, "mercutio://nowhere/data/x", fails="mercutio connect")


def resumes():
    source = folder / "source"
    whole = source.read_bytes()
    (export / "part").write_bytes(whole[:17_000_000])       # two pieces of 8 MiB, and some of the third
    with open(export / "part", "r+b") as part:
        part.seek(9_000_000)
        part.write(b"not what it should be")
    before = (export / "part").stat()
    run("cp", "--resume", source, "mercutio://here/data/part")
    assert filecmp.cmp(source, export / "part", shallow=False)
    assert (export / "part").stat().st_ino == before.st_ino


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_router(port):
    router = subprocess.Popen([mercutio, "route", "--listen", f"127.0.0.1:{port}", "--to", "127.0.0.1:*", "--key-file", folder / "route.key"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True)
    line = router.stdout.readline().split()
    assert line[:1] == ["mercutio-route"], line
    servers.append(router)
    return router, int(line[3])


def routes():
    router, port = start_router(0)
    assert (folder / "route.key").stat().st_mode & 0o77 == 0
    local("routed", "--router", f"127.0.0.1:{port}={folder}/route.key")
    assert f"via 127.0.0.1 {port} " in (folder / "connections" / "routed").read_text()
    source = folder / "long"
    source.write_bytes(content(120_000_000, 5))
    copy = subprocess.Popen([mercutio, "cp", source, "mercutio://routed/data/long"], env=environment, stderr=subprocess.PIPE, text=True)
    while not (export / "long").exists() and copy.poll() is None:   # a first connection that fails is not tried again
        time.sleep(0.01)
    for _ in range(2):
        time.sleep(0.1)
        router.send_signal(signal.SIGKILL)
        router.wait()
        router, port = start_router(port)
    _, errors = copy.communicate(timeout=60)
    assert copy.returncode == 0, errors
    assert filecmp.cmp(source, export / "long", shallow=False)
    (folder / "other.key").write_text("0" * 64 + "\n")
    (folder / "other.key").chmod(0o600)
    run("connect", "--name", "wrong", "--root", f"data={export}:rw", "--via", "env", "--idle", "5", "--daemon", programs / "mercutiod", "--router",
        f"127.0.0.1:{port}={folder}/other.key", fails="has another key")
    (folder / "other.key").chmod(0o644)
    run("connect", "--name", "wrong", "--root", f"data={export}", "--via", "env", "--daemon", programs / "mercutiod", "--router",
        f"127.0.0.1:{port}={folder}/other.key", fails="chmod 600")
    router.kill()
    router.wait()
    run("cp", source, "mercutio://routed/data/x", fails="can't be made")


def survives_shortage():
    """Without threads or descriptors to be had, silent peers without a key end neither program."""
    if os.getuid() != 0 or not shutil.which("setpriv") or not shutil.which("prlimit"):
        print("not root here: limits of an account are not tested")
        return
    away = pathlib.Path(tempfile.mkdtemp(prefix="mercutio-shortage-", dir="/tmp"))
    away.chmod(0o777)
    key = away / "key"
    key.write_text("0" * 64 + "\n")
    shutil.chown(key, 54321, 54321)
    key.chmod(0o600)
    for name in ("mercutiod", "mercutio-route"):
        shutil.copy(programs / name, away / name)
    limited = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "prlimit", "--nproc=12", "--nofile=64:64"]
    listen = ["--listen", "127.0.0.1:0", "--key-file", key]
    try:
        for words in ([away / "mercutiod", *listen, "--root", f"data={away}"], [away / "mercutio-route", *listen, "--to", "127.0.0.1:*"]):
            program = subprocess.Popen([*limited, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            servers.append(program)
            port = int(program.stdout.readline().split()[3])
            peers = []
            for byte in (b"", b"\x16", b"m") * 40:
                peer = socket.create_connection(("127.0.0.1", port), timeout=5)
                peer.sendall(byte)
                peers.append(peer)
            time.sleep(0.5)
            assert program.poll() is None, f"{words[0]} ended"
            for peer in peers:
                peer.close()
            program.terminate()
            assert program.wait(timeout=10) == 0
            servers.remove(program)
    finally:
        shutil.rmtree(away, ignore_errors=True)


def quotes():
    """What ssh hands to a shell arrives as it was said, through --via, too."""
    fake = folder / "fake"
    fake.mkdir()
    (fake / "ssh").write_text('#!/bin/sh\nshift\nSSH_CONNECTION="127.0.0.1 1 127.0.0.1 22" exec sh -c "$*"\n')
    (fake / "ssh").chmod(0o755)
    odd = folder / "a b$(touch PWNED)"
    odd.mkdir()
    (odd / "x").write_text("x")
    for via in (f"{fake}/ssh far", f"{fake}/ssh gateway {fake}/ssh far"):
        run("connect", "--name", "odd", "--root", f"data={odd}:rw", "--idle", "5", "--daemon", programs / "mercutiod", "--via", via, cwd=folder)
        run("cp", "mercutio://odd/data/x", folder / "odd-x")
        assert (folder / "odd-x").read_text() == "x"
        (folder / "odd-x").unlink()
    assert not (folder / "PWNED").exists()


def forwards():
    sshd = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if not sshd or not shutil.which("ssh"):
        print("no sshd here: --forward is not tested")
        return
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    port = free_port()
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
        f"PidFile none\nPasswordAuthentication no\nPermitRootLogin yes\n")
    pathlib.Path("/run/sshd").mkdir(exist_ok=True) if os.getuid() == 0 else None
    servers.append(subprocess.Popen([sshd, "-D", "-e", "-f", folder / "sshd_config"], stderr=subprocess.DEVNULL))
    real = shutil.which("ssh")
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "ssh").write_text(f"#!/bin/sh\nexec {real} -p {port} -i {folder}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile={folder}/known "
                                  f'-o LogLevel=ERROR -F none "$@"\n')
    (binaries / "ssh").chmod(0o755)
    environment["PATH"] = f"{binaries}:{environment['PATH']}"
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    connect("forwarded", "--forward", "127.0.0.1")
    source = folder / "source"
    run("cp", source, "mercutio://forwarded/data/through-ssh")
    assert filecmp.cmp(source, export / "through-ssh", shallow=False)


try:
    copies()
    resumes()
    routes()
    survives_shortage()
    quotes()
    forwards()
    print("all copies are right")
finally:
    for server in servers:
        server.kill()
        server.wait()
    for entry in pathlib.Path("/proc").iterdir():   # mercutiod went to the background
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"mercutiod") and f"data={export}:rw".encode() in words:
            os.kill(int(entry.name), signal.SIGTERM)
    shutil.rmtree(folder, ignore_errors=True)
