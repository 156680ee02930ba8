#!/usr/bin/env python3
"""mercutio connect, cp and route as a user calls them, with mercutiod on this machine; through a real sshd where there is one.
   commands.py DIRECTORY_OF_THE_PROGRAMS [--kills N]
With --kills only copies that are killed, N each way."""
import collections
import filecmp
import os
import pathlib
import random
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
    run("cp", source, empty, "mercutio://here/data/x", fails="go into a directory")
    run("cp", source, "mercutio://here/data/nowhere/", fails="no such directory")
    run("cp", "-x", source, "mercutio://here/data/", fails="no option -x")
    os.mkfifo(folder / "fifo")
    run("cp", folder / "fifo", "mercutio://here/data/x", fails="not a regular file")
    run("cp", "/dev/zero", "mercutio://here/data/x", fails="not a regular file")
    run("cp", source, folder / "fifo", fails="not a regular file")
    run("cp", source, source, fails="same file")
    local("squeezed", "--compress", "lz4")
    assert "compress lz4" in (folder / "connections" / "squeezed").read_text()
    run("cp", source, "mercutio://squeezed/data/squeezed")
    assert filecmp.cmp(source, export / "squeezed", shallow=False)
    run("connect", "--name", "x", "--root", f"data={export}", "--via", "env", "--compress", "zip", fails="lz4 is what there is")
    run("cp", folder / "missing", "mercutio://here/data/x", fails="missing")
    run("cp", source, "mercutio://here/nothing/x", fails="exports no root")
    run("cp", source, "mercutio://nowhere/data/x", fails="mercutio connect")


def between():
    """Copies from one server to another one don't pass through here where they may."""
    local("far", "--copy-to", "*")
    local("farther")
    source = export / "from-far"
    source.write_bytes(content(20_000_003, 9))
    source.chmod(0o640)
    assert run("cp", "mercutio://far/data/from-far", "mercutio://farther/data/arrived") == ""
    assert filecmp.cmp(source, export / "arrived", shallow=False)
    assert (export / "arrived").stat().st_mode == source.stat().st_mode
    said = run("cp", "mercutio://farther/data/from-far", "mercutio://far/data/back-again")
    assert "farther can't copy to far by itself, the data goes through this machine" in said and "--copy-to" in said, said
    assert filecmp.cmp(source, export / "back-again", shallow=False)


def part_of(target):
    return target.parent / f".{target.name}.mercutio-part"


def resumes():
    source = folder / "source"
    whole = source.read_bytes()
    target = export / "part"
    part_of(target).write_bytes(whole[:17_000_000])       # two pieces of 8 MiB, and some of the third
    with open(part_of(target), "r+b") as part:
        part.seek(9_000_000)
        part.write(b"not what it should be")
    before = part_of(target).stat()
    run("cp", "--resume", source, "mercutio://here/data/part")
    assert filecmp.cmp(source, target, shallow=False)
    assert target.stat().st_ino == before.st_ino
    assert not part_of(target).exists()
    run("cp", "--resume", source, "mercutio://here/data/part")
    assert target.stat().st_ino == before.st_ino, "it is there already"


def is_interrupted(times):
    """Whenever cp is killed, the target is what it was before, or absent, or the whole copy; and --resume makes it whole."""
    source, old = folder / "interrupted", b"what was there before"
    source.write_bytes(content(20_000_003, 1))
    dice = random.Random(7)
    for way, path, name in (("there", export / "killed", "mercutio://here/data/killed"), ("back", folder / "killed", str(folder / "killed")),
                            ("between", export / "between", "mercutio://farther/data/between")):
        begin = str(source)
        if way != "there":
            shutil.copy(source, export / "begin")
            begin = f"mercutio://{'here' if way == 'back' else 'far'}/data/begin"
        run("cp", begin, name)
        latest = 0.2   # seconds; as a busy machine is now slow and now quick, it follows what happens: a third of the copies are whole
        outcomes = collections.Counter()
        for i in range(times):
            path.unlink()
            if dice.random() < 0.5:
                path.write_bytes(old)
            before = "old" if path.exists() else "absent"
            copy = subprocess.Popen([mercutio, "cp", begin, name], env=environment, stderr=subprocess.DEVNULL)
            time.sleep(dice.uniform(0, latest))
            copy.kill()
            copy.wait()
            began = part_of(path).exists()
            if not path.exists():
                outcome = "absent"
            elif path.read_bytes() == old:
                outcome = "old"
            else:
                outcome = "whole" if filecmp.cmp(source, path, shallow=False) else "wrong"
            assert outcome in (before, "whole"), (way, i, before, outcome)
            latest *= 0.8 if outcome == "whole" else 1.1
            outcomes[outcome + (", a part beside it" if began else "")] += 1
            run("cp", "--resume", begin, name)
            assert filecmp.cmp(source, path, shallow=False), (way, i, "the resumed copy differs")
            assert not part_of(path).exists()
        print(f"{times} copies killed on their way {way}:", ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items())),
              "; all resumed copies are identical")


