"""The functions of include/mercutio/remote.h, and files without a buffer on them. Failures are OSErrors of the fitting kind.

Calls release Python's lock, and any number of threads may make them at once.
"""
import ctypes
import errno
import functools
import glob
import io
import os
import pathlib
import shutil
import threading

SMALL = 256 * 1024   # what get() and put() take
_MOST_BYTES = 2 ** 63 - 1   # of a file; ctypes would cut a larger number
REGULAR, DIRECTORY, LINK, OTHER = 1, 2, 3, 4


class Status(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint32), ("permissions", ctypes.c_uint32), ("bytes", ctypes.c_int64), ("allocated_bytes", ctypes.c_int64),
                ("modified_ns", ctypes.c_int64), ("device", ctypes.c_uint64), ("inode", ctypes.c_uint64)]


class _Entry(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("status", Status)]


_REMOTE, _FILE, _NAME = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p
_INT, _I64, _DATA = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
_FUNCTIONS = {
    "open": (_INT, [_REMOTE, _NAME, _INT, ctypes.c_uint, ctypes.POINTER(_FILE)]),
    "close": (_INT, [_FILE]),
    "read": (_I64, [_FILE, _DATA, _I64, _I64]),
    "write": (_I64, [_FILE, _DATA, _I64, _I64]),
    "size": (_I64, [_FILE]),
    "known_size": (_I64, [_FILE]),
    "truncate": (_INT, [_FILE, _I64]),
    "flush": (_INT, [_FILE]),
    "sync": (_INT, [_FILE]),
    "stat": (_INT, [_REMOTE, _NAME, ctypes.POINTER(Status)]),
    "list": (_I64, [_REMOTE, _NAME, ctypes.POINTER(ctypes.POINTER(_Entry))]),
    "mkdir": (_INT, [_REMOTE, _NAME, ctypes.c_uint]),
    "rmdir": (_INT, [_REMOTE, _NAME]),
    "unlink": (_INT, [_REMOTE, _NAME]),
    "rename": (_INT, [_REMOTE, _NAME, _NAME, _INT]),
    "get": (_I64, [_REMOTE, _NAME, _DATA, _I64]),
    "put": (_INT, [_REMOTE, _NAME, _DATA, _I64, ctypes.c_uint]),
}


def _library_path():
    """That of this installation: in the package, in a folder lib beside one of the folders above it, or where the command is."""
    name = "libmercutio-remote.so"
    here = pathlib.Path(__file__).resolve().parent
    command = shutil.which("mercutio")
    folders = [os.environ["MERCUTIO_LIBDIR"]] if "MERCUTIO_LIBDIR" in os.environ else []
    above = [here, *here.parents, *([pathlib.Path(command).resolve().parent.parent] if command else [])]
    for folder in above:
        folders += [folder / "lib", *sorted(glob.glob(str(folder / "lib" / "*-linux-*"))), folder / "lib64"]
    for folder in folders:
        path = pathlib.Path(folder) / name
        if path.is_file():
            return str(path)
    raise ImportError(f"{name} was not found: install Mercutio, or name the folder that has it in MERCUTIO_LIBDIR")


class _Process:
    """The library and the connections of this process; a child after a fork makes its own."""

    def __init__(self):
        self.pid = os.getpid()
        self.library = ctypes.CDLL(_library_path())
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self.library, "mercutio_remote_" + name)
            function.restype, function.argtypes = result, arguments
        self.library.mercutio_remote_error.restype = ctypes.c_char_p
        self.library.mercutio_remote_free.argtypes = [ctypes.POINTER(_Entry)]
        self.library.mercutio_remote_free.restype = None
        self.library.mercutio_remote_new.restype = _REMOTE
        self.connections = self.library.mercutio_remote_new()
        if not self.connections:
            raise MemoryError

    def call(self, function, *arguments, name=None, other=None):
        done = getattr(self.library, "mercutio_remote_" + function)(*arguments)
        if done < 0:
            text = self.library.mercutio_remote_error().decode(errors="replace")
            raise OSError(-done, text, name, None, other)
        return done


_lock = threading.Lock()
_process = None


def _renew_lock():
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def _this_process():
    global _process
    with _lock:
        if _process is None or _process.pid != os.getpid():
            _process = _Process()
        return _process


def _encoded(name):
    name = os.fsencode(name)
    if b"\0" in name:
        raise ValueError("a file name can't hold a zero byte")
    return name


def _on_name(function, name, *arguments, other=None):
    process = _this_process()
    return process.call(function, process.connections, _encoded(name), *arguments, name=name, other=other)


def stat(name):
    status = Status()
    _on_name("stat", name, ctypes.byref(status))
    return status


def list_directory(name):
    """Pairs of a name and its Status; of a symbolic link, the link's."""
    entries = ctypes.POINTER(_Entry)()
    count = _on_name("list", name, ctypes.byref(entries))
    try:
        return [(os.fsdecode(entries[i].name), Status.from_buffer_copy(entries[i].status)) for i in range(count)]
    finally:
        _this_process().library.mercutio_remote_free(entries)


def mkdir(name, permissions=0o777):
    _on_name("mkdir", name, permissions)


def rmdir(name):
    _on_name("rmdir", name)


def unlink(name):
    _on_name("unlink", name)


def rename(name, other, replace=True, as_writes=False):
    """With `as_writes`, `other` keeps its permissions, and where it is a symbolic link, it is what that leads to."""
    _on_name("rename", name, _encoded(other), 2 if as_writes else int(replace), other=other)


def get(name):
    """What a small file holds; EFBIG where it has more than SMALL bytes."""
    data = ctypes.create_string_buffer(SMALL)
    length = _on_name("get", name, data, SMALL)
    return data.raw[:length]


