"""Random calls of fsspec on a remote tree and on a local one: what they return, what they refuse, and what is there afterwards is the same.

As a program: `test_random_trees.py --seconds 7200`, in fresh random cases each time; TESTED_BUILD names the build. A failure is shrunk and printed as code.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time
import uuid

import pytest

hypothesis = pytest.importorskip("hypothesis")
from fsspec.implementations.local import LocalFileSystem  # noqa: E402
from hypothesis import HealthCheck, Phase, settings, strategies as st  # noqa: E402
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test  # noqa: E402

from mercutio.filesystem import MercutioFileSystem  # noqa: E402

export = None   # the exported folder, which the server of conftest.py has

# "dir/..." and names that are also prefixes of others: most calls find something. Odd ones have all but what ends a name or a pattern.
odd = st.text(st.characters(exclude_characters="/\0*?[]{}\\~", exclude_categories=["Cs"]), min_size=1, max_size=12).filter(lambda name: name not in (".", "..") and name == name.strip())
names = st.sampled_from(["a", "b", "c", "dir", "dir/a", "dir/b", "dir/sub", "dir/sub/a", "other", "other/a", "other/sub/b"])
names = st.one_of(names, names, names, st.builds("dir/{}".format, odd), odd)
sizes = st.one_of(st.integers(0, 40), st.sampled_from([65_535, 65_536, 65_537, 262_144, 262_145, 300_001]))
content = st.builds(lambda length, seed: bytes((i * 7 + seed) & 255 for i in range(251)) * (length // 251 + 1), sizes, st.integers(0, 255))
content = st.builds(lambda whole, length: whole[:length], content, sizes)
limits = st.one_of(st.none(), st.integers(-50, 50), st.sampled_from([65_536, 262_144, 1_000_000, -70_000]))


class Outcome:
    """What a call returned or raised, comparable."""

    def __init__(self, call):
        try:
            self.value, self.error = call(), None
        except Exception as error:   # whatever it is: the other one has to fail, too
            self.value, self.error = None, error

    def kind(self):
        known = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)
        return next((cls for cls in known if isinstance(self.error, cls)), None)

    def differs(self, other):
        if (self.error is None) != (other.error is None) or self.value != other.value:
            return True
        kinds = self.kind(), other.kind()
        below_file = (NotADirectoryError, FileExistsError)   # the local one fails at making the directory
        return None not in kinds and kinds[0] is not kinds[1] and kinds != below_file

    def __repr__(self):
        return repr(self.error) if self.error else f"{str(self.value)[:300]}"


class Trees(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.there, self.here = export / uuid.uuid4().hex, pathlib.Path(tempfile.mkdtemp(prefix="mercutio-trees-"))
        self.there.mkdir()
        self.sides = [(MercutioFileSystem(), f"here/data/{self.there.name}"), (LocalFileSystem(auto_mkdir=True), str(self.here))]

    def teardown(self):
        for folder in (self.there, self.here):
            shutil.rmtree(folder)

    def both(self, call, strict=True):
        """call(file system, its root) on both sides."""
        there, here = (Outcome(lambda fs=fs, root=root: call(fs, root)) for fs, root in self.sides)
        if there.differs(here) and (strict or (there.error is None) != (here.error is None)):
            raise AssertionError(f"remote: {there!r}\nlocal:  {here!r}")
        if here.error:   # the local one has made directories for what could not be written into them
            for folder in sorted((path for path in self.here.rglob("*") if path.is_dir()), reverse=True):
                if not (self.there / folder.relative_to(self.here)).exists() and not any(folder.iterdir()):
                    folder.rmdir()

    @staticmethod
    def below(root, found):
        return sorted(name[len(root):] for name in found)

    # Files.

    @rule(name=names, data=content, mode=st.sampled_from(["overwrite", "create"]))
    def pipe(self, name, data, mode):
        self.both(lambda fs, root: fs.pipe_file(f"{root}/{name}", data, mode=mode) and None)

    @rule(name=names, start=limits, end=limits)
    def cat(self, name, start, end):
        bytes_ = (self.here / name).stat().st_size if (self.here / name).is_file() else 0
        begin, stop = (bytes_ + limit if limit is not None and limit < 0 else limit for limit in (start, end))
        if (begin or 0) >= 0 and (stop is None or stop >= (begin or 0)):   # of others the local one makes something of its own
            self.both(lambda fs, root: fs.cat_file(f"{root}/{name}", start, end))

    @rule(first=names, second=names, start=st.integers(0, 300_000), length=st.integers(0, 70_000))
    def ranges(self, first, second, start, length):
        def call(fs, root):
            found = fs.cat_ranges([f"{root}/{first}", f"{root}/{second}", f"{root}/{first}"], [start, 0, 0], [start + length, length, 10], on_error="return")
            return ["failed" if isinstance(one, Exception) else one for one in found]
        self.both(call)

    @rule(name=names, mode=st.sampled_from(["wb", "ab", "xb", "r+b", "w+b", "rb"]), data=content, at=st.integers(0, 300_000), block_size=st.sampled_from([None, 512, 100_000]))
    def open(self, name, mode, data, at, block_size):
        def call(fs, root):
            said = []
            with fs.open(f"{root}/{name}", mode, block_size=block_size) as file:
                if mode != "ab":
                    said.append(file.seek(at))
                if mode != "rb":
                    said.append(file.write(data))
                    file.flush()
                if "+" in mode or mode == "rb":
                    said += [file.seek(at // 2), file.read(5000), file.readline(), file.tell(), file.read()]
            return said
        self.both(call)

    @rule(name=names, data=content)
    def put(self, name, data):
        source = self.here.parent / f"{self.here.name}.source"
        source.write_bytes(data)
        self.both(lambda fs, root: fs.put_file(str(source), f"{root}/{name}") and None)
        source.unlink()

    @rule(name=names, truncate=st.just(True))
    def touch(self, name, truncate):
        self.both(lambda fs, root: fs.touch(f"{root}/{name}", truncate=truncate) and None)

    @rule(name=names, other=names, data=content, fails=st.booleans())
    def transaction(self, name, other, data, fails):
        if any(one.startswith(other_one + "/") or one == other_one for one, other_one in ((name, other), (other, name))):
            return   # which of the two is first is not defined

        def call(fs, root):
            try:
                with fs.transaction:
                    for one in (name, other):
                        with fs.open(f"{root}/{one}", "wb") as file:
                            file.write(data)
                    if fails:
                        raise KeyError
            except KeyError:
                return "failed"
        if not any((self.here / one).is_dir() or any(parent.is_file() for parent in (self.here / one).parents) for one in (name, other)):
            self.both(call)

    # Names.

    @rule(name=names, parents=st.booleans())
    def mkdir(self, name, parents):
        self.both(lambda fs, root: fs.mkdir(f"{root}/{name}", create_parents=parents))

    @rule(name=names, exist_ok=st.booleans())
    def makedirs(self, name, exist_ok):
        self.both(lambda fs, root: fs.makedirs(f"{root}/{name}", exist_ok=exist_ok))

    @rule(name=names)
    def rmdir(self, name):
        self.both(lambda fs, root: fs.rmdir(f"{root}/{name}"))

    @rule(name=names)
    def rm_file(self, name):
        self.both(lambda fs, root: fs.rm_file(f"{root}/{name}"))

    @rule(name=names, recursive=st.booleans())
    def rm(self, name, recursive):
        self.both(lambda fs, root: fs.rm(f"{root}/{name}", recursive=recursive) and None, strict=False)

    @rule(name=names, other=names)
    def mv(self, name, other):
        self.both(lambda fs, root: fs.mv(f"{root}/{name}", f"{root}/{other}") and None, strict=False)

    @rule(name=names, other=names)
    def cp_file(self, name, other):
        if name != other and not other.startswith(name + "/"):   # the local one refuses the first, and makes something of the other
            self.both(lambda fs, root: fs.cp_file(f"{root}/{name}", f"{root}/{other}") and None, strict=False)

    # What is there.

    @rule(name=names)
    def look(self, name):
        def call(fs, root):
            path = f"{root}/{name}"
            info = fs.info(path)
            return fs.exists(path), fs.isdir(path), fs.isfile(path), info["type"], info["size"] if info["type"] == "file" else 0, info["name"][len(root):]
        self.both(call)
        self.both(lambda fs, root: (fs.exists(f"{root}/{name}"), fs.isdir(f"{root}/{name}"), fs.isfile(f"{root}/{name}")))

    @rule(name=names)
    def ls(self, name):
        self.both(lambda fs, root: self.below(root, fs.ls(f"{root}/{name}", detail=False)))

    @rule(name=names, detail=st.booleans(), depth=st.sampled_from([None, 1, 2]), directories=st.booleans())
    def find(self, name, detail, depth, directories):
        self.both(lambda fs, root: self.below(root, fs.find(f"{root}/{name}", maxdepth=depth, withdirs=directories, detail=detail)))
        self.both(lambda fs, root: self.below(root, fs.find(root)))

    @rule(pattern=st.sampled_from(["/*", "/**", "/dir/*", "/*/a", "/**/a", "/dir/s?b", "/[ab]", "/other/**/b"]))
    def glob(self, pattern):
        self.both(lambda fs, root: self.below(root, fs.glob(root + pattern)))

    @rule(name=names)
    def du(self, name):
        self.both(lambda fs, root: fs.du(f"{root}/{name}") if fs.isfile(f"{root}/{name}") else None)

    @rule(name=names)
    def walk(self, name):
        self.both(lambda fs, root: sorted((at[len(root):], sorted(directories), sorted(files)) for at, directories, files in fs.walk(f"{root}/{name}")))

    @invariant()
    def same(self):
        def tree(root):
            return {str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in sorted(root.rglob("*"))}
        there, here = tree(self.there), tree(self.here)
        assert there.keys() == here.keys(), (there.keys() - here.keys(), here.keys() - there.keys())
        assert there == here, [(name, len(there[name] or b""), len(here[name] or b"")) for name in there if there[name] != here[name]]


def profile(examples, **more):
    return settings(max_examples=examples, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), database=None, **more)


def test_calls_do_what_they_do_here(place):
    global export
    export = place[0].parent
    run_state_machine_as_test(Trees, settings=profile(40, derandomize=True))


def main():
    global export
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=60)
    args = p.parse_args()
    import conftest
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        export = pathlib.Path(folder) / "export"
        export.mkdir()
        end, rounds = time.monotonic() + args.seconds, 0
        with conftest.served(export, pathlib.Path(folder) / "connections"):
            while time.monotonic() < end:
                run_state_machine_as_test(Trees, settings=profile(50, phases=[Phase.generate, Phase.shrink]))
                rounds += 1
    print(f"{50 * rounds} cases of up to 30 calls: nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