def keeps_what_a_file_is():
    tree = folder / "tree"
    (tree / "deep" / "er").mkdir(parents=True)
    private = tree / "private"
    private.write_bytes(b"secret")
    private.chmod(0o600)
    program = tree / "deep" / "program"
    program.write_bytes(content(400_000, 3))
    program.chmod(0o750)
    for i in range(150):
        (tree / "deep" / "er" / f"{i}.nc").write_bytes(content(10_000 + i, i))
    (tree / "deep" / "link").symlink_to("program")
    sparse = tree / "sparse"
    with open(sparse, "wb") as file:
        file.truncate(60_000_000)
        file.seek(30_000_000)
        file.write(b"in the middle")
    for path in tree.rglob("*"):
        if path.is_file():
            os.utime(path, (1_577_836_800, 1_577_836_800))

    def same(one, other):
        assert one.is_file() and filecmp.cmp(one, other, shallow=False), other
        assert one.stat().st_mode == other.stat().st_mode, other
        assert one.stat().st_mtime_ns == other.stat().st_mtime_ns, other

    def check(copied):
        names = {path.relative_to(tree) for path in tree.rglob("*")}
        assert {path.relative_to(copied) for path in copied.rglob("*")} == names
        for name in names:
            if (tree / name).is_file():
                same(tree / name, copied / name)
        assert (copied / "sparse").stat().st_blocks * 512 < 4_000_000 or sparse.stat().st_blocks * 512 > 4_000_000, "holes stay holes"

    run("cp", tree, "mercutio://here/data/", fails="-r copies it")
    run("cp", "-r", tree, "mercutio://here/data/")
    check(export / "tree")
    run("cp", "-r", "mercutio://here/data/tree", folder / "tree-back")
    check(folder / "tree-back")
    run("cp", "-r", "mercutio://here/data/tree", "mercutio://here/data/tree-there")
    check(export / "tree-there")
    (folder / "some").mkdir()
    run("cp", "mercutio://here/data/tree/*/er/1?.nc", folder / "some")
    assert sorted(path.name for path in (folder / "some").iterdir()) == [f"1{i}.nc" for i in range(10)]
    run("cp", "mercutio://here/data/tree/*.zip", folder / "some", fails="nothing there has such a name")
    (tree / "deep" / "er" / "7.nc").chmod(0)
    if os.getuid() != 0:
        run("cp", "-r", tree, folder / "some", fails="7.nc")
    assert not list(export.rglob(".*mercutio*")), "nothing is left of a copy"


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
    while not part_of(export / "long").exists() and copy.poll() is None:
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


def ends(pids, seconds=5):
    for _ in range(20 * seconds):
        if not pids & processes():
            return True
        time.sleep(0.05)
    return False


