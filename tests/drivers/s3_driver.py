"""The driver of S3, called as Mercutio calls it: File is one rank's open file, Ranks those of all ranks of one open, in this process."""
import ctypes
import errno

READ, WRITE, CREATE, EXCLUSIVE = 1, 2, 4, 8
DISCARD, LAST = 1, 2


class Extent(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_int64), ("data", ctypes.c_void_p), ("bytes", ctypes.c_int64)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("permissions", ctypes.c_uint32), ("rank", ctypes.c_int64), ("ranks", ctypes.c_int64),
                ("stripe_bytes", ctypes.c_int64), ("stripe_count", ctypes.c_int64), ("handle", ctypes.c_char_p), ("handle_bytes", ctypes.c_size_t)]


class Entry(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("is_folder", ctypes.c_int32), ("bytes", ctypes.c_int64), ("modified_ns", ctypes.c_int64),
                ("file_number", ctypes.c_int64)]


TAKE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Entry))


class Host(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("size", ctypes.c_size_t), ("version", ctypes.c_char_p), ("driver_size", ctypes.c_size_t)]


NAMES = ["open", "close", "read", "write", "get_size", "set_size", "preallocate", "sync", "refresh", "remove", "get_traits", "lock", "unlock", "get_handle", "explain",
         "publish", "begin_turn", "look", "list", "rename", "make_folder", "remove_folder"]


class Table(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("size", ctypes.c_size_t)] + [(name, ctypes.c_void_p) for name in NAMES]


def load(library, host):
    table = ctypes.POINTER(Table)()
    code = ctypes.CDLL(library).mercutio_driver_init(ctypes.byref(host), ctypes.byref(table))
    calls = {}
    for name in NAMES:
        address = getattr(table.contents, name)
        kind = ctypes.CFUNCTYPE(ctypes.c_char_p if name == "explain" else ctypes.c_int)
        calls[name] = kind(address) if address else None
    return code, calls


class Failed(Exception):
    def __init__(self, code, text):
        super().__init__("%s: %s" % (errno.errorcode.get(code, code), text))
        self.code, self.text = code, text


class File:
    """One rank's."""
    calls = None

    def __init__(self, name, flags=READ | WRITE | CREATE, rank=0, ranks=1, handle=b"", part=0):
        self.rank, self.pointer = rank, ctypes.c_void_p()
        options = Options(ctypes.sizeof(Options), flags, 0o666, rank, ranks, part, 0, handle or None, len(handle))
        self.call("open", name.encode(), ctypes.byref(options), ctypes.byref(self.pointer), file=False)

    @classmethod
    def run(cls, name, *arguments):
        code = cls.calls[name](*arguments)
        if code:
            raise Failed(code, cls.calls["explain"]().decode())

    def call(self, name, *arguments, file=True):
        self.run(name, *(([self.pointer] if file else []) + list(arguments)))

    def handle(self):
        room, count = ctypes.create_string_buffer(4096), ctypes.c_size_t()
        self.call("get_handle", room, ctypes.c_size_t(4096), ctypes.byref(count))
        return room.raw[:count.value]

    def move(self, name, offset, buffer, count):
        extent, moved = Extent(offset, ctypes.cast(buffer, ctypes.c_void_p), count), ctypes.c_int64()
        self.call(name, ctypes.byref(extent), ctypes.c_size_t(1), ctypes.byref(moved))
        return moved.value

    def write(self, offset, data, turn=None):
        if turn is not None:
            self.call("begin_turn", ctypes.c_int64(turn))
        assert self.move("write", offset, ctypes.create_string_buffer(data, len(data)), len(data)) == len(data)

    def read(self, offset, count):
        buffer = ctypes.create_string_buffer(count)
        got = self.move("read", offset, buffer, count)
        return buffer.raw[:got]

    def size(self):
        size = ctypes.c_int64()
        self.call("get_size", ctypes.byref(size))
        return size.value

    def set_size(self, size):
        self.call("set_size", ctypes.c_int64(size))

    def sync(self):
        self.call("sync")

    def publish(self, flags=0):
        self.call("publish", ctypes.c_uint32(flags))

    def close(self):
        self.call("close")


def look(name):
    """(whether it is a folder, bytes, file number)"""
    entry = Entry(ctypes.sizeof(Entry))
    File.run("look", name.encode(), ctypes.byref(entry))
    return bool(entry.is_folder), entry.bytes, entry.file_number


def names_in(folder, most=None):
    """{name: bytes, or None of a folder}"""
    found = {}

    def take(_, entry):
        one = entry.contents
        found[one.name.decode()] = None if one.is_folder else one.bytes
        return int(len(found) == most)
    File.run("list", folder.encode(), TAKE(take), None)
    return found


class Ranks(list):
    """The files of all ranks of one open."""

    def __init__(self, name, ranks, flags=READ | WRITE | CREATE, part=0):
        super().__init__([File(name, flags, 0, ranks, part=part)])
        handle = self[0].handle()
        try:
            for rank in range(1, ranks):
                self.append(File(name, flags & ~(CREATE | EXCLUSIVE), rank, ranks, handle, part))
        except Failed:
            self.close()
            raise

    def sync(self):
        """As MPI_File_sync: an error of one is one of all."""
        error = self.flush()
        try:
            self[0].publish(DISCARD if error else 0)
        except Failed as failed:
            error = error or failed
        if error:
            raise error
        for file in self:
            file.call("refresh")

    def flush(self):
        error = None
        for file in reversed(self):
            try:
                file.sync()
            except Failed as failed:
                error = failed
        return error

    def end(self):
        """As MPI_File_close."""
        error = self.flush()
        try:
            self[0].publish(LAST | (DISCARD if error else 0))
        except Failed as failed:
            error = error or failed
        self.close()
        if error:
            raise error

    def close(self):
        for file in self:
            file.close()
