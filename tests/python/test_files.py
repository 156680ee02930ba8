"""Files and names through mercutio.filesystem."""
import errno
import io
import multiprocessing
import os
import pickle
import random
import threading

import fsspec
import pytest

from mercutio import remote
from mercutio.filesystem import MercutioFileSystem


def content(length, seed=1):
    return random.Random(seed).randbytes(length)


@pytest.fixture
def fs():
    return MercutioFileSystem()


def test_fsspec_knows_the_name(place):
    folder, name = place
    with fsspec.open(name + "/a/b/x", "wb") as file:
        file.write(b"12345")
    assert (folder / "a/b/x").read_bytes() == b"12345"
    with fsspec.open(name + "/a/b/x", "rt") as file:
        assert file.read() == "12345"
    assert isinstance(fsspec.filesystem("mercutio"), MercutioFileSystem)


@pytest.mark.parametrize("block_size", [None, 0, 512])
def test_random_access_is_that_of_a_local_file(place, fs, block_size):
    """The same calls on a remote and on a local file say the same, and leave the same."""
    folder, name = place
    dice = random.Random(block_size)
    start = content(300_000)
    (folder / "there").write_bytes(start)
    (folder / "here").write_bytes(start)
    with fs.open(name + "/there", "r+b", block_size=block_size) as there, open(folder / "here", "r+b") as here:
        for _ in range(600):
            action = dice.choice(["read", "readinto", "write", "seek", "tell", "end", "line", "truncate", "flush"])
            at, length = dice.randrange(400_000), int(2 ** dice.uniform(0, 17))
            if action == "read":
                assert there.read(length) == here.read(length)
            elif action == "readinto":
                one, other = bytearray(length), bytearray(length)
                assert there.readinto(one) == here.readinto(other) and one == other
            elif action == "write":
                data = content(length, at)
                assert there.write(data) == here.write(data)
            elif action == "line":
                assert there.readline(1000) == here.readline(1000)
            elif action == "truncate" and dice.random() < 0.2:
                assert there.truncate(at) == here.truncate(at)
            elif action == "flush":
                there.flush()
                here.flush()
                assert (folder / "there").read_bytes() == (folder / "here").read_bytes()
            elif action == "end":
                back = dice.randrange(1000)
                assert there.seek(0, 2) == here.seek(0, 2)
                assert there.seek(-min(back, here.tell()), 1) == here.seek(-min(back, here.tell()), 1)
            else:
                assert there.seek(at) == here.seek(at)
            assert there.tell() == here.tell(), action
    assert (folder / "there").read_bytes() == (folder / "here").read_bytes()


def test_modes(place, fs):
    folder, name = place
    with fs.open(name + "/x", "xb") as file:
        file.write(b"one")
    with pytest.raises(FileExistsError):
        fs.open(name + "/x", "xb")
    with fs.open(name + "/x", "ab") as file:
        file.write(b" two")
    assert fs.cat_file(name + "/x") == b"one two"
    with fs.open(name + "/x", "w+b") as file:
        file.write(b"three")
        file.seek(1)
        assert file.read() == b"hree" and file.size == 5
    with fs.open(name + "/x", "rb") as file:
        with pytest.raises(OSError):
            file.write(b"x")
    with pytest.raises(ValueError):
        fs.open(name + "/x", "qb")
    with fs.open(name + "/lines", "wb") as file:
        file.write(b"".join(b"%d\n" % i for i in range(50_000)))
    with fs.open(name + "/lines", "rt") as file:
        assert [int(line) for line in file] == list(range(50_000))


def test_letters_of_modes_come_in_any_order(place, fs):
    folder, name = place
    fs.pipe_file(name + "/x", b"one")
    for mode in ("ba", "ab", "b+a", "+ab"):
        with fs.open(name + "/x", mode) as file:
            file.write(b"+")
    with remote.RawFile(name + "/x", "ba") as raw:
        raw.write(b"raw")
    assert (folder / "x").read_bytes() == b"one++++raw"
    with fs.open(name + "/x", "br+") as file:
        assert file.read(3) == b"one" and file.seek(0) == 0 and file.write(b"two") == 3
    assert (folder / "x").read_bytes() == b"two++++raw"
    for mode in ("bw", "bx"):
        with fs.transaction:
            with fs.open(f"{name}/{mode}", mode) as file:
                file.write(b"x")
            assert not (folder / mode).exists()
        assert (folder / mode).read_bytes() == b"x"
    with pytest.raises(io.UnsupportedOperation):
        with fs.transaction:
            fs.open(name + "/x", "ba")
    for mode in ("b", "+b", "rwb", "rbb", "r++b", "rbU"):
        with pytest.raises(ValueError):
            fs.open(name + "/x", mode)


