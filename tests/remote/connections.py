#!/usr/bin/env python3
"""What can be done with connections, and how they end, with mercutiod on this machine; through a real sshd where there is one.
   connections.py DIRECTORY_OF_THE_PROGRAMS"""
import fcntl
import filecmp
import os
import resource
import signal
import socket
import subprocess
import time

import own_sshd
from command_world import (connect, content, ends, environment, export, folder, free_port, keeps_nothing, local, mercutio, processes,
                           programs, run, runs, servers, stopped_copy, takes_number, terminate, world)


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
    for words in (["ls", "-l", "mercutio://life/data/a"], ["stat", "mercutio://life/data/a"], ["connections"], ["ls", "--help"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([mercutio, *words], env=environment, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 1 and "the output could not be written: No space left" in done.stderr, (words, done)
    run("mv", "mercutio://life/data/a/x.nc", "mercutio://life/data/a/b")
    assert (export / "a" / "b" / "x.nc").read_bytes() == b"12345"
    (export / "a" / "y.nc").write_bytes(b"y")
    run("mv", "-n", "mercutio://life/data/a/y.nc", "mercutio://life/data/a/b/x.nc", fails="exists")
    (export / "a" / "x.nc").write_bytes(b"of a")
    run("mv", "mercutio://life/data/a/b/x.nc", "mercutio://life/data/a/x.nc", "mercutio://life/data/a/b/c", fails="two of the names end in x.nc")
    run("mv", "mercutio://life/data/a/*/x.nc", "mercutio://life/data/a/x.nc", "mercutio://life/data/a/b/c", fails="nothing was moved")
    assert (export / "a" / "b" / "x.nc").read_bytes() == b"12345" and (export / "a" / "x.nc").read_bytes() == b"of a"
    for name in ("p[1]", "p1", "p2"):
        (export / "a" / name).mkdir()
        (export / "a" / name / "f").touch()
    run("rm", "mercutio://life/data/a/p[1]/?")   # what has such a name is meant before what fits it
    assert [(export / "a" / name / "f").exists() for name in ("p[1]", "p1", "p2")] == [False, True, True]
    run("rm", "-r", "mercutio://life/data/a/p[2]")
    assert not (export / "a" / "p2").exists() and (export / "a" / "p1" / "f").exists()
    for at in range(5):   # programs that make the same directories at once
        made = [subprocess.Popen([mercutio, "mkdir", "-p", f"mercutio://life/data/a/deep{at}/b/c/d/e"], env=environment, stderr=subprocess.PIPE, text=True) for _ in range(6)]
        assert [one.communicate(timeout=60)[1] for one in made] == 6 * [""]
    (export / "out").mkdir()
    (export / "out" / "kept").write_bytes(b"kept")
    (export / "a" / "to-out").symlink_to(export / "out")
    run("rm", "mercutio://life/data/a", fails="-r removes it")
    run("rm", "-r", "mercutio://life/data/a")
    assert not (export / "a").exists() and (export / "out" / "kept").exists()
    run("ls", "mercutio://life/data/a", fails="No such file")

    # A copy that fails leaves no file open there.
    (export / "left").write_bytes(content(1_000_000, 1))
    local("left")
    run("cp", "mercutio://left/data/left", folder / "nowhere" / "x", fails="No such file")
    run("disconnect", "left")

    # Roots stay. What fails for one name does not keep the others from their turn.
    (export / "root-file").write_bytes(b"kept")
    for name in ("mercutio://life/data", "mercutio://life/data/", "mercutio://life", "mercutio://life/*", "mercutio://life/data/."):
        run("rm", "-r", name, fails="is not removed")
    assert (export / "root-file").read_bytes() == b"kept"
    assert "no/root" in run("rm", "mercutio://life/data/no/root", "mercutio://life/data/root-file", fails="No such file")
    assert not (export / "root-file").exists()
    keeps_nothing(lambda **more: connect("later", "--via", "env", **more))
    run("disconnect", "nosuch", "later", "nosuch", fails="no connection to 'nosuch'")
    assert not (folder / "connections" / "later").exists()

    # A server that can't be used doesn't stay.
    (folder / "none.key").write_text("0" * 64 + "\n")
    (folder / "none.key").chmod(0o600)
    unused = socket.socket()   # nobody else gets its port, at which nobody listens
    unused.bind(("127.0.0.1", 0))
    port = unused.getsockname()[1]
    known = processes()
    run("connect", "--name", "unreached", "--root", f"data={export}:rw", "--via", "env", "--daemon", programs / "mercutiod", "--router",
        f"127.0.0.1:{port}={folder}/none.key", fails="unreached")
    assert ends(processes() - known)
    for odd in ("../x", "b k", "tab\t", "x#y"):
        run("connect", "--name", odd, "--root", f"data={export}:rw", "--via", "env", "--daemon", programs / "mercutiod", fails="can't be a host's name")
    kept = {name: environment.pop(name) for name in ("MERCUTIO_CONNECTIONS", "HOME", "XDG_CONFIG_HOME") if name in environment}
    run("connect", "--name", "homeless", "--root", f"data={export}:rw", "--via", "env", "--daemon", programs / "mercutiod", fails="HOME is not set")
    environment.update(kept)
    run("connect", "--name", "x", "--root", f"data={export}:rw", "--via", "env", "--daemon", programs / "mercutiod", "--idle", "abc", fails="'abc' must be a number from 0")
    missing = ["connect", "--name", "x", "--root", f"data={folder}/none", "--via", "env", "--daemon"]
    assert "Is Mercutio installed" not in run(*missing, programs / "mercutiod", fails="could not start mercutiod there")
    run(*missing, folder / "no-mercutiod", fails="Is Mercutio installed")
    run("connections", "nosuch", fails="no use can be made of: nosuch")
    (folder / "connections" / "b k").write_text("host b k\n")
    run("disconnect", "--keep", "b k")
    assert ends(processes() - known)

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
    one_astray(launcher, port)
    assert ends(processes() - known)
    local("several", "--launcher", str(launcher), "--servers", "3")
    several = processes() - known
    assert len(several) == 3 and run("connections", "several").count("answers, exports data") == 3
    several_of_one_connection(several)
    run("mkdir", "mercutio://several/data/by-several")
    (export / "by-hand").mkdir()
    assert (export / "by-several").stat().st_mode == (export / "by-hand").stat().st_mode, "with the umask of whoever connects"
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
        run("disconnect", "silent", fails="no answer")
        assert time.monotonic() - begin < 20, "eight servers, 3 s each"
        (folder / "connections" / "silent").write_text(f"host silent\nkey {'0' * 64}\n" + f"server 127.0.0.1 {at[1]}\n" * 8)
        (folder / "connections" / "silent").chmod(0o600)
        begin = time.monotonic()
        assert run("connections", "silent", "life", fails="no use can be made of: silent").count("\n  127.0.0.1 port") == 9
        assert time.monotonic() - begin < 20, "eight servers, 3 s each"
        run("disconnect", "--keep", "silent")
        trying = subprocess.Popen([mercutio, "connect", "--name", "unreached", "--root", f"data={export}:rw", "--via", "env", "--daemon",
                                   programs / "mercutiod", "--router", f"127.0.0.1:{at[1]}={folder}/none.key"], env=environment, stderr=subprocess.DEVNULL)
        for _ in range(600):
            if processes() - known:
                break
            time.sleep(0.05)
        assert processes() - known
        trying.kill()
        trying.wait()
        assert ends(processes() - known)

    # The port of --forward is that of an ssh here, which says nothing of the server.
    tunnel = folder / "connections" / "tunnel"
    for kept, text in ((False, ""), (True, "forwarded\n")):
        tunnel.write_text(f"host tunnel\nkey {'0' * 64}\nserver 127.0.0.1 {port}\n{text}")
        tunnel.chmod(0o600)
        run("disconnect", "tunnel", fails="could not be told to end" if kept else None)
        assert tunnel.exists() == kept
    run("disconnect", "--keep", "tunnel")

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

    (folder / "any-ssh").write_text('#!/bin/sh\nSSH_CONNECTION="127.0.0.1 1 127.0.0.1 22" exec sh -c "$3"\n')
    (folder / "any-ssh").chmod(0o755)
    run("connect", "--root", f"data={export}", "--daemon", programs / "mercutiod", "--ssh", folder / "any-ssh", "me@home.example@far.example")
    run("disconnect", "far.example")

    known = processes()
    for seconds in (5, 10, 20, 40):   # a busy machine may take longer to connect
        try:
            local("short", "--expires", str(seconds))
            break
        except AssertionError:
            if seconds == 40:
                raise
    assert ends(processes() - known, 60), "a server ends when its key has expired"

    run("disconnect", "life")
    assert ends(second) and not (folder / "connections" / "life").exists()
    run("disconnect", "life", fails="no connection to 'life'")
    run("disconnect", "ports", "called")
    unused.close()


def one_astray(launcher, port):
    """Of two servers the second one says another port than its own."""
    daemon, said = folder / "astray", folder / "said"
    daemon.write_text(f"""#!/bin/sh
mkdir {folder}/first 2>/dev/null && exec {programs}/mercutiod "$@"
sleep 0.5
{programs}/mercutiod "$@" >{said} & server=$!
trap 'kill $server' TERM
until [ -s {said} ]; do sleep 0.1; done
sed 's/ [0-9]* \\([0-9]*\\)$/ {port} \\1/' {said}
wait $server
""")
    daemon.chmod(0o755)
    run("connect", "--name", "several", "--root", f"data={export}:rw", "--via", "env", "--daemon", daemon, "--launcher", launcher, "--servers", "2",
        fails=f"127.0.0.1 port {port}")


def several_of_one_connection(several):
    """Programs spread over the servers of a connection by their process numbers."""
    source, target = folder / "spread", export / "spread"
    source.write_bytes(content(120_000_000, 5))
    for _ in range(20):
        copy = stopped_copy(source, "mercutio://several/data/spread", target=target, before=b"")
        run("disconnect", "several", fails="programs use")
        time.sleep(0.3)
        assert several <= processes(), "none ends where one is used"
        copy.kill()
        copy.communicate()
        begin = time.monotonic()
        again = subprocess.Popen([mercutio, "cp", "--resume", source, "mercutio://several/data/spread"], env=environment, stderr=subprocess.PIPE, text=True)
        _, errors = again.communicate(timeout=60)
        assert again.returncode == 0, errors
        assert time.monotonic() - begin < 20 and filecmp.cmp(source, target, shallow=False)
        target.unlink()
        if copy.pid % len(several) != again.pid % len(several):
            return
    raise AssertionError("both copies went to the same server each time")


def ends_though_a_request_hangs():
    """Nobody reads the server's log, so whoever comes waits until a line of it fits into a pipe."""
    key = folder / "hangs.key"
    key.write_text("1" * 64 + "\n")
    key.chmod(0o600)
    reader, writer = os.pipe()
    os.write(writer, b" " * fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ))
    server = subprocess.Popen([programs / "mercutiod", "--listen", "127.0.0.1:0", "--root", f"data={export}:rw", "--key-file", key],
                              stdout=subprocess.PIPE, stderr=writer, text=True)
    servers.append(server)
    _, _, address, port, _ = server.stdout.readline().split()
    connection = folder / "connections" / "hangs"
    connection.write_text(f"host hangs\nkey {key.read_text()}server {address} {port}\n")
    connection.chmod(0o600)
    ls = subprocess.Popen([mercutio, "ls", "mercutio://hangs/data"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    servers.append(ls)
    for _ in range(200):
        if len(os.listdir(f"/proc/{server.pid}/task")) > 2:
            break
        time.sleep(0.05)
    time.sleep(0.5)
    assert ls.poll() is None, "it does not wait"
    server.terminate()
    server.wait(timeout=10)
    os.close(reader)
    os.close(writer)


def leaves_no_core():
    """Its memory holds keys."""
    def dumps(*words):
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)))
        servers.append(process)
        assert process.stdout.readline()
        process.send_signal(signal.SIGABRT)
        _, status = os.waitpid(process.pid, 0)
        process.returncode = -os.WTERMSIG(status)
        process.stdout.close()
        assert os.WTERMSIG(status) == signal.SIGABRT
        return os.WCOREDUMP(status)

    key = folder / "core.key"
    key.write_text("1" * 64 + "\n")
    key.chmod(0o600)
    if not dumps("sh", "-c", "echo; exec sleep 60"):
        return print("no process leaves a core here")
    assert not dumps(programs / "mercutiod", "--listen", "127.0.0.1:0", "--root", f"data={export}", "--key-file", key)
    assert not dumps(programs / "mercutio-route", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:*", "--key-file", key)


def forwards():
    started = own_sshd.start(folder / "ssh")
    if not started:
        print("no sshd here: --forward is not tested")
        return
    servers.append(started[0])
    ssh = " ".join(["ssh", "-p", str(started[1]), *own_sshd.options_in(folder / "ssh")])
    known = processes()
    connect("forwarded", "--ssh", ssh, "--forward", "127.0.0.1")
    server = (processes() - known).pop()
    source = folder / "source"
    source.write_bytes(content(20_000_003, 1))
    run("cp", source, "mercutio://forwarded/data/through-ssh")
    assert filecmp.cmp(source, export / "through-ssh", shallow=False)
    again = processes()
    connect("cut", "--ssh", ssh, "--forward", "127.0.0.1")
    port = (folder / "connections" / "cut").read_text().split("server 127.0.0.1 ")[1].split()[0]
    terminate(runs(f"127.0.0.1:{port}:"))
    for _ in range(200):
        if not runs(f"127.0.0.1:{port}:"):
            break
        time.sleep(0.05)
    run("disconnect", "cut", fails="could not be told to end")
    assert (folder / "connections" / "cut").exists() and processes() - again
    assert "could not be told to end" in connect("cut", "--via", "env")
    run("disconnect", "cut")
    terminate(processes() - again)
    assert ends(processes() - again)
    way = f"/proc/{server}/stat"
    assert runs(way), "ssh carries data as long as the server lives"
    os.kill(server, signal.SIGTERM)
    assert ends({server})
    if not takes_number(server):
        print("no process can be given a number here: a number that is used again is not tested")
    for _ in range(1200):   # ssh looks every five seconds
        if not runs(way):
            return
        time.sleep(0.05)
    raise AssertionError("ssh waits for another process with the number of its server")


with world():
    lives_on()
    ends_though_a_request_hangs()
    leaves_no_core()
    forwards()
    print("connections live and end as they should")