def lives_on():
    """What can be done with a connection, and how it ends."""
    before = processes()
    local("life")
    first = processes() - before
    assert len(first) == 1, first
    local("life")   # in place of the former
    assert ends(first)
    second = processes() - before
    assert len(second) == 1, second
    assert "mercutio://life" in run("connections") and "answers, exports data" in run("connections", "life")
    run("mkdir", "-p", "mercutio://life/data/a/b/c")
    run("mkdir", "mercutio://life/data/a", fails="exists")
    (export / "a" / "x.nc").write_bytes(b"12345")
    assert run("ls", "mercutio://life/data/a").split() == ["b/", "x.nc"]
    assert run("ls", "mercutio://life").split() == ["data/"]
    assert " 5 " in run("ls", "-l", "mercutio://life/data/a/x.nc")
    assert "5 bytes" in run("stat", "mercutio://life/data/a/x.nc")
    run("mv", "mercutio://life/data/a/x.nc", "mercutio://life/data/a/b")
    assert (export / "a" / "b" / "x.nc").read_bytes() == b"12345"
    (export / "a" / "y.nc").write_bytes(b"y")
    run("mv", "-n", "mercutio://life/data/a/y.nc", "mercutio://life/data/a/b/x.nc", fails="exists")
    (export / "out").mkdir()
    (export / "out" / "kept").write_bytes(b"kept")
    (export / "a" / "to-out").symlink_to(export / "out")
    run("rm", "mercutio://life/data/a", fails="-r removes it")
    run("rm", "-r", "mercutio://life/data/a")
    assert not (export / "a").exists() and (export / "out" / "kept").exists()
    run("ls", "mercutio://life/data/a", fails="No such file")

    # A server that can't be used doesn't stay.
    (folder / "none.key").write_text("0" * 64 + "\n")
    (folder / "none.key").chmod(0o600)
    port = free_port()
    known = processes()
    run("connect", "--name", "unreached", "--root", f"data={export}:rw", "--via", "env", "--daemon", programs / "mercutiod", "--router",
        f"127.0.0.1:{port}={folder}/none.key", fails="unreached")
    assert ends(processes() - known)
    run("connect", "--name", "../x", "--root", f"data={export}:rw", "--via", "env", "--daemon", programs / "mercutiod", fails="can't be a host's name")
    assert processes() == known

    # Nor does it cost the connection that there was.
    run("connect", "--name", "life", "--root", f"data={export}:rw", "--via", "env", "--daemon", programs / "mercutiod", "--router",
        f"127.0.0.1:{port}={folder}/none.key", fails="life")
    time.sleep(0.5)   # in which one that was told to end is gone
    assert second <= processes() and "answers, exports data" in run("connections", "life")
    fixed = free_port()
    for _ in range(2):   # a port passes from the former server to the next
        local("fixed", "--listen", f"127.0.0.1:{fixed}")
    assert "answers, exports data" in run("connections", "fixed")
    run("disconnect", "fixed")

    # It ends by itself: the process that has the number it gives may be another one.
    bystander = subprocess.Popen(["sleep", "1000"])
    servers.append(bystander)
    other_number = folder / "other-number"
    other_number.write_text(f'#!/bin/sh\n{programs}/mercutiod "$@" | sed -u "s/ [0-9]*$/ {bystander.pid}/"\n')
    other_number.chmod(0o755)
    known = processes()
    run("connect", "--name", "unreached", "--root", f"data={export}:rw", "--via", "env", "--daemon", other_number, "--router",
        f"127.0.0.1:{port}={folder}/none.key", fails="unreached")
    assert ends(processes() - known)
    assert bystander.poll() is None, "a process that connect did not start"

    # So do those that a launcher has started; others stay.
    launcher = folder / "launcher"
    launcher.write_text('#!/bin/sh\ntrap \'kill $ranks\' TERM\nn=$2; shift 2\nfor i in $(seq $n); do "$@" & ranks="$ranks $!"; done; wait\n')
    launcher.chmod(0o755)
    run("connect", "--name", "several", "--root", f"data={export}:rw", "--via", "env", "--daemon", programs / "mercutiod", "--launcher", launcher, "--servers", "3",
        "--router", f"127.0.0.1:{port}={folder}/none.key", fails="several")
    assert ends(processes() - known)
    local("several", "--launcher", str(launcher), "--servers", "3")
    several = processes() - known
    assert len(several) == 3 and run("connections", "several").count("answers, exports data") == 3
    several_of_one_connection(several)
    run("disconnect", "--force", "several")
    assert ends(several)

    # Servers that don't answer are waited for at the same time; connect that is killed leaves no server.
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        at = silent.getsockname()
        (folder / "connections" / "silent").write_text(f"host silent\nkey {'0' * 64}\n" + f"server 127.0.0.1 {at[1]}\n" * 8)
        (folder / "connections" / "silent").chmod(0o600)
        begin = time.monotonic()
        run("disconnect", "silent")
        assert time.monotonic() - begin < 12, "eight servers, 3 s each"
        (folder / "connections" / "silent").write_text(f"host silent\nkey {'0' * 64}\n" + f"server 127.0.0.1 {at[1]}\n" * 8)
        (folder / "connections" / "silent").chmod(0o600)
        begin = time.monotonic()
        assert run("connections", "silent", "life").count("\n  127.0.0.1 port") == 9
        assert time.monotonic() - begin < 12, "eight servers, 3 s each"
        run("disconnect", "--keep", "silent")
        trying = subprocess.Popen([mercutio, "connect", "--name", "unreached", "--root", f"data={export}:rw", "--via", "env", "--daemon",
                                   programs / "mercutiod", "--router", f"127.0.0.1:{at[1]}={folder}/none.key"], env=environment, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if processes() - known:
                break
            time.sleep(0.05)
        assert processes() - known
        trying.kill()
        trying.wait()
        assert ends(processes() - known)

    # Of several ports the first that is free.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        low = taken.getsockname()[1]
        local("ports", "--listen", f"127.0.0.1:{low}-{low + 20}")
        at = int((folder / "connections" / "ports").read_text().split("server 127.0.0.1 ")[1].split()[0])
        assert low < at <= low + 20, (low, at)
        assert "does not answer" not in run("connections", "ports")

    # Another way to call ssh.
    (folder / "odd-ssh").write_text('#!/bin/sh\n[ "$1 $2 $3 $4" = "-p 2222 -- far" ] || exit 9\nSSH_CONNECTION="127.0.0.1 1 127.0.0.1 22" exec sh -c "$5"\n')
    (folder / "odd-ssh").chmod(0o755)
    connect("called", "--ssh", f"{folder}/odd-ssh -p 2222", "far")

    known = processes()
    local("short", "--expires", "1")
    assert ends(processes() - known, 20), "a server ends when its key has expired"

    run("disconnect", "life")
    assert ends(second) and not (folder / "connections" / "life").exists()
    run("disconnect", "life", fails="no connection to 'life'")
    run("disconnect", "ports", "called")


def several_of_one_connection(several):
    """Programs spread over the servers of a connection by their process numbers."""
    source, target = folder / "spread", export / "spread"
    source.write_bytes(content(120_000_000, 5))
    for _ in range(20):
        copy = subprocess.Popen([mercutio, "cp", source, "mercutio://several/data/spread"], env=environment, stderr=subprocess.DEVNULL)
        while not part_of(target).exists() and copy.poll() is None:
            time.sleep(0.01)
        copy.send_signal(signal.SIGSTOP)
        run("disconnect", "several", fails="programs use")
        time.sleep(0.3)
        assert several <= processes(), "none ends where one is used"
        copy.kill()
        copy.wait()
        begin = time.monotonic()
        again = subprocess.Popen([mercutio, "cp", "--resume", source, "mercutio://several/data/spread"], env=environment, stderr=subprocess.PIPE, text=True)
        _, errors = again.communicate(timeout=60)
        assert again.returncode == 0, errors
        assert time.monotonic() - begin < 20 and filecmp.cmp(source, target, shallow=False)
        target.unlink()
        if copy.pid % len(several) != again.pid % len(several):
            return
    raise AssertionError("both copies went to the same server each time")


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
    known = processes()
    connect("forwarded", "--forward", "127.0.0.1")
    server = (processes() - known).pop()
    source = folder / "source"
    run("cp", source, "mercutio://forwarded/data/through-ssh")
    assert filecmp.cmp(source, export / "through-ssh", shallow=False)
    way = f"/proc/{server}/stat"
    assert runs(way), "ssh carries data as long as the server lives"
    os.kill(server, signal.SIGTERM)
    assert ends({server})
    if not takes_number(server):
        print("no process can be given a number here: a number that is used again is not tested")
    for _ in range(200):
        if not runs(way):
            return
        time.sleep(0.05)
    raise AssertionError("ssh waits for another process with the number of its server")


try:
    if sys.argv[2:3] == ["--kills"]:
        local("here")
        local("far", "--copy-to", "*")
        local("farther")
        is_interrupted(int(sys.argv[3]))
        sys.exit(0)
    copies()
    between()
    resumes()
    is_interrupted(4)
    keeps_what_a_file_is()
    routes()
    survives_shortage()
    quotes()
    lives_on()
    forwards()
    print("all copies are right")
finally:
    for server in servers:
        server.kill()
        server.wait()
    for pid in processes():   # they went to the background
        os.kill(pid, signal.SIGTERM)
    shutil.rmtree(folder, ignore_errors=True)
