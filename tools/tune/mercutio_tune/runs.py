"""One run of the command, or one replay of the pattern, with given hints: how long its I/O took, and what its files hold."""
import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path


class RunError(Exception):
    """The run can't be used; the text says why."""


class TooLong(Exception):
    """It was ended, because it took longer than it may."""


class NotApplied(Exception):
    """The hints of a trial have not reached the program: no run can be judged."""


class Run:
    """What is known of a run that has ended well."""

    def __init__(self, seconds, io_seconds, job, digests):
        self.seconds, self.io_seconds, self.job, self.digests = seconds, io_seconds, job, digests

    @property
    def main_file(self):
        return self.job["files"][0]

    @property
    def notes(self):
        return [text["text"] for file in self.job["files"] for text in file["texts"] if text["kind"] == "notes"]

    @property
    def file_ranks(self):
        return max((rank.get("ranks", 0) for rank in self.main_file["by_rank"]), default=1)

    @property
    def file_system(self):
        return self.main_file["file_system"]

    @property
    def nodes(self):
        return self.job["hosts"]

    def totals(self, name):
        return sum(file["totals"].get(name, 0) for file in self.job["files"])


def local_path(name):
    """Without the prefix of a driver: ufs:/a -> /a."""
    head, found, rest = name.partition(":")
    return rest if found and "/" not in head and len(head) > 1 and not rest.startswith("//") else name


def path_of(job, name):
    """Of a file of the job, which has its own working directory. Relative where that is ours."""
    directory = job.get("run", {}).get("directory", "")
    return os.path.join("" if directory == os.getcwd() or not os.path.isdir(directory) else directory, local_path(name))


def digest(path):
    """Of a file's bytes; "" where there is no such file."""
    state = hashlib.blake2b()
    try:
        with open(path, "rb") as stream:
            while part := stream.read(1 << 20):
                state.update(part)
    except OSError:
        return ""
    return state.hexdigest()


def toml_value(value):
    text = str(value)
    return text if text.isdigit() else json.dumps(text)


def sections(glob, hints):
    return f'[{json.dumps(glob)}]\n' + "".join(f"{hint} = {toml_value(value)}\n" for hint, value in hints.items())


def adopt_orphans():
    """Whoever loses its parent becomes a child of this process (Linux), so that end_descendants finds it."""
    pr_set_child_subreaper = 36
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def descendants():
    """Of this process: what the runs have started and is still there."""
    children = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            state, parent = entry.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry.parent.name))
    found = children.get(os.getpid(), [])
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def end_descendants(patience=2):
    """Ranks may be in sessions of their own, where a signal to the launcher's group does not reach them."""
    until = time.monotonic() + patience
    while descendants() and time.monotonic() < until:
        time.sleep(0.05)
    for pid in descendants():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    until += 2
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)


@contextlib.contextmanager
def stops_later():
    """Another Ctrl-C waits for the end of what is in here."""
    came, before = [], {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        before[number] = signal.signal(number, lambda *_: came.append(True))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


class Process:
    """A command in a session of its own, so that all of it can be ended."""

    def __init__(self, words, environment, log):
        adopt_orphans()
        self.child = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def wait(self, limit):
        try:
            return self.child.wait(limit)
        except BaseException as reason:   # a time limit, or Ctrl-C: it must not go on without us
            with stops_later():
                self.end()
                end_descendants()
            if isinstance(reason, subprocess.TimeoutExpired):
                raise TooLong() from None
            raise

    def end(self):
        for how, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 30)):
            try:
                os.killpg(self.child.pid, how)
                self.child.wait(patience)
            except ProcessLookupError:
                continue
            except subprocess.TimeoutExpired:
                continue


