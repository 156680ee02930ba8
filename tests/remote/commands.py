#!/usr/bin/env python3
"""mercutio cp and route as a user calls them, with mercutiod on this machine.
   commands.py DIRECTORY_OF_THE_PROGRAMS [--kills N]
With --kills only copies that are killed, N each way."""
import collections
import filecmp
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "round_trips"))
from round_trips import Relay

from command_world import connect, content, environment, export, folder, local, mercutio, part_of, programs, run, servers, stopped_copy, world


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
    run("cp", source, "mercutio://here/data/nowhere/", fails="data/nowhere/: ")
    run("cp", source, "mercutio://here", fails="it has: data")
    run("cp", source, "mercutio://here/scratch/me/", fails="no root 'scratch'; it has: data")
    run("cp", source, "mercutio://here/scratch", fails="no root 'scratch'; it has: data")
    for near in ("mercutio:/here/data/x", "Mercutio://here/data/x"):
        run("cp", source, near, fails="remote names begin with mercutio://")
        run("rm", near, fails="remote names begin with mercutio://")
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


def changes_meanwhile():
    """A source that is changed during its copy: an error, and the target stays what it was; then --resume makes the copy whole."""
    size = 80_000_000
    for source, name, target, of in ((folder / "changing", str(folder / "changing"), export / "changed", "mercutio://here/data/changed"),
                                     (export / "changing", "mercutio://here/data/changing", folder / "changed", str(folder / "changed")),
                                     (export / "changing", "mercutio://far/data/changing", export / "changed", "mercutio://farther/data/changed")):
        for resume in ([], ["--resume"]):
            source.write_bytes(content(size, 2))
            copy = stopped_copy(*resume, name, of, target=target, before=b"before")
            with open(source, "r+b") as file:
                file.seek(size - 10)
                file.write(b"other")
            copy.send_signal(signal.SIGCONT)
            _, errors = copy.communicate(timeout=60)
            assert copy.returncode == 1 and f"{name} to {of}: " in errors and "changed while it was copied" in errors, (copy.returncode, errors)
            assert target.read_bytes() == b"before"
            run("cp", "--resume", name, of)
            assert filecmp.cmp(source, target, shallow=False)
        source.unlink()
        target.unlink()


