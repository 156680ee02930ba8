#!/usr/bin/env python3
"""mercutio mount with the programs that people use on it.
   mounts.py DIRECTORY_OF_THE_PROGRAMS"""
import errno
import filecmp
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from command_world import content, connect, environment, export, folder, keeps_nothing, local, mercutio, programs, run, runs, world

at = folder / "mnt"


def mounted(place=at):
    return any(line.split()[1] == str(place) for line in open("/proc/self/mounts"))


def fails(number, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        assert error.errno == number, (call, arguments, error)
    else:
        raise AssertionError((call, arguments, "did not fail"))


def program(*words, cwd=None):
    if not shutil.which(words[0]):
        print("left out, not installed:", words[0])
        return ""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60, cwd=cwd, env=environment)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def names_and_attributes():
    (at / "d").mkdir()
    (at / "d" / "x").write_bytes(b"hello")
    assert (export / "d" / "x").read_bytes() == b"hello"
    fails(errno.ENOENT, os.stat, at / "none")
    fails(errno.EEXIST, os.mkdir, at / "d")
    fails(errno.ENOTEMPTY, os.rmdir, at / "d")
    fails(errno.ENOTDIR, os.listdir, at / "d" / "x")
    fails(errno.EISDIR, os.open, at / "d", os.O_WRONLY)
    fails(errno.EEXIST, os.open, at / "d" / "x", os.O_CREAT | os.O_EXCL | os.O_RDWR)
    fails(errno.EPERM, os.link, at / "d" / "x", at / "y")
    fails(errno.EPERM, os.mkfifo, at / "fifo")
    os.chmod(at / "d" / "x", 0o640)
    for mode in (0o3770, 0o750):
        os.chmod(at / "d", mode)
        assert os.stat(at / "d").st_mode & 0o7777 == os.stat(export / "d").st_mode & 0o7777 == mode
    os.utime(at / "d" / "x", (1, 1_577_836_800))
    there = os.stat(export / "d" / "x")
    assert there.st_mode & 0o777 == 0o640 and there.st_mtime == 1_577_836_800
    assert os.stat(at / "d" / "x").st_mtime == 1_577_836_800
    before_1970 = -43_199_750_000_000
    os.utime(at / "d" / "x", ns=(0, before_1970))
    assert os.stat(export / "d" / "x").st_mtime_ns == before_1970 == os.stat(at / "d" / "x").st_mtime_ns
    os.symlink("d/x", at / "link")
    os.symlink("/nowhere", at / "dangling")
    assert os.readlink(at / "dangling") == "/nowhere" and (at / "link").read_bytes() == b"hello"
    assert sorted(os.listdir(at)) == ["d", "dangling", "link"]
    (at / "d" / "y").write_bytes(b"other")
    os.rename(at / "d" / "y", at / "d" / "x")
    assert (at / "d" / "x").read_bytes() == b"other" and not (at / "d" / "y").exists()
    shutil.rmtree(at / "d")
    os.unlink(at / "link")
    os.unlink(at / "dangling")
    assert os.listdir(export) == [] and os.statvfs(at).f_blocks > 0


def random_accesses(seed):
    """Any mix of calls through several descriptors has the bytes that a local file has."""
    chance = random.Random(seed)
    paths = [at / "random", folder / "random"]
    files = [[os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(3)] for path in paths]
    for step in range(400):
        which, offset, bytes_ = chance.randrange(3), chance.randrange(300_000), chance.choice([1, 100, 5_000, 200_000])
        action, data, syncs = chance.randrange(6), chance.randbytes(bytes_), chance.random() < 0.1
        seen = []
        for several in files:
            file = several[which]
            if action < 2:
                seen.append(os.pwrite(file, data, offset))
            elif action < 4:
                seen.append(os.pread(file, bytes_, offset))
            elif action == 4:
                seen.append(os.fstat(file).st_size)
            elif syncs:
                os.fsync(file)
        if action == 5 and step % 7 == 0:
            for several in files:
                os.ftruncate(several[which], offset)
        assert len(set(seen)) < 2, (seed, step, action, offset, bytes_, *(one if isinstance(one, int) else (len(one), one[:20]) for one in seen))
    for several in files:
        for file in several:
            os.close(file)
    assert filecmp.cmp(export / "random", folder / "random", shallow=False), seed
    for path in paths:
        os.unlink(path)