def test_no_file_has_more_bytes_than_an_offset_tells(place, fs):
    folder, name = place
    for wrong in (1 << 63, (1 << 64) + 2, 1 << 80):
        fs.pipe_file(name + "/x", b"abcdef")
        with fs.open(name + "/x", "r+b") as file:
            with pytest.raises(OSError) as failed:
                file.truncate(wrong)
            assert failed.value.errno == errno.EFBIG and (folder / "x").read_bytes() == b"abcdef"
        with remote.RawFile(name + "/x", "r+b") as raw:
            for action in (lambda: raw.seek(wrong), lambda: raw.seek(wrong - 6, os.SEEK_END), lambda: raw.read_at(bytearray(1), wrong), lambda: raw.truncate(wrong)):
                with pytest.raises(OSError) as failed:
                    action()
                assert failed.value.errno == errno.EFBIG
            raw.seek((1 << 63) - 1)
            with pytest.raises(OSError) as failed:
                raw.write(b"Z")
            assert failed.value.errno == errno.EFBIG
            for action in (lambda: raw.truncate(-1), lambda: raw.seek(-1), lambda: raw.read_at(bytearray(1), -1)):
                with pytest.raises(OSError) as failed:
                    action()
                assert failed.value.errno == errno.EINVAL
        assert (folder / "x").read_bytes() == b"abcdef"


def test_permissions_and_links_stay(place, fs):
    folder, name = place
    for content in b"x", b"x" * 400_000:
        secret = folder / f"secret{len(content)}"
        secret.write_bytes(b"before")
        secret.chmod(0o600)
        os.symlink(secret.name, folder / f"latest{len(content)}")
        fs.pipe(f"{name}/{secret.name}", content)
        assert secret.read_bytes() == content and secret.stat().st_mode & 0o777 == 0o600
        fs.pipe(f"{name}/latest{len(content)}", content[::-1])
        assert (folder / f"latest{len(content)}").is_symlink() and secret.read_bytes() == content[::-1]
        assert secret.stat().st_mode & 0o777 == 0o600
    fs.pipe({f"{name}/small": b"x", f"{name}/large": b"x" * 400_000})
    with fs.open(f"{name}/opened", "wb"):
        pass
    assert len({(folder / one).stat().st_mode for one in ("small", "large", "opened")}) == 1


def test_failures_are_of_their_kind(place, fs):
    folder, name = place
    with pytest.raises(FileNotFoundError, match="No such file"):
        fs.open(name + "/nothing")
    with pytest.raises(FileNotFoundError):
        fs.info(name + "/nothing")
    with pytest.raises(FileNotFoundError):
        fs.rm(name + "/nothing")
    assert not fs.exists(name + "/nothing")
    (folder / "x").write_bytes(b"x")
    with pytest.raises(OSError) as failed:
        fs.open("mercutio://here/seen/x", "r+b")
    assert failed.value.errno == errno.EROFS
    with pytest.raises(IsADirectoryError):
        fs.rm(name)
    with pytest.raises(FileNotFoundError, match="exports no root"):
        fs.pipe_file("mercutio://here/nothing/x", b"")
    with pytest.raises(OSError, match="mercutio connect"):
        fs.exists("mercutio://nowhere/data/x")
    with pytest.raises(OSError, match="leaves the directory"):
        fs.cat_file(name + "/../../etc/passwd")
    with pytest.raises(IsADirectoryError):
        fs.cat_file(name)
    file = fs.open(name + "/x")
    file.close()
    with pytest.raises(ValueError):
        file.read()
    assert [entry["name"] for entry in fs.ls("")] == ["here"] and fs.isdir("here")
    assert fs.ls("mercutio://here", detail=False) == ["here/data", "here/seen"]