def failures_name_files():
    source = folder / "source"
    said = run("cp", source, "mercutio://here/data/nowhere/x", fails=f"{source} to mercutio://here/data/nowhere/x: open: No such file")
    assert "MPI_MODE" not in said, said
    run("cp", source, folder / "nowhere" / "x", fails=f"{source} to {folder}/nowhere/x: open: No such file")


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
    shut = tree / "shut"
    shut.mkdir()
    (shut / "inside").write_bytes(b"x")
    os.utime(shut / "inside", (1_577_836_800, 1_577_836_800))
    shut.chmod(0o550)   # nobody can write to it afterwards
    for path in (shut, tree / "deep" / "er", tree / "deep", tree):
        os.utime(path, (1_400_000_000, 1_400_000_000))
    shared = tree / "shared"
    shared.mkdir()
    shared.chmod(0o1777)   # what is in it belongs to whoever made it
    os.utime(shared, (0, 0))
    os.utime(tree, (1_400_000_000, 1_400_000_000))
    os.utime(program, ns=(0, -43_199_750_000_000))   # a quarter of a second after noon of the last day of 1969
    os.utime(private, ns=(0, -43_199_750_000_000))

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
            else:
                assert (tree / name).stat().st_mode == (copied / name).stat().st_mode, name
                assert (tree / name).stat().st_mtime_ns == (copied / name).stat().st_mtime_ns, name
        assert (copied / "sparse").stat().st_blocks * 512 < 4_000_000 or sparse.stat().st_blocks * 512 > 4_000_000, "holes stay holes"

    run("cp", tree, "mercutio://here/data/", fails="-r copies it")
    run("cp", "-r", tree, "mercutio://here/data/")
    check(export / "tree")
    run("cp", "-r", "mercutio://here/data/tree", folder / "tree-back")
    check(folder / "tree-back")
    run("cp", "-r", "mercutio://here/data/tree", "mercutio://here/data/tree-there")
    check(export / "tree-there")
    for group in (export / "group", folder / "group"):   # in a directory of a group, new ones are of that group, too
        group.mkdir()
        group.chmod(0o2775)
        name = f"mercutio://here/data/{group.name}" if group.parent == export else group
        run("cp", "-r", shut, name)
        assert (group / "shut").stat().st_mode & 0o7777 == 0o2550, group
    half = folder / "half"
    half.mkdir()
    os.mkfifo(half / "fifo")
    half.chmod(0o550)
    for again in export / "again", folder / "again":   # so that it can be tried again
        name = f"mercutio://here/data/{again.name}" if again.parent == export else again
        run("cp", "-r", half, name, fails="not a regular file")
        assert again.stat().st_mode & 0o7777 == 0o750, again
    itself = "a directory is not copied into itself"
    for names in ((tree, tree / "inside"), (tree, tree), ("mercutio://here/data/tree", "mercutio://here/data/tree/inside"), ("mercutio://here/data/tree/", "mercutio://here/data/tree/deep")):
        run("cp", "-r", *names, fails=itself)
    assert not (tree / "inside").exists() and not (export / "tree" / "inside").exists() and not (export / "tree" / "deep" / "tree").exists()
    (folder / "some").mkdir()
    run("cp", "mercutio://here/data/tree/*/er/1?.nc", folder / "some")
    assert sorted(path.name for path in (folder / "some").iterdir()) == [f"1{i}.nc" for i in range(10)]
    run("cp", "mercutio://here/data/tree/*.zip", folder / "some", fails="nothing there has such a name")
    (tree / "deep" / "er" / "7.nc").chmod(0)
    if os.getuid() != 0:
        run("cp", "-r", tree, folder / "some", fails="7.nc")
    assert not list(export.rglob(".*mercutio*")), "nothing is left of a copy"


def leads_nowhere_else():
    """A link in the place of a directory below the target is not followed; the target that is named may be one."""
    tree = folder / "linked"
    (tree / "sub" / "deep").mkdir(parents=True)
    for name in ("x", "sub/x", "sub/deep/x"):
        (tree / name).write_bytes(b"copied")
    for parent, name in ((export, "mercutio://here/data/by-link"), (folder, str(folder / "by-link"))):
        (parent / "elsewhere").mkdir()
        (parent / "into" / "linked").mkdir(parents=True)
        (parent / "into" / "linked" / "sub").symlink_to("../../elsewhere")
        (parent / "by-link").symlink_to("into")
        run("cp", "-r", tree, name, fails="linked/sub: is there already")
        assert not list((parent / "elsewhere").iterdir())
        assert (parent / "into" / "linked" / "x").read_bytes() == b"copied"
        run("cp", "-r", tree / "sub", name)
        assert (parent / "into" / "sub" / "deep" / "x").read_bytes() == b"copied"