def files_without_names():
    file = os.open(at / "gone", os.O_RDWR | os.O_CREAT)
    os.unlink(at / "gone")
    assert not (at / "gone").exists()
    assert os.pwrite(file, b"still", 0) == 5 and os.fstat(file).st_size == 5 and os.pread(file, 9, 0) == b"still"
    os.ftruncate(file, 2)
    assert os.fstat(file).st_size == 2
    os.close(file)
    for _ in range(100):   # release comes after close
        if not os.listdir(export):
            break
        time.sleep(0.05)
    assert os.listdir(export) == []
    file = os.open(at / "a", os.O_RDWR | os.O_CREAT)
    os.write(file, b"abc")
    os.rename(at / "a", at / "b")
    os.write(file, b"def")
    assert os.stat(at / "b").st_size == 6
    os.close(file)
    assert (export / "b").read_bytes() == b"abcdef"
    os.unlink(at / "b")


def other_machines():
    """What is closed is seen there, and what is closed there is seen by who opens it afterwards."""
    (at / "x").write_bytes(b"1" * 100)
    assert (at / "x").read_bytes() == (export / "x").read_bytes()
    (export / "x").write_bytes(b"2" * 200)
    with open(at / "x", "rb") as file:
        assert os.fstat(file.fileno()).st_size == 200 and file.read() == b"2" * 200
    (at / "x").unlink()


