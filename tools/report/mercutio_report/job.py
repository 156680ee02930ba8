"""A job as `mercutio report --json` prints it, with the sums that several charts need."""
import datetime
import json

PHASES = ("storage", "exchange", "copy", "arrive", "wait", "agree", "lock", "sieve", "own")
PHASE_LABELS = {"storage": "storage", "exchange": "exchange", "copy": "copies", "arrive": "waiting for late ranks", "wait": "waiting in between",
                "agree": "waiting at the end", "lock": "locks", "sieve": "sieving", "own": "planning and the rest", "files": "open, close, sync, size, view"}
CLASSES = ("independent_read", "independent_write", "collective_read", "collective_write")
BUCKETS = ("256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB", "64 MiB", "256 MiB", "more")
BELIEVABLE_SHIFT_NS = 600 * 10**9   # as piece_join.cpp has it
EVENT = ("kind", "call", "file", "start_ns", "ns", "bytes", "offset", "span", "pieces", "group", "rank")


def bytes_text(number):
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if number < 1024 or unit == "PiB":
            return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1024
    return ""


def rate_text(number):
    number *= 1e-6
    if number >= 10000:
        return f"{number / 1000:.1f} GB/s"
    return f"{number:.2g} MB/s" if number < 10 else f"{number:.0f} MB/s"


def count_text(number, what, many=None):
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def seconds_text(number):
    if number < 0.001:
        return f"{number * 1e6:.0f} µs"
    return f"{number * 1e3:.0f} ms" if number < 1 else f"{number:.2f} s"


class File:
    def __init__(self, data):
        self.name, self.amode, self.file_system = data["name"], data["amode"], data["file_system"]
        self.seconds, self.totals, self.by_rank, self.texts = data["seconds"], data["totals"], data["by_rank"], data["texts"]
        self.library, self.files, self.map = data["library"], data["files"], data.get("map")

    def total(self, name):
        return self.totals.get(name, 0)

    def calls(self):
        return sum(self.total(f"{name}.calls") for name in CLASSES)

    def failed_accesses(self):
        return sum(self.total(f"{name}.failed_calls") for name in CLASSES)

    def bytes(self, direction):
        return sum(self.total(f"{kind}_{direction}.bytes") for kind in ("independent", "collective"))

    def phases(self):
        """Seconds of all ranks together."""
        return phases_of(self.totals)

    def sizes(self, prefixes):
        return [sum(self.total(f"{prefix}.sizes.{bucket}") for prefix in prefixes) for bucket in range(len(BUCKETS))]

    def texts_of(self, kind):
        return [text for text in self.texts if text["kind"] == kind]


def held_part(totals, name):
    """Of the time of accesses of a class, the part that the program waited for (FileTotals::as_held)."""
    unwaited, mine, all_of_class = totals.get("unwaited_ns", 0), totals.get(f"{name}.unwaited_ns", 0), totals.get(f"{name}.ns", 0)
    if not unwaited or not all_of_class:
        return 1
    return max(0, 1 - (1 - min(1, totals.get("blocked_ns", 0) / unwaited)) * mine / all_of_class)


def phases_of(totals):
    spent = {phase: sum(totals.get(f"{name}.phase_ns.{phase}", 0) * held_part(totals, name) for name in CLASSES) * 1e-9 for phase in PHASES}
    late = sum(totals.get(name, 0) for name in ("late_opening_ns", "late_sync_ns", "late_resize_ns", "late_view_ns", "late_setting_ns")) * 1e-9
    spent["arrive"] += late
    spent["files"] = sum(totals.get(name, 0) for name in ("open_ns", "close_ns", "sync_ns", "size_ns", "resize_ns", "view_ns", "setting_ns")) * 1e-9 - late
    return spent


class Job:
    def __init__(self, data):
        self.data = data
        self.files = [File(file) for file in data["files"]]
        self.traces = data["rank_traces"]
        self.members = [trace["ranks"] for trace in self.traces]   # of very many ranks, those that did about the same are one trace
        self.known_ranks = max(1, sum(self.members))

    @classmethod
    def load(cls, stream):
        return cls(json.load(stream))

    def __getattr__(self, name):
        try:
            return self.data[name]
        except KeyError as error:
            raise AttributeError(name) from error

    def phases(self):
        spent = {}
        for file in self.files:
            for phase, seconds in file.phases().items():
                spent[phase] = spent.get(phase, 0) + seconds * self.held_part   # threads at the same time count once
        return spent

    def held(self):
        """How long the I/O held a rank, on average."""
        return sum(trace["held_seconds"] * ranks for trace, ranks in zip(self.traces, self.members)) / self.known_ranks

    def calls(self):
        return sum(file.calls() for file in self.files)

    def failed_accesses(self):
        return sum(file.failed_accesses() for file in self.files)

    def most_failed(self):
        return max(self.files, key=File.failed_accesses)

    def bytes(self, direction):
        return sum(file.bytes(direction) for file in self.files)

    def shifts_ns(self):
        """How much later than the first one each started. Clocks of nodes that differ by more than ten minutes are wrong: such a rank began with the others."""
        starts = [trace["wall_start_ns"] for trace in self.traces]
        usual = sorted(starts)[len(starts) // 2]
        believable = [abs(start - usual) <= BELIEVABLE_SHIFT_NS for start in starts]
        first = min(start for start, fine in zip(starts, believable) if fine)
        return [start - first if fine else 0 for start, fine in zip(starts, believable)]

    def events(self, kinds=None):
        """(rank, event as a dict), those of all ranks, in seconds since the first rank started."""
        for trace, shift in zip(self.traces, self.shifts_ns()):
            for row in trace["events"]:
                if kinds is None or row[0] in kinds:
                    event = dict(zip(EVENT, row))
                    event["start"] = (event["start_ns"] + shift) * 1e-9
                    event["seconds"] = event["ns"] * 1e-9
                    yield event["rank"], event

    def started(self):
        return datetime.datetime.fromtimestamp(min(trace["wall_start_ns"] for trace in self.traces) * 1e-9)

    def ended(self):
        return self.started() + datetime.timedelta(seconds=self.seconds)

    def title(self):
        """What tells it from another run."""
        job = f", job {self.run['job']}" if "job" in self.run else ""
        return f"{self.program}, {self.ranks} ranks, {self.started():%Y-%m-%d %H:%M:%S}{job}"

    def provenance(self):
        """(name, value): what is asked first when a page is found months later."""
        names = self.host_names if len(self.host_names) <= 8 else [*self.host_names[:7], f"... {self.host_names[-1]} ({self.hosts})"]
        yield from ((name, self.run[key]) for name, key in (("job", "job"), ("user", "user"), ("command", "command"), ("directory", "directory")) if key in self.run)
        yield "hosts", ", ".join(names)
        yield "start", f"{self.started():%Y-%m-%d %H:%M:%S}"
        yield "end", f"{self.ended():%Y-%m-%d %H:%M:%S}"
        yield from ((name, self.run[key]) for name, key in (("MPI", "mpi"), ("Mercutio", "mercutio")) if key in self.run)