def removes_many():
    """A thousand files over 100 ms: they do not take a round trip each, which the time limit of a command would not allow."""
    local("slow")
    file = folder / "connections" / "slow"
    port = re.search(r"^server \S+ (\d+)$", file.read_text(), re.M)[1]
    relay = Relay(int(port), 0.05)
    file.write_text(file.read_text().replace(f" {port}\n", f" {relay.port}\n"))
    many = export / "many"
    (many / "deep").mkdir(parents=True)
    for i in range(1000):
        (many / "deep" / f"{i}").touch()
    run("rm", "-r", "mercutio://slow/data/many")
    assert not many.exists()
    for i in range(10):
        (many / f"fits{i}").mkdir(parents=True)
    for i in range(2000):
        (many / f"{i:0100}").touch()
    # One that becomes a link after the directory above it was listed.
    for name in ("kept", "top/a", "top/b", "top/c", "top/sub"):
        (export / "race" / name).mkdir(parents=True)
    (export / "race" / "kept" / "x").touch()
    removing = subprocess.Popen([mercutio, "rm", "-r", "mercutio://slow/data/race/top"], env=environment, stderr=subprocess.PIPE, text=True)
    while (export / "race" / "top" / "a").exists() and removing.poll() is None:
        time.sleep(0.001)
    (export / "race" / "top" / "sub").rmdir()
    (export / "race" / "top" / "sub").symlink_to("../kept")
    said = removing.communicate(timeout=60)[1]
    assert removing.returncode == 1 and "top/sub: " in said, said
    assert (export / "race" / "kept" / "x").exists()
    run("rm", "-r", "mercutio://slow/data/race/top")
    assert (export / "race" / "kept" / "x").exists()
    before = relay.bytes
    run("rm", "-r", "mercutio://slow/data/many/fits*")
    assert len(list(many.iterdir())) == 2000 and relay.bytes - before < 1_000_000, "the directory is listed once"


def start_router(port):
    """Somebody else may have a port for a moment that was given back."""
    for _ in range(50):
        router = subprocess.Popen([mercutio, "route", "--listen", f"127.0.0.1:{port}", "--to", "127.0.0.1:*", "--key-file", folder / "route.key"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
        line = router.stdout.readline().split()
        if line[:1] == ["mercutio-route"]:
            threading.Thread(target=router.stderr.read, daemon=True).start()
            servers.append(router)
            return router, int(line[3])
        said = router.communicate(timeout=60)[1]
        assert port != 0 and "in use" in said, said
        time.sleep(0.2)
    raise AssertionError(f"port {port} stays in use")


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
    run("disconnect", "routed", fails="could not be told to end, and may run on until it is idle")
    router, port = start_router(port)
    run("disconnect", "routed")
    router.kill()
    router.wait()


def survives_shortage():
    """Without threads or descriptors to be had, silent peers without a key end neither program."""
    if os.getuid() != 0 or not shutil.which("setpriv") or not shutil.which("prlimit"):
        print("not root here: limits of an account are not tested")
        return
    away = pathlib.Path(tempfile.mkdtemp(prefix="mercutio-shortage-", dir="/tmp"))
    away.chmod(0o777)
    key = away / "key"
    key.write_text("0" * 64 + "\n")
    account = str(20_000 + os.getpid() % 40_000)   # --nproc counts all processes of an account: this run's only
    shutil.chown(key, int(account), int(account))
    key.chmod(0o600)
    for name in ("mercutiod", "mercutio-route"):
        shutil.copy(programs / name, away / name)
    limited = ["setpriv", "--reuid=" + account, "--regid=" + account, "--clear-groups", "prlimit", "--nproc=12", "--nofile=64:64"]
    listen = ["--listen", "127.0.0.1:0", "--key-file", key]
    try:
        for words in ([away / "mercutiod", *listen, "--root", f"data={away}"], [away / "mercutio-route", *listen, "--to", "127.0.0.1:*"]):
            program = subprocess.Popen([*limited, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            servers.append(program)
            said = program.stdout.readline().split()
            assert len(said) > 3, f"{words[0]} did not start, but said {said}"
            port = int(said[3])
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


with world():
    if sys.argv[2:3] == ["--kills"]:
        local("here")
        local("far", "--copy-to", "*")
        local("farther")
        is_interrupted(int(sys.argv[3]))
        sys.exit(0)
    copies()
    between()
    changes_meanwhile()
    failures_name_files()
    resumes()
    is_interrupted(4)
    keeps_what_a_file_is()
    leads_nowhere_else()
    removes_many()
    routes()
    survives_shortage()
    quotes()
    print("all copies are right")