class Runner:
    """Common to both kinds; `words` and `measure` differ."""

    def __init__(self, mercutio, folder, glob):
        self.mercutio, self.folder, self.glob = mercutio, Path(folder).absolute(), glob   # the command may change its directory
        self.profile, self.trace = self.folder / "trial.toml", self.folder / "trial.mtrace"
        self.count = 0

    def run(self, hints, limit=None):
        """A Run; RunError, TooLong."""
        self.count += 1
        self.profile.write_text(sections(self.glob or "*", {"mercutio_adapt": "disable", **hints}), encoding="utf-8")   # a trial is what the hints make of it
        environment = dict(os.environ, MERCUTIO_PROFILE=str(self.profile), MERCUTIO_WARN="0")
        environment.pop("MERCUTIO_REPORT", None)
        self.prepare(environment)
        log_path = self.folder / "log"
        with open(log_path, "wb") as log:
            start = time.monotonic()
            code = Process(self.words(), environment, log).wait(limit)
            seconds = time.monotonic() - start
        said = log_path.read_text(errors="replace")
        if code != 0:
            tail = "\n".join(said.strip().splitlines()[-8:])
            raise RunError(f"it ended with code {code}" + (f":\n{tail}" if tail else ""))
        return self.measure(seconds, said)

    def report(self, trace):
        done = subprocess.run([self.mercutio, "report", str(trace), "--json", "--events", "0"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RunError(done.stderr.strip().removeprefix("mercutio report: "))
        job = json.loads(done.stdout)
        if not job["files"]:
            raise RunError("it did no I/O through MPI-IO")
        return job

    def check_origin(self, run):
        """NotApplied where no file has its hints from the trial's file."""
        if not any(f" (tuner {self.profile}:" in notes for notes in run.notes):
            raise NotApplied(f"the hints of the trials do not reach the program: no file of it has hints from {self.profile}. Reasons may be that the command sets "
                             f"MERCUTIO_PROFILE, that its ranks can't read this file, or that none of its files matches '{self.glob or '*'}' (--file)")


class CommandRunner(Runner):
    def __init__(self, mercutio, folder, glob, command, outputs, fresh):
        super().__init__(mercutio, folder, glob)
        self.command, self.outputs, self.fresh = command, outputs, fresh
        self.remembered = set()

    def words(self):
        return [self.mercutio, "run", "--", *self.command]

    def prepare(self, environment):
        environment["MERCUTIO_TRACE"] = str(self.trace)
        self.trace.unlink(missing_ok=True)
        shutil.rmtree(f"{self.trace}.pieces", ignore_errors=True)
        for path in self.remembered if self.fresh else ():
            Path(path).unlink(missing_ok=True)

    def measure(self, seconds, said):
        if not self.trace.exists():
            raise RunError("it left no trace: no MPI program that ends with MPI_Finalize was run under Mercutio")
        job = self.report(self.trace)
        named = self.outputs or [path_of(job, file["name"]) for file in job["files"]
                                 if file["totals"].get("collective_write.bytes", 0) + file["totals"].get("independent_write.bytes", 0) > 0]
        for path in self.outputs:
            if not os.path.exists(path):
                raise RunError(f"there is no {path} after it, which --output names")
        self.remembered.update(path for path in named if os.path.isfile(path))
        io_seconds = max(rank["held_seconds"] for rank in job["rank_traces"])
        run = Run(seconds, io_seconds, job, {path: digest(path) for path in named})
        self.check_origin(run)
        return run


class PatternRunner(Runner):
    def __init__(self, mercutio, folder, glob, pattern, launcher, place):
        super().__init__(mercutio, folder, glob)
        self.pattern, self.launcher = os.path.abspath(pattern), launcher
        self.job = self.report(pattern)
        base = os.path.abspath(place or os.path.dirname(path_of(self.job, self.job["files"][0]["name"])))
        try:
            self.data = tempfile.TemporaryDirectory(prefix="mercutio-tune.", dir=base)
        except OSError as error:
            raise RunError(f"no directory can be made in {base}, where the files of the pattern were ({error.strerror}); name another with --to") from None

    def words(self):
        words = [self.mercutio, "replay", self.pattern, "--json", "--to", self.data.name, "--scratch", str(self.folder)]
        return words + (["--", *self.launcher] if self.launcher else [])

    def prepare(self, environment):
        environment.pop("MERCUTIO_TRACE", None)   # which takes time: once is enough, as all replays are alike
        if self.count == 1:
            environment["MERCUTIO_TRACE"] = str(self.trace)
        self.clean()

    def clean(self):
        for path in Path(self.data.name).iterdir():
            path.unlink()

    def measure(self, seconds, said):
        lines = [line for line in said.splitlines() if line.startswith("{")]
        if not lines:
            raise RunError("the replay printed no result")
        result = json.loads(lines[-1])
        digests = {path.name: digest(path) for path in Path(self.data.name).iterdir()}
        self.clean()
        if self.count == 1:
            self.check_origin(Run(seconds, 0, self.report(self.trace), {}))
        return Run(seconds, result["io_seconds"], self.job, digests)