def put(name, content, permissions):
    """Makes `content`, SMALL bytes at most, the file: it has its name when it is whole. `permissions` are those of a new file."""
    content = bytes(content)
    _on_name("put", name, content, len(content), permissions)


_FLAGS = {"r": 0, "w": os.O_CREAT | os.O_TRUNC, "a": os.O_CREAT, "x": os.O_CREAT | os.O_EXCL}


def ordered(mode):
    """The mode with r, w, a or x first; their order is free for open()."""
    kinds = [letter for letter in mode if letter in _FLAGS]
    if len(kinds) != 1 or len(set(mode)) != len(mode) or not set(mode) <= {*_FLAGS, "b", "+"}:
        raise ValueError(f"a file can't be opened with mode {mode!r}")
    return kinds[0] + ("+b" if "+" in mode else "b")


def _flags(mode):
    return _FLAGS[mode[0]] | (os.O_RDWR if "+" in mode else os.O_RDONLY if mode[0] == "r" else os.O_WRONLY)


def _changing(change):
    """Of a method of RawFile: its failure stays in `failure`, because the file may lack bytes from then on."""
    @functools.wraps(change)
    def changing(self, *arguments):
        try:
            return change(self, *arguments)
        except BaseException as error:
            self.failure = self.failure or error
            raise
    return changing


class RawFile(io.RawIOBase):
    """Each read and write is a call of the library, which reads ahead and writes behind."""

    _handle = None
    failure = None   # the first one of a write, truncate, flush or close

    def __init__(self, name, mode="rb"):
        mode = ordered(mode)
        flags = _flags(mode)
        self._users, self._used = set(), threading.Condition()   # the threads that are in a call of the library on the handle
        self.name, self.mode = name, mode
        self._readable, self._writable = flags & os.O_ACCMODE != os.O_WRONLY, flags & os.O_ACCMODE != os.O_RDONLY
        self._process = _this_process()
        handle = _FILE()
        self._process.call("open", self._process.connections, _encoded(name), flags, 0o666, ctypes.byref(handle), name=name)
        self._handle = handle
        self._position = self.size() if mode[0] == "a" else 0
        self._appends = mode[0] == "a"

    def _check(self):
        if self.closed or self._handle is None:
            raise ValueError("I/O operation on closed file")
        if self._process.pid != os.getpid():
            raise OSError(f"{self.name} was opened before a fork: open it again")

    def _check_range(self, offset, length=0):
        if offset < 0:
            raise OSError(errno.EINVAL, "an offset is before the file's begin", self.name)
        if offset + length > _MOST_BYTES:
            raise OSError(errno.EFBIG, "a file has at most 2**63 - 1 bytes", self.name)

    def _call(self, function, *arguments):
        """close() waits for it: other threads may make it meanwhile, and the library frees the file there."""
        self._check()
        me = threading.get_ident()
        nested = me in self._users     # of a signal handler
        try:
            with self._used:
                self._check()
                self._users.add(me)
                handle = self._handle
            return self._process.call(function, handle, *arguments, name=self.name)
        finally:
            if not nested:
                with self._used:
                    self._users.discard(me)
                    self._used.notify_all()

    def readable(self):
        return self._readable

    def writable(self):
        return self._writable

    def seekable(self):
        return True

    def size(self):
        """Of a file that is only read, what it was when it was opened: nobody is asked again."""
        return self._call("size" if self._writable else "known_size")

    def read_at(self, buffer, offset):
        """The number of bytes read; less than the buffer has only where the file ends."""
        view = memoryview(buffer).cast("B")
        if not self._readable:
            raise io.UnsupportedOperation("not readable")
        if len(view) == 0:
            return 0
        self._check_range(offset, len(view))
        return self._call("read", (ctypes.c_char * len(view)).from_buffer(view), len(view), offset)

    def readinto(self, buffer):
        done = self.read_at(buffer, self._position)
        self._position += done
        return done

    @_changing
    def write(self, data):
        if not self._writable:
            raise io.UnsupportedOperation("not writable")
        view = memoryview(data).cast("B")
        if len(view) == 0:
            return 0
        source = bytes(view) if view.readonly else (ctypes.c_char * len(view)).from_buffer(view)
        if self._appends:
            self._position = self.size()
        self._check_range(self._position, len(view))
        done = self._call("write", source, len(view), self._position)
        self._position += done
        return done

    def readall(self):
        data = bytearray(max(0, self.size() - self._position))
        return bytes(memoryview(data)[:self.readinto(data)])

    def seek(self, offset, whence=os.SEEK_SET):
        if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
            raise ValueError(f"whence {whence} is not supported")
        start = 0 if whence == os.SEEK_SET else self._position if whence == os.SEEK_CUR else self.size()
        self._check_range(start + offset)
        self._check()
        self._position = start + offset
        return self._position

    def tell(self):
        self._check()
        return self._position

    @_changing
    def truncate(self, size=None):
        if not self._writable:
            raise io.UnsupportedOperation("not writable")
        size = self._position if size is None else size
        self._check_range(size)
        self._call("truncate", size)
        return size

    @_changing
    def flush(self):
        super().flush()
        if self._writable and self._handle is not None and self._process.pid == os.getpid():
            self._call("flush")

    def sync(self):
        """To stable storage."""
        self._call("sync")

    @_changing
    def close(self):
        if self.closed:
            return
        try:
            super().close()
        finally:
            if self._handle is not None and self._process.pid == os.getpid():   # in a child of a fork the lock may be another thread's for ever
                with self._used:
                    handle, self._handle = self._handle, None
                    self._used.wait_for(lambda: self._users <= {threading.get_ident()})
                if handle is not None:
                    self._process.call("close", handle, name=self.name)
