"""Several threads, several creators, transactions, and names that lead elsewhere."""
import errno
import os
import subprocess
import threading
import time

import pytest

import conftest
from mercutio import filesystem, remote
from mercutio.filesystem import MercutioFileSystem


@pytest.fixture
def fs():
    return MercutioFileSystem()


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A second host."""
    folder = tmp_path_factory.mktemp("other")
    command = str(conftest.BUILD / "bin" / "mercutio")
    subprocess.run([command, "connect", "--name", "other", "--root", f"data={folder}:rw", "--via", "env", "--idle", "120", "--daemon",
                    str(conftest.BUILD / "bin" / "mercutiod")], check=True, timeout=60)
    yield folder
    subprocess.run([command, "disconnect", "--force", "other"], check=True, timeout=60)


def test_close_waits_for_calls_of_other_threads(place):
    folder, name = place
    (folder / "x").write_bytes(b"12345")
    raw = remote.RawFile(name + "/x")
    events, inside = [], threading.Event()

    class Slow:
        """The process with a library whose reads take their time."""
        pid, connections = raw._process.pid, raw._process.connections
        process = raw._process

        def call(self, function, *arguments, **names):
            events.append(function)
            if function == "read":
                inside.set()
                time.sleep(0.3)
            done = self.process.call(function, *arguments, **names)
            events.append(function + " done")
            return done

    raw._process = Slow()
    data, got = bytearray(5), []
    reader = threading.Thread(target=lambda: got.append(raw.read_at(data, 0)))
    reader.start()
    assert inside.wait(10)
    closers = [threading.Thread(target=raw.close) for _ in range(4)]
    for closer in closers:
        closer.start()
    for thread in [*closers, reader]:
        thread.join()
    assert events == ["read", "read done", "close", "close done"] and got == [5] and data == b"12345"
    with pytest.raises(ValueError):
        raw.read_at(data, 0)
    with pytest.raises(ValueError):
        raw.size()


def test_one_creator_succeeds(place, fs, monkeypatch):
    """Also where both have asked before either was there."""
    folder, name = place
    path = fs._strip_protocol(name)
    monkeypatch.setattr(fs, "exists", lambda path: False)
    fs.pipe_file(path + "/small", b"one", mode="create")
    with pytest.raises(FileExistsError):
        fs.pipe_file(path + "/small", b"two", mode="create")
    assert (folder / "small").read_bytes() == b"one"
    fs.pipe_file(path + "/large", b"1" * 300_000, mode="create")
    with pytest.raises(FileExistsError):
        fs.pipe_file(path + "/large", b"2" * 300_000, mode="create")
    assert (folder / "large").read_bytes() == b"1" * 300_000
    with pytest.raises(FileExistsError):
        with fs.transaction:
            with fs.open(path + "/small", "xb") as file:
                file.write(b"three")
    assert (folder / "small").read_bytes() == b"one"
    with pytest.raises(FileExistsError):
        remote.rename(path + "/small", path + "/large", replace=False)


def test_transactions_hold_all_that_is_written(place, fs, tmp_path):
    folder, name = place
    (folder / "there").write_bytes(b"there")
    (tmp_path / "local").write_bytes(b"local")

    def write():
        fs.pipe(name + "/piped", b"piped")
        fs.pipe({name + "/a": b"a", name + "/b": b"b" * 300_000})
        fs.put_file(str(tmp_path / "local"), name + "/put")
        fs.cp_file(name + "/there", name + "/copied")
        fs.touch(name + "/touched")
        with fs.open(name + "/opened", "wb") as file:
            file.write(b"opened")

    with pytest.raises(RuntimeError):
        with fs.transaction:
            write()
            raise RuntimeError
    assert [path.name for path in folder.iterdir()] == ["there"]
    with fs.transaction:
        write()
        assert not [path.name for path in folder.iterdir() if not path.name.startswith(".")][1:]
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "copied", "opened", "piped", "put", "there", "touched"]
    assert (folder / "copied").read_bytes() == b"there" and (folder / "b").stat().st_size == 300_000
    with pytest.raises(OSError, match="appended"):
        with fs.transaction:
            fs.open(name + "/there", "ab")
    assert (folder / "there").read_bytes() == b"there" and not fs._intrans


def test_nothing_is_lost_on_the_way_to_another_host(place, other, fs):
    folder, name = place
    (folder / "kept").mkdir()
    (folder / "kept" / "x").write_bytes(b"x")
    (folder / "link").symlink_to("kept")
    for source in ("kept", "link"):
        with pytest.raises(OSError) as failed:
            fs.mv(f"{name}/{source}", "mercutio://other/data/moved", recursive=True)
        assert failed.value.errno == errno.EXDEV
    with pytest.raises(OSError) as failed:
        fs.mv([f"{name}/kept"], "mercutio://other/data/", recursive=True)
    assert failed.value.errno == errno.EXDEV
    assert (folder / "kept" / "x").read_bytes() == b"x" and (folder / "link").is_symlink() and not list(other.iterdir())
    fs.mv(name + "/kept/x", "mercutio://other/data/x")
    assert (other / "x").read_bytes() == b"x" and not (folder / "kept" / "x").exists()
    for i in range(3):
        (folder / f"{i}.nc").write_bytes(b"%d" % i)
    fs.mv(name + "/*.nc", name + "/into")
    assert sorted(path.name for path in (folder / "into").iterdir()) == ["0.nc", "1.nc", "2.nc"]
    (folder / "kept" / "0.nc").write_bytes(b"kept")
    with pytest.raises(ValueError):
        fs.mv([name + "/into/0.nc", name + "/kept/0.nc"], name + "/")


def test_few_files_are_open_at_once(place, fs, monkeypatch):
    folder, name = place
    for i in range(150):
        (folder / str(i)).write_bytes(b"%d" % i)
    counts, lock = [0, 0], threading.Lock()

    class Counted(remote.RawFile):
        def __init__(self, *words):
            super().__init__(*words)
            with lock:
                counts[0] += 1
                counts[1] = max(counts)

        def close(self):
            with lock:
                counts[0] -= 0 if self.closed else 1
            super().close()

    monkeypatch.setattr(filesystem.remote, "RawFile", Counted)
    order = [*range(149, -1, -1), 7, 7]
    got = fs.cat_ranges([f"{name}/{i}" for i in order], 0, None)
    assert got == [b"%d" % i for i in order]
    assert counts[0] == 0 and counts[1] <= 64


def test_names(place, fs):
    folder, name = place
    for call in (lambda: fs.pipe_file(name + "/a\0b", b""), lambda: fs.open(name + "/a\0b", "wb"), lambda: remote.rename(name + "/a", name + "/b\0"),
                 lambda: fs.mkdir(name + "/d\0d")):
        with pytest.raises(ValueError):
            call()
    assert not list(folder.iterdir())
    for write in (lambda: fs.pipe_file("mercutio://here/nothing/a/b", b""), lambda: fs.mkdir("mercutio://here/nothing/a"),
                  lambda: fs.makedirs("mercutio://here/nothing/a/b", exist_ok=True), lambda: fs.open("mercutio://here/nothing/x", "wb")):
        with pytest.raises(FileNotFoundError):
            write()
    long = "\U0001f600" * 60
    fs.pipe_file(f"{name}/{long}", b"1" * 300_000)
    assert (folder / long).stat().st_size == 300_000 and os.listdir(folder) == [long]