def test_trees(place, fs):
    folder, name = place
    fs.makedirs(name + "/a/b/c")
    with pytest.raises(FileExistsError):
        fs.makedirs(name + "/a/b/c")
    fs.makedirs(name + "/a/b/c", exist_ok=True)
    fs.pipe({f"{name}/a/b/{i}": content(i * 1000, i) for i in range(30)})
    assert len(fs.find(name)) == 30 and len(fs.glob(name + "/a/*/1?")) == 10
    got = fs.cat(name + "/a/b/[0-9]*")
    assert len(got) == 30 and all(value == content(int(key.rsplit("/", 1)[1]) * 1000, int(key.rsplit("/", 1)[1])) for key, value in got.items())
    outside = folder / "outside"
    outside.mkdir()
    (outside / "kept").write_bytes(b"kept")
    (folder / "a" / "to-outside").symlink_to("../outside")
    (folder / "a" / "to-file").symlink_to("../outside/kept")
    types = {entry["name"].rsplit("/", 1)[1]: entry["type"] for entry in fs.ls(name + "/a")}
    assert types == {"b": "directory", "to-outside": "link", "to-file": "file"}
    assert fs.isdir(name + "/a/to-outside") and fs.size(name + "/a/to-file") == 4
    fs.mv(name + "/a/b/1", name + "/moved")
    fs.mv(name + "/moved", name + "/a/b/c/")
    for same in ("/a/b", "/a/b/"):   # a directory onto itself
        fs.mv(name + "/a/b", name + same)
    (folder / "moved").write_bytes(b"another")
    for into in ("/a/b/c", "/a/b/c/"):
        with pytest.raises(FileExistsError):
            fs.mv(name + "/moved", name + into)
    (folder / "moved").unlink()
    assert (folder / "a/b/c/moved").read_bytes() == content(1000, 1)
    fs.rm(name + "/a", recursive=True)
    assert not (folder / "a").exists() and (outside / "kept").exists()


def test_names_may_overlap(place, fs):
    folder, name = place
    fs.pipe({f"{name}/d/{one}": b"x" for one in ("e/f/x", "e/y", "e-1", "z")})
    with pytest.raises(IsADirectoryError):
        fs.rm(name + "/d/*")
    fs.rm(name + "/d/**", recursive=True)
    assert not list(folder.glob("d/*"))
    fs.pipe({f"{name}/d/{one}": b"x" for one in ("e/f/x", "e/y", "e-1", "z")})
    fs.rm([f"{name}/d/e/f/x", f"{name}/d/e-1", f"{name}/d/e", f"{name}/d/e/f"], recursive=True)
    assert [path.name for path in (folder / "d").iterdir()] == ["z"]


@pytest.mark.parametrize("odd, matched", [("g[1].nc", "g1.nc"), ("g*", "gh"), ("g?", "gh")])
def test_names_may_look_like_patterns(place, fs, odd, matched):
    folder, name = place
    fs.pipe({f"{name}/{odd}": b"odd", f"{name}/{matched}": b"matched"})
    assert fs.cat(f"{name}/{odd}") == b"odd"
    assert fs.cat([f"{name}/{odd}", f"{name}/{matched}"]) == {f"here/data/{folder.name}/{odd}": b"odd", f"here/data/{folder.name}/{matched}": b"matched"}
    fs.mv(f"{name}/{odd}", f"{name}/moved")
    assert (folder / "moved").read_bytes() == b"odd" and fs.cat(f"{name}/{odd}") == {f"here/data/{folder.name}/{matched}": b"matched"}, "now it is a pattern"
    fs.mv(f"{name}/moved", f"{name}/{odd}")
    fs.rm(f"{name}/{odd}")
    assert [path.name for path in folder.iterdir()] == [matched]
    fs.pipe_file(f"{name}/d[1]/sub/x", b"x")
    fs.rm([f"{name}/d[1]", f"{name}/nothing*"], recursive=True)
    with pytest.raises(FileNotFoundError):
        fs.rm([f"{name}/d[1]", f"{name}/nothing*"], recursive=True)
    assert [path.name for path in folder.iterdir()] == [matched]


