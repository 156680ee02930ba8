"""Remote files for fsspec: `fsspec.open("mercutio://host/root/path")`, and so for xarray, dask, pandas, zarr and others.

A path is host/root/name/in/it: one file system has all hosts that `mercutio connect` made known. Nothing is listed from memory: the
server answers. Data that is read in order is read ahead, and written data is on its way when a write returns, by the library; a file's
own buffer only gathers small accesses. What is written as a whole (pipe, put, cp, or in a transaction) has its name when it is whole.
"""
import concurrent.futures
import contextlib
import datetime
import errno
import io
import os
import stat as modes
import uuid

from fsspec.callbacks import NoOpCallback
from fsspec.spec import AbstractFileSystem

from mercutio import remote

_NO_CALLBACK = NoOpCallback()   # fsspec has one of its own, under another name in 2022

_BUFFER_BYTES = 64 * 1024          # about what a connection carries in the time of a request to the next town
_COPY_BYTES = 4 * 1024 * 1024
_AT_ONCE = 16                      # requests for different files
_OPEN_AT_ONCE = 64                 # files
_TYPES = {remote.REGULAR: "file", remote.DIRECTORY: "directory", remote.LINK: "link", remote.OTHER: "other"}
_FORMATS = {remote.REGULAR: modes.S_IFREG, remote.DIRECTORY: modes.S_IFDIR, remote.LINK: modes.S_IFLNK, remote.OTHER: 0}


class _Described:
    """What fsspec and those who use it ask of a file beyond io's own."""

    def __init__(self, fs, path, raw, block_size, part=None):
        super().__init__(raw, block_size)
        self.fs, self.path, self.blocksize, self._part = fs, path, block_size, part

    @property
    def size(self):
        if self.writable() and not self.closed:
            self.flush()
        return self.raw.size()

    def flush(self):
        super().flush()      # to the library, which has it on its way
        self.raw.flush()

    @property
    def full_name(self):
        return self.fs.unstrip_protocol(self.path)

    @property
    def details(self):
        return self.fs.info(self.path)

    def info(self):
        return self.details

    def commit(self):
        try:
            self.close()
            failure = self.raw.failure   # also one that the program has not heeded
            if failure:
                raise OSError(getattr(failure, "errno", None) or errno.EIO, f"not published, because a write failed: {failure}", self.path) from failure
            self._part.commit()
        except BaseException:
            self._part.discard()
            raise

    def discard(self):
        try:
            self.close()
        finally:
            self._part.discard()

    def __reduce__(self):
        if self.writable():
            raise TypeError(f"{self.path} is open for writing: such a file can't be pickled")
        return _opened_again, (self.fs, self.path, self.blocksize, self.tell())


class _Part:
    """A whole file, under a name of its own until commit()."""

    def __init__(self, path, replace):
        folder, _, name = path.rpartition("/")
        shown = os.fsencode(name)[:100].decode(errors="ignore")
        self.path, self._target, self._replace = f"{folder}/.{shown}.{uuid.uuid4().hex[:12]}.mercutio-part", path, replace

    def commit(self):
        remote.rename(self.path, self._target, self._replace, as_writes=self._replace)

    def discard(self):
        with contextlib.suppress(OSError):   # what led here is told
            remote.unlink(self.path)


class Reader(_Described, io.BufferedReader):
    def read(self, size=-1, /):
        if size is None or size <= self.blocksize:
            return super().read(size)
        left = max(0, self.raw.size() - self.tell())
        data = memoryview(bytearray(min(size, left)))     # at once, whatever the buffer holds
        return bytes(data[:self.readinto(data)])


class Writer(_Described, io.BufferedWriter):
    pass


class Random(_Described, io.BufferedRandom):
    pass


def _may_be_pattern(name):
    return any(letter in name for letter in "*?[")


def _opened_again(fs, path, block_size, position):
    file = fs.open(path, "rb", block_size=block_size)
    file.seek(position)
    return file


def _many(work, items):
    """What `work` returns for each of the items, or the exception."""
    def attempt(item):
        try:
            return work(item)
        except Exception as error:
            return error

    items = list(items)
    if len(items) < 2:
        return [attempt(item) for item in items]
    with concurrent.futures.ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        return list(pool.map(attempt, items))