def replaced_by_others():
    """Another machine puts a new file in the place of one that is open here: that one goes on, and who opens the name has the new one."""
    bytes_, part = 4 << 20, 1 << 20

    def replace(name, content):
        (export / f"{name}.new").write_bytes(content)
        os.rename(export / f"{name}.new", export / name)

    (export / "x").write_bytes(b"1" * bytes_)
    first = os.open(at / "x", os.O_RDONLY)
    assert os.read(first, part // 16) == b"1" * (part // 16)
    replace("x", b"2" * bytes_)
    second = os.open(at / "x", os.O_RDONLY)
    assert os.pread(first, part, bytes_ // 2) == b"1" * part
    assert os.pread(second, part, bytes_ // 2) == b"2" * part, "an open after the replacement"
    replace("x", b"3" * (bytes_ // 4))
    third = os.open(at / "x", os.O_RDONLY)
    os.close(second)
    fourth = os.open(at / "x", os.O_RDONLY)
    for late in third, fourth:
        assert os.pread(late, part, 0) == b"3" * part and os.pread(late, part, bytes_ // 4) == b""
    whole = b""
    for offset in range(0, bytes_, part):
        assert os.stat(at / "x").st_size == bytes_ // 4
        whole += os.pread(first, part, offset)
    assert whole == b"1" * bytes_, "the first one has all of its file, which is longer"
    assert os.lseek(first, 0, os.SEEK_END) == bytes_
    for file in first, third, fourth:
        os.close(file)
    assert (at / "x").read_bytes() == b"3" * (bytes_ // 4)
    (at / "x").unlink()


def overwritten_by_others():
    """What another machine has written in place is seen by who opens the file then, whatever is read ahead for others here."""
    bytes_, part = 16 << 20, 128 << 10
    (export / "x").write_bytes(b"1" * bytes_)
    first = os.open(at / "x", os.O_RDONLY)
    for _ in range(24):
        os.read(first, part)
    with open(export / "x", "r+b") as file:
        file.write(b"2" * bytes_)
    second = os.open(at / "x", os.O_RDONLY)
    position = os.lseek(first, 0, os.SEEK_CUR)
    for _ in range(24):
        os.read(first, part)
    assert os.pread(second, 24 * part, position) == b"2" * (24 * part)
    os.close(first)
    os.close(second)
    (at / "x").unlink()


def real_programs():
    source = folder / "source"
    (source / "deep").mkdir(parents=True)
    (source / "large").write_bytes(content(20_000_001, 3))
    for i in range(20):
        (source / "deep" / f"{i}").write_bytes(content(i * 1000, i))
    os.symlink("deep/1", source / "link")
    program("cp", "-a", source, at / "copied")
    program("diff", "-r", source, export / "copied")
    program("tar", "-C", folder, "-cf", at / "x.tar", "source")
    (at / "unpacked").mkdir()
    program("tar", "-C", at / "unpacked", "-xf", at / "x.tar")
    program("diff", "-r", source, at / "unpacked" / "source")
    program("rsync", "-a", f"{source}/", at / "synced/")
    program("diff", "-r", source, export / "synced") if shutil.which("rsync") else None
    program("sqlite3", at / "x.db", "create table t(a); insert into t values (1), (2);")
    if shutil.which("sqlite3"):
        assert program("sqlite3", export / "x.db", "select sum(a) from t;").strip() == "3"
    git = ("git", "-c", "user.email=a@b", "-c", "user.name=a", "-c", "init.defaultBranch=main")
    program(*git, "init", "-q", source)
    program(*git, "add", "-A", cwd=source)
    program(*git, "commit", "-qm", "x", cwd=source)
    program(*git, "clone", "-q", source, at / "clone")
    if shutil.which("git"):
        assert program(*git, "status", "--short", cwd=at / "clone") == ""
        program(*git, "fsck", "--strict", cwd=at / "clone")
    for name in os.listdir(at):
        shutil.rmtree(at / name) if (at / name).is_dir() else os.unlink(at / name)
    assert os.listdir(export) == []


def a_full_disk():
    """The error is told by close or fsync at the latest."""
    full = export / "full"
    full.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", full], capture_output=True).returncode != 0:
        print("left out, no tmpfs can be mounted: a full disk")
        return
    try:
        for last in (os.fsync, os.close):
            file = os.open(at / "full" / "x", os.O_WRONLY | os.O_CREAT)
            try:
                os.write(file, bytes(4_000_000))
                last(file)
                raise AssertionError(last)
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
            if last is os.fsync:
                os.close(file)
    finally:
        subprocess.run(["umount", "-l", full], check=True)
    full.rmdir()


def ends():
    file = open(at / "busy", "w")
    run("umount", at, fails="busy")
    run("disconnect", "far", fails="programs use the server")
    assert f"is mounted at {at}" in run("connections")
    file.write("written")
    file.close()
    run("umount", at)
    assert not mounted() and (export / "busy").read_text() == "written"
    os.unlink(export / "busy")


def ends_by_signal():
    keeps_nothing(lambda **more: run("mount", "far:data", at, **more))
    pids = runs(f"far:data\0{at}")
    assert len(pids) == 1, pids
    (at / "x").write_bytes(b"x")
    os.kill(pids.pop(), signal.SIGTERM)
    for _ in range(100):
        if not mounted():
            break
        time.sleep(0.05)
    assert not mounted() and os.listdir(at) == []
    os.unlink(export / "x")


def clear_errors():
    run("mount", "nobody:data", at, fails="no connection to 'nobody'")
    run("mount", "far:none", at, fails="exports no root 'none'")
    run("mount", "far:data", folder / "none", fails="No such file or directory")
    run("mount", "far:data", mercutio, fails="Not a directory")
    assert not mounted()


FAILING_STAT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
int stat(const char *path, struct stat *status) {
  static int calls;   /* the first one comes before the mount */
  int (*real)(const char *, struct stat *) = dlsym(RTLD_NEXT, "stat");
  const int failed = real(path, status);
  return strcmp(path, getenv("FAILING_STAT")) || ++calls < 2 ? failed : (errno = EIO, -1);
}
"""


def ends_where_the_kernel_has_no_answer():
    if not shutil.which("cc"):
        return print("left out, not installed: cc")
    preload = folder / "failing_stat.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", preload, "-ldl"], input=FAILING_STAT, text=True, check=True)
    environment.update(LD_PRELOAD=str(preload), FAILING_STAT=str(at))
    try:
        run("mount", "far:data", at, fails="Input/output error")
    finally:
        del environment["LD_PRELOAD"], environment["FAILING_STAT"]
    assert not mounted()


if not os.access("/dev/fuse", os.R_OK | os.W_OK) or not (programs / "mercutio-mount").exists():
    print("skipped: no /dev/fuse here, or Mercutio was built without libfuse3")
    sys.exit(77)
with world():
    at.mkdir()
    local("far")
    clear_errors()
    ends_where_the_kernel_has_no_answer()
    run("mount", "far:data", at)
    try:
        assert mounted()
        run("mount", "far:data", at, fails="mercutio://far/data is mounted there already")
        names_and_attributes()
        for seed in range(3):
            random_accesses(seed)
        files_without_names()
        other_machines()
        replaced_by_others()
        overwritten_by_others()
        real_programs()
        a_full_disk()
        ends()
        ends_by_signal()
        connect("read", "--via", "env", "--root", f"fixed={export}")
        (export / "x").write_bytes(b"x")
        run("mount", "mercutio://read", at)
        assert sorted(os.listdir(at)) == ["data", "fixed"] and (at / "fixed" / "x").read_bytes() == b"x"
        fails(errno.EROFS, os.open, at / "fixed" / "y", os.O_CREAT | os.O_WRONLY)
        fails(errno.EROFS, os.unlink, at / "fixed" / "x")
        run("umount", at)
    finally:
        if mounted():
            subprocess.run(["umount", "-l", at])
print("passed")