def test_ranges(place, fs):
    folder, name = place
    whole = content(3_000_000)
    (folder / "x").write_bytes(whole)
    assert fs.cat_file(name + "/x") == whole
    assert fs.cat_file(name + "/x", -10, None) == whole[-10:] and fs.cat_file(name + "/x", 5, -5) == whole[5:-5]
    starts = [dice * 1000 for dice in range(100)]
    got = fs.cat_ranges([name + "/x"] * 100, starts, [start + 700 for start in starts])
    assert got == [whole[start:start + 700] for start in starts]
    got = fs.cat_ranges([name + "/x", name + "/nothing"], [0, 0], [5, 5])
    assert got[0] == whole[:5] and isinstance(got[1], FileNotFoundError)
    with fs.open(name + "/x") as file:
        assert file.read() == whole and file.read(5) == b"" and file.seek(-7, 2) == len(whole) - 7 and file.read() == whole[-7:]
        file.seek(100)
        again = pickle.loads(pickle.dumps(file))
        assert again.read(10) == file.read(10) == whole[100:110]
        again.close()


def test_whole_or_not_at_all(place, fs, tmp_path):
    folder, name = place
    (folder / "x").write_bytes(b"before")
    local = tmp_path / "local"
    local.write_bytes(content(3_000_000))
    fs.put_file(str(local), name + "/new/x")
    assert (folder / "new/x").read_bytes() == local.read_bytes()
    fs.get_file(name + "/new/x", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == local.read_bytes()
    fs.cp_file(name + "/new/x", name + "/copy")
    assert (folder / "copy").read_bytes() == local.read_bytes()

    class Broken:
        def read(self, length):
            if self.times == 2:
                raise RuntimeError("the source is broken")
            self.times += 1
            return b"x" * length
        times = 0

    with pytest.raises(RuntimeError):
        fs._publish(f"here/data/{folder.name}/x", Broken(), "overwrite")
    with pytest.raises(FileExistsError):
        fs.pipe_file(name + "/x", b"y", mode="create")
    with pytest.raises(RuntimeError):
        with fs.transaction:
            with fs.open(name + "/x", "wb") as file:
                file.write(b"after")
            raise RuntimeError
    assert (folder / "x").read_bytes() == b"before"
    with fs.transaction:
        with fs.open(name + "/x", "wb") as file:
            file.write(b"after")
        assert (folder / "x").read_bytes() == b"before"
    assert (folder / "x").read_bytes() == b"after"
    assert not list(folder.rglob("*mercutio-part")), "nothing is left"


@pytest.mark.parametrize("function", ["write", "flush", "truncate", "close"])
def test_a_transaction_does_not_publish_what_failed(place, fs, monkeypatch, function):
    """Also where the program has not heeded the error."""
    folder, name = place
    (folder / "x").write_bytes(b"before")
    call = remote._Process.call

    def failing(self, called, *arguments, **words):
        done = call(self, called, *arguments, **words)
        if called == function:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return done

    with pytest.raises(OSError, match="not published") as failed:
        with fs.transaction:
            file = fs.open(name + "/x", "wb")
            with monkeypatch.context() as patch:
                patch.setattr(remote._Process, "call", failing)
                with pytest.raises(OSError):
                    file.write(b"after")
                    file.truncate(3)
                    file.close()
            file.close()
    assert failed.value.errno == errno.ENOSPC and (folder / "x").read_bytes() == b"before"
    assert not list(folder.rglob("*mercutio-part")), "nothing is left"


def test_threads_share_a_connection(place, fs):
    folder, name = place
    wrong = []

    def work(number):
        data = content(200_000, number)
        for _ in range(5):
            fs.pipe_file(f"{name}/{number}", data)
            with fs.open(f"{name}/{number}", "r+b") as file:
                if file.read() != data:
                    wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _in_child(name, pipe):
    try:
        before = fsspec.filesystem("mercutio").cat_file(name)
        pipe.send(before)
    except BaseException as error:
        pipe.send(repr(error))


def test_a_forked_child_has_its_own_connection(place, fs):
    folder, name = place
    fs.pipe_file(name + "/x", b"before the fork")
    parent, child = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_in_child, args=(name + "/x", child))
    process.start()
    assert parent.poll(60) and parent.recv() == b"before the fork"
    process.join(60)
    assert process.exitcode == 0
    assert fs.cat_file(name + "/x") == b"before the fork"


def test_the_library_says_what_failed(place):
    folder, name = place
    with pytest.raises(OSError) as failed:
        remote.get(name + "/nothing")
    assert failed.value.errno == errno.ENOENT and failed.value.filename == name + "/nothing"
    assert os.uname().nodename in failed.value.strerror