def _raise_first(results):
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


class MercutioFileSystem(AbstractFileSystem):
    """
    Parameters
    ----------
    auto_mkdir: bool
        Whether writing a file makes the directories above it that are not there.
    """

    protocol = "mercutio"
    root_marker = ""
    blocksize = _COPY_BYTES

    def __init__(self, auto_mkdir=True, **storage_options):
        super().__init__(auto_mkdir=auto_mkdir, **storage_options)
        self.auto_mkdir = auto_mkdir

    def _in_directory(self, path, write):
        """write(), after making the directories above `path` where they are missing."""
        try:
            return write()
        except FileNotFoundError:
            if not self.auto_mkdir:
                raise
        self.makedirs(self._parent(path), exist_ok=True)
        return write()

    # What is there.

    @staticmethod
    def _described(path, status):
        return {"name": path, "size": status.bytes if status.type == remote.REGULAR else 0, "type": _TYPES.get(status.type, "other"),
                "mode": status.permissions | _FORMATS.get(status.type, 0), "mtime": status.modified_ns / 1e9, "ino": status.inode,
                "islink": status.type == remote.LINK}

    def info(self, path, **kwargs):
        path = self._strip_protocol(path)
        return self._described(path, remote.stat(path))

    def _resolved(self, entry):
        """Links to files are files; walk() would follow others for ever, and rm() into what is elsewhere."""
        try:
            found = self.info(entry["name"])
        except OSError:
            return entry
        return dict(found if found["type"] == "file" else entry, islink=True)

    def ls(self, path, detail=True, **kwargs):
        path = self._strip_protocol(path)
        try:
            listed = remote.list_directory(path)
        except NotADirectoryError:
            entries = [self.info(path)]
        else:
            entries = [self._described(f"{path}/{name}" if path else name, status) for name, status in listed]
            links = [i for i, entry in enumerate(entries) if entry["islink"]]
            for i, entry in zip(links, _raise_first(_many(self._resolved, [entries[i] for i in links]))):
                entries[i] = entry
        return entries if detail else [entry["name"] for entry in entries]

    def exists(self, path, **kwargs):
        try:
            self.info(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True     # and whoever can't be reached has not said that it is not there

    def modified(self, path):
        return datetime.datetime.fromtimestamp(self.info(path)["mtime"], tz=datetime.timezone.utc)

    def expand_path(self, path, recursive=False, maxdepth=None, **kwargs):
        """As in fsspec, but whoever has such a name is meant before those that match it as a pattern."""
        names = {self._strip_protocol(one) for one in ([path] if isinstance(path, (str, os.PathLike)) else path)}
        literal = {name for name in names if _may_be_pattern(name) and self.exists(name)}
        found = set(literal)
        for name in literal if recursive else ():
            found.update(self.find(name, maxdepth=maxdepth, withdirs=True))
        try:
            if not literal or names != literal:
                found.update(super().expand_path(sorted(names - literal), recursive, maxdepth, **kwargs))
        except FileNotFoundError:   # nothing matches the others
            if not found:
                raise
        return sorted(found)

    # Directories, names.

    def mkdir(self, path, create_parents=True, **kwargs):
        path = self._strip_protocol(path)
        try:
            remote.mkdir(path)
        except FileNotFoundError:
            if not create_parents or path.count("/") < 2:   # hosts and roots are the server's
                raise
            self.makedirs(self._parent(path), exist_ok=True)
            remote.mkdir(path)

    def makedirs(self, path, exist_ok=False):
        path = self._strip_protocol(path)
        try:
            self.mkdir(path)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.EISDIR, errno.EROFS) or not exist_ok or not self.isdir(path):
                raise

    def rmdir(self, path):
        remote.rmdir(self._strip_protocol(path))

    def rm_file(self, path):
        remote.unlink(self._strip_protocol(path))

    _rm = rm_file

    def _remove_tree(self, path):
        inside = [(f"{path}/{name}", status.type) for name, status in remote.list_directory(path)]
        _raise_first(_many(remote.unlink, [name for name, type_ in inside if type_ != remote.DIRECTORY]))
        for name, type_ in inside:
            if type_ == remote.DIRECTORY:
                self._remove_tree(name)
        remote.rmdir(path)

    def rm(self, path, recursive=False, maxdepth=None):
        if maxdepth is not None:
            raise NotImplementedError("rm takes all of a tree or nothing: leave maxdepth out")
        tree = None   # that was removed last: what is in it comes next
        for one in sorted(self.expand_path(path), key=lambda name: name.split("/")):
            if tree is not None and one.startswith(tree + "/"):
                continue
            try:
                remote.unlink(one)
            except IsADirectoryError:
                if not recursive:
                    raise
                self._remove_tree(one)
                tree = one

    def mv(self, path1, path2, recursive=False, maxdepth=None, **kwargs):
        """Renames. From one host to another only files go: copied, and removed when the copy is whole. As with shutil.move, a directory onto itself stays, and
        one name that goes into a directory replaces nothing there."""
        if maxdepth is not None:
            raise NotImplementedError("mv takes all of a tree or nothing: leave maxdepth out")
        if isinstance(path1, (list, tuple)) or (_may_be_pattern(str(path1)) and not self.exists(path1)):
            sources = self.expand_path(path1)
            targets = path2 if isinstance(path2, (list, tuple)) else [f"{self._strip_protocol(path2)}/{one.rsplit('/', 1)[-1]}" for one in sources]
            if len(set(targets)) != len(sources):
                raise ValueError("each of the names needs a new one of its own")
            for source, target in zip(sources, targets):
                self._move(source, self._strip_protocol(target))
            return
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        into = source != target and (str(path2).endswith("/") or self.isdir(target))
        self._move(source, f"{target}/{source.rsplit('/', 1)[-1]}" if into else target, replace=not into)

    def _move(self, source, target, replace=True):
        try:
            self._in_directory(target, lambda: remote.rename(source, target, replace))
        except OSError as error:
            if error.errno != errno.EXDEV or self.isdir(source):
                raise
            with self.open(source, "rb") as file:
                self._write_whole(target, file, replace)
            remote.unlink(source)

    # Files.

    def _open(self, path, mode="rb", block_size=None, autocommit=True, cache_options=None, **kwargs):
        mode = remote.ordered(mode)
        if not isinstance(block_size, int) or block_size == 0:
            block_size = _BUFFER_BYTES
        part = None
        if not autocommit and mode[0] == "a":
            raise io.UnsupportedOperation("a file can't be appended to in a transaction: others would see it before the end")
        if not autocommit and mode[0] in "wx":
            part = _Part(path, replace=mode[0] == "w")
            if mode[0] == "x":
                self._refuse_existing(path)

        def begin():
            return remote.RawFile(part.path if part else path, mode)

        raw = begin() if mode[0] == "r" else self._in_directory(path, begin)
        kind = Random if raw.readable() and raw.writable() else Writer if raw.writable() else Reader
        return kind(self, path, raw, block_size, part)

    def _refuse_existing(self, path):
        """Early; that nobody else makes it meanwhile is for the server to see."""
        if self.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    def _publish(self, path, source, mode):
        """Makes `path` the file with what `source`, which is open, has from here on; in a transaction at its end."""
        if mode == "create":
            self._refuse_existing(path)
        if self._intrans:
            self.transaction.files.append(self._prepared(path, source, mode != "create"))
        else:
            self._write_whole(path, source, mode != "create")

    def _write_whole(self, path, source, replace):
        content = source.read(remote.SMALL + 1)
        if replace and len(content) <= remote.SMALL:
            return self._in_directory(path, lambda: remote.put(path, content, 0o666))
        part = self._prepared(path, source, replace, content)
        try:
            part.commit()
        except BaseException:
            part.discard()
            raise

    def _prepared(self, path, source, replace, content=None):
        """A part with `content` and the rest of `source`."""
        part = _Part(path, replace)
        raw = self._in_directory(path, lambda: remote.RawFile(part.path, "xb"))
        try:
            with raw:
                content = content or source.read(_COPY_BYTES)
                while content:
                    raw.write(content)
                    content = source.read(_COPY_BYTES)
        except BaseException:
            part.discard()
            raise
        return part

    def pipe_file(self, path, value, mode="overwrite", **kwargs):
        self._publish(self._strip_protocol(path), io.BytesIO(value), mode)

    def pipe(self, path, value=None, **kwargs):
        if isinstance(path, str):
            return self.pipe_file(path, value, **kwargs)
        _raise_first(_many(lambda pair: self.pipe_file(*pair, **kwargs), path.items()))

    def put_file(self, lpath, rpath, callback=_NO_CALLBACK, mode="overwrite", **kwargs):
        path = self._strip_protocol(rpath)
        if os.path.isdir(lpath):
            return self.makedirs(path, exist_ok=True)
        with open(lpath, "rb") as source:
            size = os.fstat(source.fileno()).st_size
            callback.set_size(size)
            self._publish(path, source, mode)
            callback.absolute_update(size)

    def cp_file(self, path1, path2, **kwargs):
        path1, path2 = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.isdir(path1):
            return self.makedirs(path2, exist_ok=True)
        with self.open(path1, "rb") as source:
            self._publish(path2, source, "overwrite")

    def touch(self, path, truncate=True, **kwargs):
        path = self._strip_protocol(path)
        if truncate or not self.exists(path):
            return self.pipe_file(path, b"")
        raise NotImplementedError("the time of a remote file can't be changed without its content")

    # Many at once, so that not each waits for the one before.

    @staticmethod
    def _range(raw, start, end):
        size = raw.size()
        start = 0 if start is None else max(0, size + start) if start < 0 else min(start, size)
        end = size if end is None else size + end if end < 0 else min(end, size)
        data = bytearray(max(0, end - start))
        return bytes(memoryview(data)[:raw.read_at(data, start)])

    def _ranges(self, names, wanted):
        """Of these files the ranges that are wanted, or exceptions."""
        files = dict(zip(names, _many(remote.RawFile, names)))

        def read(which):
            path, start, end = which
            if isinstance(files[path], Exception):
                raise files[path]
            return self._range(files[path], start, end)

        try:
            return _many(read, wanted)
        finally:
            for file in files.values():
                if not isinstance(file, Exception):
                    file.close()

    def cat_file(self, path, start=None, end=None, **kwargs):
        path = self._strip_protocol(path)
        if start is None and end is None:
            try:
                return remote.get(path)
            except OSError as error:
                if error.errno != errno.EFBIG:
                    raise
        with remote.RawFile(path) as raw:
            return self._range(raw, start, end)

    def cat(self, path, recursive=False, on_error="raise", **kwargs):
        paths = self.expand_path(path, recursive=recursive)
        if recursive:
            paths = [one for one in paths if not self.isdir(one)]
        if len(paths) == 1 and not isinstance(path, (list, tuple)) and paths[0] == self._strip_protocol(path):
            return self.cat_file(paths[0], **kwargs)
        results = _many(lambda one: self.cat_file(one, **kwargs), paths)
        if on_error == "raise":
            _raise_first(results)
        return {one: result for one, result in zip(paths, results) if on_error != "omit" or not isinstance(result, Exception)}

    def cat_ranges(self, paths, starts, ends, max_gap=None, on_error="return", **kwargs):
        if not isinstance(starts, list):
            starts = [starts] * len(paths)
        if not isinstance(ends, list):
            ends = [ends] * len(paths)
        if len(starts) != len(paths) or len(ends) != len(paths):
            raise ValueError("paths, starts and ends are of different lengths")
        wanted = [self._strip_protocol(path) for path in paths]
        by_name = {}
        for i, path in enumerate(wanted):
            by_name.setdefault(path, []).append(i)
        names, results = list(by_name), [None] * len(wanted)
        for first in range(0, len(names), _OPEN_AT_ONCE):
            some = names[first:first + _OPEN_AT_ONCE]
            which = [i for name in some for i in by_name[name]]
            for i, result in zip(which, self._ranges(some, [(wanted[i], starts[i], ends[i]) for i in which])):
                results[i] = result
        return _raise_first(results) if on_error == "raise" else results
